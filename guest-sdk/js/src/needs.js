// What a plugin asks to touch, written short.

/** @typedef {import("@windlass/sdk").Need} Need */
/** @typedef {import("@windlass/sdk").NeedOptions} NeedOptions */

/**
 * Reads, applies and deletes objects of a kind.
 * @param {string} apiVersion
 * @param {string} kind
 * @param {NeedOptions} [options]
 */
export function manage(apiVersion, kind, options) {
  const verbs = ["get", "list", "watch", "create", "patch", "delete"];
  return need(apiVersion, kind, verbs, options);
}

/**
 * Reads objects of a kind.
 * @param {string} apiVersion
 * @param {string} kind
 * @param {NeedOptions} [options]
 */
export function read(apiVersion, kind, options) {
  return need(apiVersion, kind, ["get", "list", "watch"], options);
}

/**
 * Does to objects of a kind what `verbs` say.
 * @param {string} apiVersion
 * @param {string} kind
 * @param {string[]} verbs
 * @param {NeedOptions} [options]
 * @returns {Need}
 */
export function need(apiVersion, kind, verbs, options = {}) {
  return {
    kind,
    apiGroups: [group(apiVersion)],
    resources: [options.plural ?? plural(kind)],
    resourceNames: options.named ?? [],
    verbs,
    fields: options.fields ?? [],
  };
}

/** What stands for every group and version, and for every kind that a grant names. */
export const EVERY = "*";

/**
 * The group of `apps/v1`; empty for the core group.
 * @param {string} apiVersion
 */
export function group(apiVersion) {
  if (apiVersion === EVERY) return EVERY;
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

/**
 * The resource of a kind by Kubernetes' rule (`meta.UnsafeGuessKindToResource`). It is wrong for a
 * few kinds (`Gateway`): the host warns with the nearest name that the cluster knows.
 * @param {string} kind
 */
export function plural(kind) {
  const singular = kind.toLowerCase();
  if (singular === "" || singular === EVERY || singular.endsWith("endpoints")) return singular;
  if (singular.endsWith("s")) return `${singular}es`;
  return singular.endsWith("y") ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}
