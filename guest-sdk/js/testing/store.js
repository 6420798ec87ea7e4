// Objects in memory, and what an API server does with them.

import { isDeepStrictEqual } from "node:util";
import { refusal } from "../src/failed.js";
import { group } from "../src/needs.js";
import { objectRef, reference, title } from "../src/object.js";
import { isObject, leaves, merge, mergePatch, remove } from "./fields.js";
import { jsonPatch } from "./patch.js";
import { judged, selected } from "./selector.js";

/** @typedef {import("@windlass/sdk").Code} Code */
/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */
/** @typedef {import("@windlass/sdk/testing").Write} Write */
/** @typedef {{ object: KubernetesObject, fields: Map<string, Set<string>> }} Stored */

/** What applies leave to the server. */
const KEPT_METADATA = ["labels", "annotations", "ownerReferences", "finalizers", "generateName"];

/**
 * A cluster in memory: the verbs of an API server, and those by which a test plays everybody else
 * (`put`, `edit`, `remove`). Only what changes an object through the verbs is recorded as a write:
 * the host does not send what changes nothing.
 *
 * Nothing can be created in a namespace that is not there; `default` is, and those of all objects
 * that were put.
 */
export class Store {
  /** @type {Map<string, Stored>} */
  #objects = new Map();
  #version = 0;
  #uids = 0;
  #attempts = 0;
  /** @type {Map<number, Code>} */
  #failures = new Map();
  /** @type {Write[]} */
  #writes = [];
  /** The operator's configuration. @type {Record<string, unknown>} */
  config = {};
  /** The time of calls from now on. */
  clock = "2026-11-21T09:30:00.000Z";
  /** How often the primary has failed, as calls are told from now on. */
  attempt = 0;
  /**
   * Who plays the servers outside the cluster.
   * @type {((request: import("@windlass/sdk").HttpRequest) => import("@windlass/sdk").HttpResponse) | undefined}
   */
  server;

  constructor() {
    this.#addNamespace("default");
  }

  /** @param {ObjectRef} target @returns {KubernetesObject} */
  get(target) {
    const stored = this.#objects.get(key(target));
    if (!stored) throw refusal("not-found");
    return structuredClone(stored.object);
  }

  /** @param {import("@windlass/sdk").ListQuery} query @returns {KubernetesObject[]} */
  list({ apiVersion, kind, namespace, labelSelector, fieldSelector, limit }) {
    const labels = judged(labelSelector);
    const found = this.objects().filter((object) => {
      if (object.kind !== kind || group(object.apiVersion) !== group(apiVersion)) return false;
      if (namespace !== undefined && object.metadata.namespace !== namespace) return false;
      const field = (/** @type {string} */ path) =>
        path.split(".").reduce((/** @type {any} */ inner, name) => inner?.[name], object);
      return labels.matches(object.metadata.labels) && selected(fieldSelector, field);
    });
    return found.slice(0, limit);
  }

  /** @param {string} manager @param {KubernetesObject} object */
  apply(manager, object) {
    return this.#write(manager, object, "apply");
  }

