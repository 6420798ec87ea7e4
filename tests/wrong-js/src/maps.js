// ConfigMaps, which stand for everything that an operator makes.

import { child, objectRef, transient } from "@windlass/sdk";

/** @typedef {import("@windlass/sdk").Cluster} Cluster */
/** @typedef {import("@windlass/sdk").KubernetesObject & Record<string, any>} Any */

/**
 * The name of a ConfigMap beside its owner.
 * @param {Any} owner
 * @param {string} name
 */
export const configMap = (owner, name) =>
  objectRef("v1", "ConfigMap", owner.metadata.namespace, name);

/**
 * Whether the object belongs to this owner.
 * @param {Any} owner
 * @param {Any} object
 */
export const isOwned = (owner, object) =>
  object.metadata.ownerReferences?.[0]?.uid === owner.metadata.uid;

/**
 * Makes a ConfigMap of the owner, or changes it. What somebody else has made stays as it is.
 * @param {Any} owner
 * @param {Cluster} cluster
 * @param {string} name
 * @param {Record<string, string>} data
 */
export function put(owner, cluster, name, data) {
  const found = /** @type {Any | undefined} */ (cluster.find(configMap(owner, name)));
  const wanted = child(owner, "v1", "ConfigMap", name, { data });
  if (!found) return cluster.create(wanted);
  if (!isOwned(owner, found)) throw transient(`${name} belongs to somebody else`);
  if (JSON.stringify(found.data) === JSON.stringify(data)) return found;
  // Only this one, and not another one of that name.
  const metadata = { ...wanted.metadata, uid: found.metadata.uid };
  return cluster.apply({ ...wanted, metadata });
}
