// Owners and finalizers of objects that are there, as the host and an API server change them.

import { refusal } from "../src/failed.js";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */

/** @param {KubernetesObject} object */
const ownersOf = (object) => object.metadata.ownerReferences ?? [];

/** @param {KubernetesObject} object */
const controllerOf = (object) => ownersOf(object).find((owner) => owner.controller);

/** @param {KubernetesObject} object */
const isGoing = (object) => object.metadata.deletionTimestamp !== undefined;

/**
 * The objects of `all` that have this owner, or that no object controls if `orphans` says so.
 * @param {KubernetesObject[]} all
 * @param {{ owner: string | undefined, orphans?: boolean, metadataOnly?: boolean }} wanted
 */
export function children(all, { owner, orphans, metadataOnly }) {
  const found = all.filter(
    (object) =>
      ownersOf(object).some(({ uid }) => uid === owner) || (orphans && !controllerOf(object)),
  );
  if (!metadataOnly) return found;
  return found.map(({ apiVersion, kind, metadata }) => ({ apiVersion, kind, metadata }));
}

/**
 * What adoption by `owner` makes of the metadata; refuses what another controls.
 * @param {KubernetesObject} object
 * @param {KubernetesObject} owner
 * @param {string | undefined} finalizer
 */
export function adopted(object, owner, finalizer) {
  const controller = controllerOf(object);
  const { name, uid } = owner.metadata;
  if (isGoing(object) || (controller && controller.uid !== uid)) throw refusal("conflict");
  const others = ownersOf(object).filter((held) => held.uid !== uid);
  const { apiVersion, kind } = owner;
  const own = { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
  return {
    ...(!controller && { ownerReferences: [...others, own] }),
    ...held(object, finalizer),
  };
}

/**
 * What is left of the metadata without these owners, and without the finalizer.
 * @param {KubernetesObject} object
 * @param {(string | undefined)[]} taken
 * @param {string | undefined} finalizer
 */
export function disowned(object, taken, finalizer) {
  const left = ownersOf(object).filter(({ uid }) => !taken.includes(uid));
  return {
    ...(left.length < ownersOf(object).length && { ownerReferences: left }),
    ...released(object, finalizer),
  };
}

/**
 * The metadata with the finalizer; an object that is being deleted gets none.
 * @param {KubernetesObject} object
 * @param {string | undefined} finalizer
 */
export function held(object, finalizer) {
  const all = object.metadata.finalizers ?? [];
  if (!finalizer || all.includes(finalizer)) return {};
  if (isGoing(object)) throw refusal("gone");
  return { finalizers: [...all, finalizer] };
}

/**
 * The metadata without the finalizer.
 * @param {KubernetesObject} object
 * @param {string | undefined} finalizer
 */
export function released(object, finalizer) {
  const all = object.metadata.finalizers ?? [];
  if (!finalizer || !all.includes(finalizer)) return {};
  return { finalizers: all.filter((name) => name !== finalizer) };
}
