// The cluster as one call sees it: what the host checks before it asks the API server.

import { allNeeds } from "../src/controller.js";
import { refusal } from "../src/failed.js";
import { group, plural } from "../src/needs.js";
import { objectRef, reference, title } from "../src/object.js";
import { inBatches } from "./bulk.js";
import { adopted, children, disowned, held, released } from "./owners.js";
import { touchesGuarded } from "./patch.js";
import { rows } from "./select.js";
import { applySet, whole } from "./set.js";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */
/** @typedef {import("@windlass/sdk").HostImports} HostImports */

/** What the fake calls the own finalizer of the plugin. */
const FINALIZER = "windlass.dev/plugin";

/** The host drops a larger hint. */
const LARGEST_HINT = 16 << 10;

/**
 * The imports of one call for one primary, on a store.
 * @implements {HostImports}
 */
export class Call {
  /** @type {import("@windlass/sdk").Event[]} */
  events = [];
  /** @type {string[]} */
  logs = [];
  /** @type {string[]} */
  metrics = [];
  /** @type {import("@windlass/sdk").HttpRequest[]} */
  requests = [];
  /** When the plugin wants to be called again. @type {Date | undefined} */
  wakeTime;
  #store;
  #primary;
  #owner;
  #uid;
  #needs;
  #setApplied = false;
  /** @type {Uint8Array | undefined} */
  #kept;

  /**
   * @param {import("./store.js").Store} store
   * @param {KubernetesObject} primary
   * @param {import("@windlass/sdk").Declaration} plugin
   */
  constructor(store, primary, plugin) {
    this.#store = store;
    this.#primary = reference(primary);
    this.#owner = primary;
    this.#uid = primary.metadata.uid;
    this.#needs = allNeeds(plugin);
  }

  /** @param {ObjectRef} target @param {string | undefined} subresource */
  get(target, subresource) {
    this.#may(["get"], target, subresource ? `/${subresource}` : "");
    if (subresource) throw refusal("other", "FakeCluster has no subresources");
    return this.#store.get(target);
  }

  /** @param {import("@windlass/sdk").ListQuery} query */
  list(query) {
    this.#may(["list"], objectRef(query.apiVersion, query.kind, query.namespace, ""), "");
    return this.#store.list(query);
  }

  /** @param {import("@windlass/sdk").ListQuery} query @param {string[]} paths */
  select(query, paths) {
    return rows(this.list(query), paths);
  }

