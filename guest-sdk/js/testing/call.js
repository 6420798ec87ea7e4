// The cluster as one call sees it: what the host checks before it asks the API server.

import { allNeeds } from "../src/controller.js";
import { refusal } from "../src/failed.js";
import { group, plural } from "../src/needs.js";
import { objectRef, reference, title } from "../src/object.js";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */
/** @typedef {import("@windlass/sdk").Door} Door */

/**
 * The door of one call for one primary, on a store.
 * @implements {Door}
 */
export class Call {
  /** @type {import("@windlass/sdk").Event[]} */
  events = [];
  /** @type {string[]} */
  logs = [];
  #store;
  #primary;
  #uid;
  #needs;

  /**
   * @param {import("./store.js").Store} store
   * @param {KubernetesObject} primary
   * @param {import("@windlass/sdk").Declaration} plugin
   */
  constructor(store, primary, plugin) {
    this.#store = store;
    this.#primary = reference(primary);
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

  /** @param {KubernetesObject} given */
  apply(given) {
    const object = asJson(given);
    const target = reference(object);
    this.#may(["create", "patch"], target, "");
    const { finalizers = [], ownerReferences = [] } = object.metadata;
    if (finalizers.length > 0) throw refusal("denied");
    if (ownerReferences.some((owner) => owner.uid !== this.#uid)) throw refusal("denied");
    const owned = ownerReferences.length > 0;
    if (owned && !this.#isAlive()) throw refusal("gone");
    return this.#store.apply(this.#manager(owned), object);
  }

  /** @param {KubernetesObject} given */
  applyStatus(given) {
    const object = asJson(given);
    const target = reference(object);
    this.#may(["patch"], target, "/status");
    const own = title(target) === title(this.#primary);
    this.#store.applyStatus(this.#manager(own), object);
  }

  /** @param {ObjectRef} target @param {import("@windlass/sdk").DeleteOptions} options */
  delete(target, options) {
    this.#may(["delete"], target, "");
    this.#store.delete(target, options);
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

  config() {
    return structuredClone(this.#store.config);
  }

  now() {
    return this.#store.clock;
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
    if (!verbs.every(covers)) throw refusal("denied");
  }
}

/** @param {string[]} list @param {string} word */
const has = (list, word) => list.includes(word) || list.includes("*");

/** What the host would get of it. @param {KubernetesObject} object @returns {KubernetesObject} */
const asJson = (object) => JSON.parse(JSON.stringify(object));
