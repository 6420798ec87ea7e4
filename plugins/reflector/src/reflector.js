// An example plugin: copies marked Secrets and ConfigMaps into the namespaces that their annotation selects.
//
// An owner reference may not point into another namespace, so a copy has a label with the UID of its source, and
// `finalize` deletes the copies. An object without this label is somebody else's, and stays as it is.

import {
  ClusterError,
  controller,
  done,
  manage,
  manifest,
  objectRef,
  read,
  terminal,
  title,
  transient,
} from "@windlass/sdk";

/** On a source: the label selector of the namespaces that get a copy, such as `team=blue`. */
const TO = "examples.windlass.dev/copy-to";
/** On a copy: the UID of its source. */
const OF = "examples.windlass.dev/copy-of";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */
/** @typedef {import("@windlass/sdk").Cluster} Cluster */

export const plugin = [reflect("Secret", ["data"]), reflect("ConfigMap", ["data", "binaryData"])];

/**
 * The controller for one kind, whose content is in `fields`.
 * @param {string} kind
 * @param {string[]} fields
 */
function reflect(kind, fields) {
  return controller({
    watches: ["v1", kind],
    labelSelector: "examples.windlass.dev/copy=true",
    // A source that loses this label loses its copies.
    onLeave: "finalize",
    needs: [manage("v1", kind), read("v1", "Namespace", { fields: [".status.phase"] })],

    reconcile(source, cluster) {
      const targets = namespaces(source, cluster);
      for (const copy of copies(source, cluster)) {
        if (!targets.includes(copy.metadata.namespace ?? "")) cluster.delete(copy);
      }
      const failed = [];
      for (const namespace of targets) {
        const target = objectRef("v1", kind, namespace, source.metadata.name);
        try {
          put(target, source, fields, cluster);
        } catch (error) {
          // The other namespaces get their copies nevertheless.
          if (!(error instanceof ClusterError)) throw error;
          failed.push(error.message);
        }
      }
      if (failed.length > 0) throw transient(failed.join("; "));
    },

    finalize(source, cluster) {
      // The store may be behind, and nobody looks again after this.
      for (const copy of copies(source, cluster, "latest")) cluster.delete(copy);
      return done;
    },
  });
}

/**
 * The namespaces that are to have a copy.
 * @param {KubernetesObject} source
 * @param {Cluster} cluster
 */
function namespaces(source, cluster) {
  const labelSelector = source.metadata.annotations?.[TO];
  if (labelSelector === undefined) throw terminal(`the annotation ${TO} is missing`);
  return cluster
    .list({ apiVersion: "v1", kind: "Namespace", labelSelector })
    .filter(({ status }) => status?.phase !== "Terminating")
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== source.metadata.namespace);
}

/**
 * Its copies in all namespaces.
 * @param {KubernetesObject} source
 * @param {Cluster} cluster
 * @param {import("@windlass/sdk").Consistency} [consistency]
 */
function copies({ kind, metadata }, cluster, consistency) {
  const labelSelector = `${OF}=${metadata.uid}`;
  return cluster.list({ apiVersion: "v1", kind, labelSelector, consistency });
}

/**
 * Makes a copy, or gives it the content that its source has now.
 * @param {ObjectRef} target
 * @param {KubernetesObject} source
 * @param {string[]} fields
 * @param {Cluster} cluster
 */
function put(target, source, fields, cluster) {
  const uid = source.metadata.uid ?? "";
  const there = cluster.find(target);
  if (!there) {
    // Not `apply`, which would change an object that somebody else makes at this moment.
    const content = Object.fromEntries(fields.map((field) => [field, source[field]]));
    const metadata = { labels: { [OF]: uid } };
    cluster.create(manifest(target, { metadata, type: source.type, ...content }));
  } else if (there.metadata.labels?.[OF] !== uid) {
    const note = `${title(target)} is not a copy of this object, and stays as it is`;
    const [reason, action] = ["NameTaken", "Copy"];
    cluster.event({ severity: "warning", reason, action, note, related: target });
  } else {
    const changed = fields.filter((field) => !isSame(there[field], source[field]));
    const replace = changed.map((field) => ({
      op: "add",
      path: `/${field}`,
      value: source[field] ?? {},
    }));
    // Only the object that was read: with another version, it may be somebody else's by now.
    const test = { op: "test", path: "/metadata/resourceVersion" };
    const version = { ...test, value: there.metadata.resourceVersion };
    if (changed.length > 0) cluster.patch(there, [version, ...replace]);
  }
}

/**
 * Whether two maps have the same entries.
 * @param {Record<string, string>} [one]
 * @param {Record<string, string>} [other]
 */
function isSame(one = {}, other = {}) {
  const keys = Object.keys(one);
  const all = keys.length === Object.keys(other).length;
  return all && keys.every((key) => one[key] === other[key]);
}
