// Which fields an applied object names, and how they come into another one and out of it.

/** @typedef {any} Json */

/** What tells an item of a list from the others, as Kubernetes' own types have it. */
const KEYS = /** @type {Record<string, string[]>} */ ({
  containers: ["name"],
  initContainers: ["name"],
  volumes: ["name"],
  env: ["name"],
  imagePullSecrets: ["name"],
  volumeMounts: ["mountPath"],
  conditions: ["type"],
  ownerReferences: ["uid"],
});

/** @param {Json} value */
export const isObject = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The fields that `value` names, as JSON of the way to each: scalars, whole lists, and items of
 * lists that merge by key.
 * @param {Json} value
 * @returns {Set<string>}
 */
export function leaves(value, field = "", /** @type {string[]} */ path = [], found = new Set()) {
  if (isObject(value) && Object.keys(value).length > 0) {
    for (const [name, inner] of Object.entries(value)) leaves(inner, name, [...path, name], found);
  } else if (merges(field, value)) {
    for (const item of value) {
      const step = [...path, String(key(field, item))];
      found.add(JSON.stringify(step));
      leaves(item, "", step, found);
    }
  } else {
    found.add(JSON.stringify(path));
  }
  return found;
}

/**
 * `live` with every field that `applied` names. `field` is what holds both.
 * @param {Json} live
 * @param {Json} applied
 * @param {string} field
 * @returns {Json}
 */
export function merge(live, applied, field) {
  if (isObject(live) && isObject(applied)) {
    const merged = { ...live };
    for (const [name, value] of Object.entries(applied)) {
      merged[name] = name in live ? merge(live[name], value, name) : value;
    }
    return merged;
  }
  if (merges(field, live) && merges(field, applied)) {
    const merged = [...live];
    for (const item of applied) {
      const at = merged.findIndex((old) => key(field, old) === key(field, item));
      if (at < 0) merged.push(item);
      else merged[at] = merge(merged[at], item, "");
    }
    return merged;
  }
  return applied;
}

/**
 * Takes the field at `path` out of `live`, and what is empty without it. `field` holds `live`.
 * @param {Json} live
 * @param {string} field
 * @param {string[]} path
 */
export function remove(live, field, [step, ...rest]) {
  if (step === undefined) return;
  if (isObject(live) && step in live) {
    remove(live[step], step, rest);
    if (rest.length === 0 || isEmpty(live[step])) delete live[step];
  } else if (Array.isArray(live)) {
    const at = live.findIndex((item) => key(field, item) === step);
    if (at < 0) return;
    if (rest.length === 0) live.splice(at, 1);
    else remove(live[at], "", rest);
  }
}

/**
 * Changes `target` by a JSON merge patch (RFC 7396), and gives it.
 * @param {Json} target
 * @param {Json} patch
 * @returns {Json}
 */
export function mergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  const patched = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete patched[name];
    else patched[name] = mergePatch(patched[name], value);
  }
  return patched;
}

/** @param {Json} value */
const isEmpty = (value) =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** Whether a list under this field merges by key: every item has one. @param {string} field @param {Json} items */
function merges(field, items) {
  if (!Array.isArray(items) || items.length === 0) return false;
  return items.every((item) => key(field, item) !== undefined);
}

/** @param {string} field @param {Json} item */
function key(field, item) {
  if (field === "finalizers") return typeof item === "string" ? `[${item}]` : undefined;
  const names =
    field === "ports"
      ? [item?.containerPort === undefined ? "port" : "containerPort", "protocol"]
      : KEYS[field];
  const parts = names?.map((name) => item?.[name] ?? (name === "protocol" ? "TCP" : undefined));
  if (!parts || parts.includes(undefined)) return undefined;
  return JSON.stringify(names?.map((name, at) => [name, parts[at]]));
}