  /** @param {import("@windlass/sdk").ChildrenQuery} query */
  listChildren({ apiVersion, kind, namespace, owner = this.#uid, ...wanted }) {
    this.#may(["list"], objectRef(apiVersion, kind, namespace, ""), "");
    return children(this.#store.list({ apiVersion, kind, namespace }), { owner, ...wanted });
  }

  /**
   * @param {ObjectRef} target @param {string} uid
   * @param {ObjectRef | undefined} owner @param {string | undefined} finalizer
   */
  adopt(target, uid, owner, finalizer) {
    this.#may(["patch"], target, "");
    if (!this.#isAlive()) throw refusal("gone");
    const object = this.#meant(target, uid);
    if (!object) throw refusal("conflict");
    const by = this.#store.get(owner ?? this.#primary);
    return this.#edit(target, object, adopted(object, by, finalizer));
  }

  /**
   * @param {ObjectRef} target @param {string} uid
   * @param {string[]} owners @param {string | undefined} finalizer
   */
  disown(target, uid, owners, finalizer) {
    this.#may(["patch"], target, "");
    const object = this.#meant(target, uid);
    const taken = owners.length > 0 ? owners : [this.#uid];
    if (object) this.#edit(target, object, disowned(object, taken, finalizer));
  }

  /** Each call is the first one that sees it. @param {ObjectRef} target */
  unchangedFor(target) {
    this.#may(["watch"], target, "");
    this.#store.get(target);
    return 0;
  }

  /** @returns {never} */
  kinds() {
    throw refusal("other", "FakeCluster does not know which kinds are served");
  }

  /** @param {ObjectRef} target @param {string} uid @param {string} finalizer */
  hold(target, uid, finalizer) {
    this.#may(["patch"], target, "");
    const object = this.#meant(target, uid);
    if (!object) throw refusal("conflict");
    return this.#edit(target, object, held(object, finalizer));
  }

  /** @param {ObjectRef} target @param {string} uid @param {string} finalizer */
  release(target, uid, finalizer) {
    this.#may(["patch"], target, "");
    const object = this.#meant(target, uid);
    if (object) this.#edit(target, object, released(object, finalizer));
  }

  /** @param {{ target: ObjectRef, uid: string }[]} targets @param {string} finalizer */
  releaseMany(targets, finalizer) {
    return inBatches(targets, ({ target, uid }) => this.release(target, uid, finalizer));
  }

  /** @param {import("@windlass/sdk").HttpRequest} request */
  fetch(request) {
    this.requests.push(request);
    const answer = this.#store.server?.(request);
    if (answer) return answer;
    const val = "nobody answers requests of this FakeCluster: see answerRequests";
    throw Object.assign(new Error(val), { payload: { tag: "other", val } });
  }

  /** The host writes its own finalizer: the plugin does not write it. */
  protect() {
    this.#may(["patch"], this.#primary, "");
    const object = this.#meant(this.#primary, String(this.#uid));
    if (!object) throw refusal("gone");
    const { metadata } = object;
    if (metadata.finalizers?.includes(FINALIZER)) return;
    if (metadata.deletionTimestamp !== undefined) throw refusal("gone");
    this.#store.put({
      ...object,
      metadata: { ...metadata, finalizers: [...(metadata.finalizers ?? []), FINALIZER] },
    });
  }

  /** The object with this UID, if it is there. @param {ObjectRef} target @param {string} uid */
  #meant(target, uid) {
    try {
      const object = this.#store.get(target);
      return object.metadata.uid === uid ? object : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Writes these fields of the metadata; nothing if there are none.
   * @param {ObjectRef} target @param {KubernetesObject} object @param {object} metadata
   */
  #edit(target, object, metadata) {
    if (Object.keys(metadata).length === 0) return object;
    const changed = this.#store.patch(target, { metadata });
    // It goes with its last finalizer.
    if (changed.metadata.deletionTimestamp !== undefined) this.#store.remove(target);
    return changed;
  }

  /** @param {KubernetesObject} given */
  apply(given) {
    const object = asJson(given);
    const target = reference(object);
    this.#may(["create", "patch"], target, "");
    return this.#store.apply(this.#manager(this.#owns(object)), object);
  }

  /** @param {KubernetesObject[]} children */
  applySet(children) {
    if (this.#setApplied) throw whole("invalid", "a call applies one set");
    this.#setApplied = true;
    if (children.length > 0 && !this.#isAlive()) throw whole("gone");
    return applySet(this.#store, this.#owner, asJson(children), {
      apply: (child) => this.apply(child),
      mayDelete: (target) => this.#mayAll(["watch", "delete"], target, ""),
    });
  }

  /** @param {KubernetesObject} given */
  create(given) {
    const object = asJson(given);
    const { name, generateName } = object.metadata;
    const target = { ...reference(object), name: name ?? generateName };
    this.#may(["create"], target, "");
    return this.#store.create(this.#manager(this.#owns(object)), object);
  }

  /** @param {KubernetesObject[]} objects */
  createMany(objects) {
    return inBatches(objects, (object) => this.create(object));
  }

  /** @param {ObjectRef} parent @param {string} subresource @returns {never} */
  createSubresource(parent, subresource) {
    this.#may(["create"], parent, `/${subresource}`);
    throw refusal("other", "FakeCluster has no subresources");
  }

  /** @param {ObjectRef} target @param {string} subresource @returns {never} */
  updateSubresource(target, subresource) {
    this.#may(["update"], target, `/${subresource}`);
    throw refusal("other", "FakeCluster has no subresources");
  }

  /** @param {ObjectRef} target @param {string | undefined} subresource @param {object | object[]} patch */
  patch(target, subresource, patch) {
    this.#may(["patch"], target, subresource ? `/${subresource}` : "");
    if (touchesGuarded(patch)) throw refusal("denied");
    if (subresource) throw refusal("other", "FakeCluster has no subresources");
    return this.#store.patch(target, asJson(patch));
  }

  /** @param {KubernetesObject} given */
  applyStatus(given) {
    const object = asJson(given);
    const target = reference(object);
    const own = title(target) === title(this.#primary);
    if (own && !this.#mayAll(["patch"], target, "/status")) {
      throw refusal("denied", "writesStatus is not true");
    }
    this.#may(["patch"], target, "/status");
    this.#store.applyStatus(this.#manager(own), object);
  }

  /** @param {ObjectRef} target @param {import("@windlass/sdk").DeleteOptions} options */
  delete(target, options) {
    this.#may(["delete"], target, "");
    this.#store.delete(target, options);
  }

  /** @param {{ target: ObjectRef, options: import("@windlass/sdk").DeleteOptions }[]} targets */
  deleteMany(targets) {
    const single = (/** @type {(typeof targets)[number]} */ { target, options }) =>
      this.delete(target, options);
    return inBatches(targets, single, (code) => code !== "not-found");
  }

  /** @param {import("@windlass/sdk").ListQuery} query @param {import("@windlass/sdk").DeleteOptions} options */
  deleteAll(query, options) {
    this.#may(["deletecollection"], { ...query, name: "" }, "");
    for (const object of this.#store.list(query)) this.#store.delete(reference(object), options);
  }

  /** Each call is the first one, or the host has forgotten what an earlier one kept. */
  recall() {
    return this.#kept?.length ? this.#kept : undefined;
  }

  /** @param {Uint8Array} what */
  keep(what) {
    if (what.length <= LARGEST_HINT) this.#kept = what;
  }

  /** There is a token. @returns {undefined} */
  takeToken() {
    return undefined;
  }

  /** @param {import("@windlass/sdk").Event} event */
  event(event) {
    this.events.push(event);
  }

  /** @param {string} level @param {string} message @param {{ key: string, value: string }[]} fields */
  log(level, message, fields) {
    const pairs = fields.map(({ key, value }) => ` ${key}=${value}`);
    this.logs.push(`${level}: ${message}${pairs.join("")}`);
  }

  /**
   * @param {"add" | "set" | "observe"} measure @param {string} name
   * @param {{ name: string, value: string }[]} labels @param {number} value
   */
  metric(measure, name, labels, value) {
    const pairs = labels.map((label) => `,${label.name}=${label.value}`);
    this.metrics.push(`${measure} ${name}${pairs.join("")} ${value}`);
  }

  config() {
    return structuredClone(this.#store.config);
  }

  now() {
    return this.#store.clock;
  }

  /** @param {string} time */
  wakeAt(time) {
    const date = new Date(time);
    if (!(date.getTime() >= Number(this.wakeTime))) this.wakeTime = date;
  }

  attempt() {
    return this.#store.attempt;
  }

  /** Whether the primary owns `object`; refuses what is the host's to write. @param {KubernetesObject} object */
  #owns({ metadata: { finalizers = [], ownerReferences = [] } }) {
    if (finalizers.length > 0) throw refusal("denied");
    if (ownerReferences.some((owner) => owner.uid !== this.#uid)) throw refusal("denied");
    const owned = ownerReferences.length > 0;
    if (owned && !this.#isAlive()) throw refusal("gone");
    return owned;
  }

  /** The primary is the same and stays. */
  #isAlive() {
    try {
      const { uid, deletionTimestamp } = this.#store.get(this.#primary).metadata;
      return uid === this.#uid && deletionTimestamp === undefined;
    } catch {
      return false;
    }
  }

  /** Field managers are as the host's: apart for each primary where objects may be shared. @param {boolean} owned */
  #manager(owned) {
    return owned ? "windlass/plugin" : `windlass/plugin/${this.#uid?.slice(0, 8)}`;
  }

  /** Refuses unless one need covers each verb. @param {string[]} verbs @param {ObjectRef} target @param {string} below */
  #may(verbs, target, below) {
    if (!this.#mayAll(verbs, target, below)) throw refusal("denied");
  }

  /** Whether one need covers each verb. @param {string[]} verbs @param {ObjectRef} target @param {string} below */
  #mayAll(verbs, target, below) {
    const inGroup = this.#needs.filter((rule) => has(rule.apiGroups, group(target.apiVersion)));
    const ofKind = inGroup.find((rule) => rule.kind === target.kind);
    const resource = (ofKind?.resources.join("") ?? plural(target.kind)) + below;
    const covers = (/** @type {string} */ verb) =>
      inGroup.some(
        ({ resources, resourceNames = [], ...rule }) =>
          has(resources, resource) &&
          has(rule.verbs, verb) &&
          (resourceNames.length === 0 || has(resourceNames, target.name)),
      );
    return verbs.every(covers);
  }
}

/** @param {string[]} list @param {string} word */
const has = (list, word) => list.includes(word) || list.includes("*");

/**
 * What the host would get of it.
 * @template T
 * @param {T} object
 * @returns {T}
 */
const asJson = (object) => JSON.parse(JSON.stringify(object));