  /**
   * Creates an object, with a name made of `generateName` if it has none.
   * @param {string} manager
   * @param {KubernetesObject} object
   */
  create(manager, object) {
    const { name, generateName } = object.metadata;
    const made = `${generateName}${String(this.#version + 1).padStart(5, "0")}`;
    const named = { ...object, metadata: { ...object.metadata, name: name ?? made } };
    if (this.#objects.has(key(nameOf(named)))) throw refusal("conflict");
    return this.#write(manager, named, "create");
  }

  /**
   * Changes an object that is there: an array is a JSON patch, an object a merge patch.
   * @param {ObjectRef} target
   * @param {any} patch
   */
  patch(target, patch) {
    const stored = structuredClone(this.#objects.get(key(target)));
    if (!stored) throw refusal("not-found");
    if (Array.isArray(patch)) {
      try {
        stored.object = jsonPatch(stored.object, patch);
      } catch (error) {
        throw refusal("invalid", /** @type {Error} */ (error).message);
      }
    } else {
      checkUid(stored.object, patch.metadata?.uid);
      stored.object = mergePatch(stored.object, patch);
    }
    return this.#commit(target, stored, "patch", patch);
  }

  /** @param {string} manager @param {KubernetesObject} object @param {Write["verb"]} verb */
  #write(manager, object, verb) {
    const target = nameOf(object);
    const stored = structuredClone(this.#objects.get(key(target)) ?? this.#blank(target, object));
    checkUid(stored.object, object.metadata.uid);
    const { apiVersion, kind, status, metadata, ...body } = object;
    const kept = Object.entries(metadata).filter(([name]) => KEPT_METADATA.includes(name));
    stamp(stored, manager, { ...body, metadata: Object.fromEntries(kept) });
    return this.#commit(target, stored, verb, object);
  }

  /** @param {string} manager @param {KubernetesObject} object */
  applyStatus(manager, object) {
    const target = nameOf(object);
    const stored = structuredClone(this.#objects.get(key(target)));
    if (!stored) throw refusal("not-found");
    checkUid(stored.object, object.metadata.uid);
    stamp(stored, `${manager}/status`, { status: object.status ?? {} });
    return this.#commit(target, stored, "applyStatus", object);
  }

  /** @param {ObjectRef} target @param {import("@windlass/sdk").DeleteOptions} [options] */
  delete(target, { uid, resourceVersion } = {}) {
    const { metadata } = checkUid(this.get(target), uid);
    if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
      throw refusal("conflict");
    }
    if (metadata.deletionTimestamp) return;
    this.#attempt();
    this.remove(target);
    this.#writes.push({ verb: "delete", target: title(target), object: null });
  }

  /**
   * Puts an object there as somebody else would, whole. What it lacks of UID, generation, version
   * and creation time is filled in.
   * @param {KubernetesObject} object
   */
  put(object) {
    const target = nameOf(object);
    if (target.namespace) this.#addNamespace(target.namespace);
    const fields = this.#objects.get(key(target))?.fields ?? new Map();
    this.#store(target, { object: structuredClone(object), fields });
  }

  /**
   * Changes an object as somebody else would, by a JSON merge patch.
   * @param {string} name `ConfigMap/default/ada`
   * @param {object} patch
   */
  edit(name, patch) {
    this.put(mergePatch(this.get(this.find(name)), patch));
  }

  /** What is called `ConfigMap/default/ada`, or `Namespace/default`. @param {string} name */
  find(name) {
    const found = this.objects().find((object) => title(object) === name);
    if (!found) throw new Error(`${name} is not there`);
    return reference(found);
  }

  /** Removes an object as somebody else would: it stays while it has finalizers. @param {ObjectRef} target */
  remove(target) {
    const metadata = this.#objects.get(key(target))?.object.metadata;
    if (!metadata?.finalizers?.length) {
      this.#objects.delete(key(target));
      return;
    }
    metadata.deletionTimestamp = this.clock;
    this.#version += 1;
  }

  /** What was changed through the verbs since the last time. */
  takeWrites() {
    return this.#writes.splice(0);
  }

  /** Lets the `nth` write from now on (1 is the next) fail. @param {number} nth @param {Code} code */
  failWrite(nth, code) {
    this.#failures.set(this.#attempts + nth, code);
  }

  /** Every object, in the order of their names. */
  objects() {
    const sorted = [...this.#objects].sort(([one], [other]) => (one < other ? -1 : 1));
    return sorted.map(([, stored]) => structuredClone(stored.object));
  }

  /** The same cluster once more, to go another way. @returns {this} */
  clone() {
    const twin = new /** @type {any} */ (this.constructor)();
    twin.#objects = structuredClone(this.#objects);
    twin.#version = this.#version;
    twin.#uids = this.#uids;
    twin.#attempts = this.#attempts;
    twin.#failures = new Map(this.#failures);
    twin.config = this.config;
    twin.clock = this.clock;
    twin.attempt = this.attempt;
    twin.server = this.server;
    return twin;
  }

  #attempt() {
    this.#attempts += 1;
    const code = this.#failures.get(this.#attempts);
    if (code) throw refusal(code);
  }

  /**
   * Makes a change real and records it, if it is one.
   * @param {ObjectRef} target
   * @param {Stored} stored
   * @param {Write["verb"]} verb
   * @param {KubernetesObject} sent
   */
  #commit(target, stored, verb, sent) {
    const old = this.#objects.get(key(target));
    if (old && isDeepStrictEqual(old.object, stored.object)) {
      this.#objects.set(key(target), stored);
      return structuredClone(stored.object);
    }
    this.#attempt();
    this.#writes.push({ verb, target: title(target), object: structuredClone(sent) });
    this.#store(target, stored);
    return this.get(target);
  }

  /** Stores an object and fills in what the server sets. @param {ObjectRef} target @param {Stored} stored */
  #store(target, stored) {
    const old = this.#objects.get(key(target))?.object;
    const { metadata, spec } = stored.object;
    this.#version += 1;
    metadata.resourceVersion = String(this.#version);
    metadata.creationTimestamp ??= old?.metadata.creationTimestamp ?? this.clock;
    metadata.uid ??= old?.metadata.uid ?? this.#newUid();
    if (spec !== undefined) {
      const changed = old?.spec !== undefined && !isDeepStrictEqual(old.spec, spec);
      const before = old?.metadata.generation;
      if (before === undefined) metadata.generation ??= 1;
      else metadata.generation = before + Number(changed);
    }
    this.#objects.set(key(target), stored);
  }

  #newUid() {
    this.#uids += 1;
    return `00000000-0000-4000-8000-${String(this.#uids).padStart(12, "0")}`;
  }

