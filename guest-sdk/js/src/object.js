// Objects as plain JSON: their names, and those that belong to them.

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */

/**
 * Names an object; without a namespace, one of a cluster-scoped kind.
 * @param {string} apiVersion
 * @param {string} kind
 * @param {string | undefined} namespace
 * @param {string} name
 * @returns {ObjectRef}
 */
export function objectRef(apiVersion, kind, namespace, name) {
  return { apiVersion, kind, namespace, name };
}

/**
 * The name that reads and deletes go by.
 * @param {ObjectRef | KubernetesObject} object
 * @returns {ObjectRef}
 */
export function reference(object) {
  if (typeof object !== "object" || object === null) {
    throw new TypeError(
      `${JSON.stringify(object)} is not an object or objectRef(apiVersion, kind, namespace, name)`,
    );
  }
  const { apiVersion, kind } = object;
  const { namespace, name } = "metadata" in object ? object.metadata : object;
  return { apiVersion, kind, namespace, name };
}

/**
 * `ConfigMap/default/ada`; without the namespace for a cluster-scoped kind. An object without a name
 * goes by what its name begins with.
 * @param {ObjectRef | KubernetesObject} object
 */
export function title(object) {
  const { kind, namespace, name } = reference(object);
  const begins = "metadata" in object ? object.metadata.generateName : undefined;
  return [kind, namespace, name ?? begins].filter((part) => part).join("/");
}

/**
 * Starts an object to apply that belongs to nothing: its name, and the fields to own.
 * @param {ObjectRef} target
 * @param {Record<string, unknown>} [fields]
 */
export function manifest({ apiVersion, kind, namespace, name }, fields) {
  const metadata = { name, ...(namespace && { namespace }) };
  return merged({ apiVersion, kind, metadata }, fields);
}

/**
 * An object to apply that belongs to `owner`: it is in the same namespace, goes when the owner goes,
 * and its changes run the owner again.
 * @param {KubernetesObject} owner
 * @param {string} apiVersion
 * @param {string} kind
 * @param {string} name
 * @param {Record<string, unknown>} [fields]
 */
export function child(owner, apiVersion, kind, name, fields) {
  const object = manifest({ apiVersion, kind, namespace: owner.metadata.namespace, name });
  const ownerReferences = [ownerReference(owner)];
  return merged({ ...object, metadata: { ...object.metadata, ownerReferences } }, fields);
}

/**
 * The same object in a namespace that is not its owner's: of a child whose owner is cluster-scoped.
 * @param {KubernetesObject} object
 * @param {string} namespace
 * @returns {KubernetesObject}
 */
export function inNamespace(object, namespace) {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/**
 * The same object without a name of its own: `create` makes the name, of `prefix` and some letters that
 * no other object has.
 * @param {KubernetesObject} object
 * @param {string} prefix
 * @returns {KubernetesObject}
 */
export function generateName(object, prefix) {
  const { name: _, ...metadata } = object.metadata;
  return /** @type {KubernetesObject} */ ({
    ...object,
    metadata: { ...metadata, generateName: prefix },
  });
}

/**
 * A reference by which another object belongs to this one.
 * @param {KubernetesObject} owner
 */
export function ownerReference({ apiVersion, kind, metadata }) {
  const { name, uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/**
 * `object` with more fields: what `fields` says of the metadata (labels, annotations) is added.
 * @template {KubernetesObject} T
 * @param {T} object
 * @param {Record<string, unknown>} [fields]
 * @returns {T}
 */
function merged(object, fields = {}) {
  const { metadata, ...rest } = fields;
  return {
    ...object,
    ...rest,
    metadata: { .../** @type {object} */ (metadata), ...object.metadata },
  };
}
