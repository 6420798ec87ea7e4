// Sets of children as the host applies them: what it adds, and what it takes away.

import { setRefusal } from "../src/failed.js";
import { ownerReference, reference, title } from "../src/object.js";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */

/** What marks the members of a set, with the plugin's name, which a fake cluster does not know. */
const LABEL = "windlass.dev/set";
const PLUGIN = "plugin";

/** Children of a set at most. */
const MOST = 1000;

/**
 * Applies a set of `primary`.
 * @param {import("./store.js").Store} store
 * @param {KubernetesObject} primary
 * @param {KubernetesObject[]} children
 * @param {{ apply(child: KubernetesObject): KubernetesObject, mayDelete(target: ObjectRef): boolean }} imports
 */
export function applySet(store, primary, children, { apply, mayDelete }) {
  if (children.length > MOST) throw whole("invalid", `${MOST} children are the most`);
  /** @type {Set<string>} */
  const members = new Set();
  /** @type {Parameters<typeof setRefusal>[0]} */
  const errors = [];
  const kept = children.map((child, index) => {
    try {
      return apply(member(store, primary, child, members));
    } catch (error) {
      errors.push({ index, error: payload(error) });
      return child;
    }
  });
  if (errors.length > 0) throw setRefusal(errors);
  for (const former of store.objects()) {
    const target = reference(former);
    if (members.has(title(target)) || !isMember(former, primary) || !mayDelete(target)) continue;
    try {
      store.delete(target, { uid: String(former.metadata.uid) });
    } catch (error) {
      errors.push({ error: payload(error) });
    }
  }
  if (errors.length > 0) throw setRefusal(errors);
  return kept;
}

/**
 * An error of the set as a whole.
 * @param {import("@windlass/sdk").Code} tag
 * @param {string} [val]
 */
export const whole = (tag, val) => setRefusal([{ error: { tag, ...(val && { val }) } }]);

/**
 * A child as the host applies it.
 * @param {import("./store.js").Store} store
 * @param {KubernetesObject} primary
 * @param {KubernetesObject} child
 * @param {Set<string>} members
 * @returns {KubernetesObject}
 */
function member(store, primary, child, members) {
  const target = reference(child);
  const home = primary.metadata.namespace;
  const refuse = (/** @type {import("@windlass/sdk").Code} */ tag, /** @type {string} */ val) => {
    throw Object.assign(new Error(tag), { payload: { tag, val } });
  };
  if (home !== undefined && target.namespace !== home) {
    refuse("invalid", `${title(primary)} cannot own ${title(target)}`);
  }
  if (members.has(title(target))) refuse("invalid", `${title(target)} is in the set twice`);
  members.add(title(target));
  const there = store.objects().find((object) => title(object) === title(target));
  if (there && !isTakeable(there, primary)) refuse("conflict", "");
  const { labels, ...metadata } = child.metadata;
  return {
    ...child,
    metadata: {
      ...metadata,
      labels: { ...labels, [LABEL]: PLUGIN },
      ownerReferences: [ownerReference(primary)],
    },
  };
}

/** @param {KubernetesObject} object @param {KubernetesObject} primary */
function isMember({ metadata }, primary) {
  const owns = metadata.ownerReferences?.some(({ uid }) => uid === primary.metadata.uid);
  return metadata.labels?.[LABEL] === PLUGIN && Boolean(owns) && !metadata.deletionTimestamp;
}

/**
 * Whether the host would take an object into the set: it made it for one, and no other object controls it. An earlier
 * primary of the same name does not count as another one.
 * @param {KubernetesObject} object @param {KubernetesObject} primary
 */
function isTakeable({ metadata }, primary) {
  const others = metadata.ownerReferences?.some((owner) => {
    const sameKind = owner.kind === primary.kind;
    const earlier = sameKind && owner.name === primary.metadata.name;
    return owner.uid !== primary.metadata.uid && (owner.controller || sameKind) && !earlier;
  });
  return metadata.labels?.[LABEL] === PLUGIN && !others;
}

/** What a refusal says. @param {unknown} error */
function payload(error) {
  const refused = /** @type {{ payload?: any }} */ (error).payload;
  if (!refused?.tag) throw error;
  return refused;
}