  /** What an object is created from, if it can be. @param {ObjectRef} target @param {KubernetesObject} object */
  #blank({ apiVersion, kind, namespace, name }, object) {
    if (object.metadata.uid !== undefined) throw refusal("conflict");
    /** @type {import("@windlass/sdk").Metadata} */
    const metadata = { name };
    if (namespace !== undefined) {
      const home = this.get(objectRef("v1", "Namespace", undefined, namespace));
      if (home.metadata.deletionTimestamp) throw refusal("gone");
      metadata.namespace = namespace;
    }
    return { object: { apiVersion, kind, metadata }, fields: new Map() };
  }

  /** @param {string} name */
  #addNamespace(name) {
    const target = objectRef("v1", "Namespace", undefined, name);
    if (this.#objects.has(key(target))) return;
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    this.#store(target, { object, fields: new Map() });
  }
}

/**
 * Merges what `manager` names now, and takes out what it named before and nobody else does.
 * @param {Stored} stored
 * @param {string} manager
 * @param {object} body
 */
function stamp(stored, manager, body) {
  const named = leaves(body);
  const before = stored.fields.get(manager) ?? new Set();
  stored.fields.set(manager, named);
  const others = [...stored.fields].filter(([name]) => name !== manager);
  for (const path of before) {
    // A way begins with another if its JSON does, but for the bracket at the end.
    const below = (/** @type {string} */ other) =>
      other === path || other.startsWith(`${path.slice(0, -1)},`);
    const shared = others.some(([, fields]) => [...fields].some(below));
    if (!named.has(path) && !shared) remove(stored.object, "", JSON.parse(path));
  }
  stored.object = merge(stored.object, body, "");
}

/** @param {KubernetesObject} object @param {string | undefined} uid */
function checkUid(object, uid) {
  if (uid !== undefined && uid !== object.metadata.uid) throw refusal("conflict");
  return object;
}

/** What an object calls itself. @param {KubernetesObject} object */
function nameOf(object) {
  if (!isObject(object?.metadata)) throw refusal("invalid", ".metadata is missing");
  const name = reference(object);
  for (const field of /** @type {const} */ (["apiVersion", "kind", "name"])) {
    const path = field === "name" ? ".metadata.name" : `.${field}`;
    if (!name[field]) throw refusal("invalid", `${path} is missing`);
  }
  return name;
}

/** What objects are told apart by: the version of the group is not part of it. @param {ObjectRef} target */
function key({ apiVersion, kind, namespace, name }) {
  return JSON.stringify([group(apiVersion), kind, namespace ?? null, name]);
}
