// The cluster as a reconciler sees it: every effect, and the comfortable side of it.

import { answered, ClusterError, doing, doingSet } from "./failed.js";
import { child, reference, title } from "./object.js";

/** @typedef {import("@windlass/sdk").HostImports} HostImports */
/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Everything that a reconciler can do beyond computing. Its imports lead to the host, or to a
 * `FakeCluster` in tests.
 */
export class Cluster {
  /** @type {HostImports} */
  #imports;

  /** @type {Record<string, any> | undefined} */
  #config;

  /** @param {HostImports} imports */
  constructor(imports) {
    this.#imports = imports;
  }

  /**
   * Reads one object, or a subresource of it. Throws a `ClusterError` if it is not there; its
   * absence is tracked.
   * @param {ObjectRef | KubernetesObject} target
   * @param {{ subresource?: string, consistency?: "stored" | "latest" }} [options]
   */
  get(target, { subresource, consistency = "stored" } = {}) {
    const name = reference(target);
    return doing(`get ${title(name)}`, () => this.#imports.get(name, subresource, consistency));
  }

  /**
   * Reads one object that may be absent.
   * @param {ObjectRef | KubernetesObject} target
   */
  find(target) {
    return unlessAbsent(() => this.get(target));
  }

  /**
   * Reads the objects that match, in no particular order.
   * @param {import("@windlass/sdk").ListQuery} query
   */
  list(query) {
    return doing(`list ${query.kind}`, () =>
      this.#imports.list({ consistency: "stored", ...query }),
    );
  }

  /**
   * As `list`, but gives only these fields of each object: a row with a value for each path, in the given order. Paths are
   * simple JSONPaths. A value is null if the field is absent, or the plugin did not declare it.
   * @param {import("@windlass/sdk").ListQuery} query
   * @param {string[]} paths such as `.spec.nodeName`, `.metadata.labels['app']` or `.spec.containers[*].image`
   */
  select(query, paths) {
    return doing(`select fields of ${query.kind}`, () =>
      this.#imports.select({ consistency: "stored", ...query }, paths),
    );
  }

  /**
   * Reads the objects that have this owner, whatever their labels, in no particular order.
   * @param {import("@windlass/sdk").ChildrenQuery} query
   */
  listChildren(query) {
    return doing(`list children of kind ${query.kind}`, () => this.#imports.listChildren(query));
  }

  /**
   * The kinds that the cluster serves, of those that the grants name. It is tracked: if one comes or goes, the primary runs
   * again.
   */
  kinds() {
    return doing("list the kinds that are served", () => this.#imports.kinds());
  }

  /**
   * For how many milliseconds this host has seen the object in its present version, by its own clock. It is tracked, and
   * needs `watch`. After a restart, and on another host, it begins at 0.
   * @param {ObjectRef | KubernetesObject} target
   */
  unchangedFor(target) {
    const name = reference(target);
    return doing(`look since when ${title(name)} is unchanged`, () =>
      this.#imports.unchangedFor(name),
    );
  }

  /**
   * Makes the primary the controlling owner of an object that was read, or `owner`, which the primary controls.
   * @param {KubernetesObject} object
   * @param {{ owner?: ObjectRef | KubernetesObject, finalizer?: string }} [options]
   */
  adopt(object, { owner, finalizer } = {}) {
    const by = owner && reference(owner);
    return doing(`adopt ${title(object)}`, () =>
      this.#imports.adopt(reference(object), uidOf(object), by, finalizer),
    );
  }

  /**
   * Removes owners of an object that was read, by their UIDs; without them, the primary.
   * @param {KubernetesObject} object
   * @param {{ owners?: string[], finalizer?: string }} [options]
   */
  disown(object, { owners = [], finalizer } = {}) {
    doing(`disown ${title(object)}`, () =>
      this.#imports.disown(reference(object), uidOf(object), owners, finalizer),
    );
  }

  /**
   * Adds a finalizer that a grant names to an object that was read.
   * @param {KubernetesObject} object
   * @param {string} finalizer
   */
  hold(object, finalizer) {
    return doing(`hold ${title(object)}`, () =>
      this.#imports.hold(reference(object), uidOf(object), finalizer),
    );
  }

  /**
   * Removes a finalizer that a grant names from an object that was read.
   * @param {KubernetesObject} object
   * @param {string} finalizer
   */
  release(object, finalizer) {
    doing(`release ${title(object)}`, () =>
      this.#imports.release(reference(object), uidOf(object), finalizer),
    );
  }

  /**
   * As `release`, for many objects that were read. The calls are made as in `createMany`, but a conflict does not stop them.
   * @param {KubernetesObject[]} objects
   * @param {string} finalizer
   */
  releaseMany(objects, finalizer) {
    const targets = objects.map((object) => ({ target: reference(object), uid: uidOf(object) }));
    const calls = objects.map((object) => `release ${title(object)}`);
    const answers = answered(calls, this.#imports.releaseMany(targets, finalizer));
    return answers.map(({ error }) => (error ? { error } : {}));
  }

  /**
   * Sends a request in the contract's own form: use `fetch` of `@windlass/sdk/http`.
   * @param {import("@windlass/sdk").HttpRequest} request
   */
  send(request) {
    return this.#imports.fetch(request);
  }

  /**
   * Adds the plugin's finalizer to the primary, of a controller with `finalizes: "on-request"`. Call it before the first
   * side effect that `finalize` undoes.
   */
  protect() {
    doing("protect the primary", () => this.#imports.protect());
  }

  /**
   * Sets the named fields, and removes fields that are no longer named.
   * @param {KubernetesObject} object
   */
  apply(object) {
    return doing(`apply ${title(object)}`, () => this.#imports.apply(object));
  }

  /**
   * Sets the status of `object`.
   * @param {KubernetesObject} object
   * @param {object} status
   */
  applyStatus(object, status) {
    const { apiVersion, kind, namespace, name } = reference(object);
    const metadata = { name, ...(namespace && { namespace }) };
    const body = { apiVersion, kind, metadata, status };
    doing(`apply the status of ${title(object)}`, () => this.#imports.applyStatus(body));
  }

  /**
   * Applies these children with the primary as their owner, and then deletes the objects of an earlier set that
   * this set does not name. A call may apply one set. Throws a `SetError` that says what failed.
   * @param {KubernetesObject[]} children
   */
  applySet(children) {
    return doingSet(children.map(title), () => this.#imports.applySet(children));
  }

  /**
   * Creates an object; throws a `ClusterError` if it is there already. With `metadata.generateName`
   * each repetition makes another one: look first.
   * @param {KubernetesObject} object
   */
  create(object) {
    return doing(`create ${title(object)}`, () => this.#imports.create(object));
  }

  /**
   * Creates many objects that are alike, at most 1,000. The host creates one, then two, four and so on at a time, and at
   * most 32. It stops after the batch in which one failed. There is an answer for each object that was tried, in the given
   * order. Objects at the end that were not tried have none.
   * @param {KubernetesObject[]} objects
   */
  createMany(objects) {
    const calls = objects.map((object) => `create ${title(object)}`);
    const answers = answered(calls, this.#imports.createMany(objects));
    return answers.map(({ val, error }) => (error ? { error } : { object: val }));
  }

  /**
   * Posts to a subresource of an object: an `Eviction` or `Binding` of a pod.
   * @param {ObjectRef | KubernetesObject} parent
   * @param {string} subresource
   * @param {object} object
   */
  createSubresource(parent, subresource, object) {
    const name = reference(parent);
    return doing(`post to ${subresource} of ${title(name)}`, () =>
      this.#imports.createSubresource(name, subresource, object),
    );
  }

  /**
   * Replaces a subresource of an object: a whole `status`, a `Scale`, or `finalize` of a Namespace. `object` carries a
   * `metadata.resourceVersion`, the version that it was made from; all other metadata stays as it is. Throws a
   * `ClusterError` with the code `conflict` if the object has another version by now.
   * @param {ObjectRef | KubernetesObject} target
   * @param {string} subresource
   * @param {object} object
   */
  updateSubresource(target, subresource, object) {
    const name = reference(target);
    return doing(`update ${subresource} of ${title(name)}`, () =>
      this.#imports.updateSubresource(name, subresource, object),
    );
  }

  /**
   * Changes part of an object, or of a subresource of it, without owning the fields: an array is a
   * JSON patch, an object a merge patch.
   * @param {ObjectRef | KubernetesObject} target
   * @param {object | object[]} patch
   * @param {{ subresource?: string }} [options]
   */
  patch(target, patch, { subresource } = {}) {
    const name = reference(target);
    return doing(`patch ${title(name)}`, () => this.#imports.patch(name, subresource, patch));
  }

  /**
   * Asks for an object to go. That it is gone already is as good.
   * @param {ObjectRef | KubernetesObject} target
   */
  delete(target) {
    unlessAbsent(() => this.deleteWith(target, {}));
  }

  /**
   * Asks for an object to go; throws a `ClusterError` if it is gone already.
   * @param {ObjectRef | KubernetesObject} target
   * @param {import("@windlass/sdk").DeleteOptions} options
   */
  deleteWith(target, options) {
    const name = reference(target);
    doing(`delete ${title(name)}`, () => this.#imports.delete(name, options));
  }

  /**
   * Deletes many objects. The calls are made as in `createMany`. That one is gone already is as good.
   * @param {(ObjectRef | KubernetesObject)[]} targets
   * @param {import("@windlass/sdk").DeleteOptions} [options] of each of them
   */
  deleteMany(targets, options = {}) {
    const given = targets.map((target) => ({ target: reference(target), options }));
    const calls = given.map(({ target }) => `delete ${title(target)}`);
    const answers = answered(calls, this.#imports.deleteMany(given));
    return answers.map(({ error }) => (error && !error.isNotFound ? { error } : {}));
  }

  /**
   * Deletes all objects that match, in one request. It needs the verb `deletecollection`. A namespaced kind needs a
   * namespace, and there is no limit.
   * @param {import("@windlass/sdk").ListQuery} query
   * @param {import("@windlass/sdk").DeleteOptions} [options]
   */
  deleteAll(query, options = {}) {
    doing(`delete all ${query.kind}`, () =>
      this.#imports.deleteAll({ consistency: "stored", ...query }, options),
    );
  }

  /**
   * What this call has kept, or else the last call over this primary that succeeded; undefined if there is nothing. It is a
   * hint, never a state: the host may forget it at any time, and `windlass test` does so at random.
   * @returns {any}
   */
  recall() {
    const kept = this.#imports.recall();
    try {
      return kept && JSON.parse(Array.from(kept, (code) => String.fromCharCode(code)).join(""));
    } catch {
      // An earlier version kept something else.
      return undefined;
    }
  }

  /**
   * Keeps a value for the next call over this primary, if this one succeeds. The host drops more than 16 KiB of JSON.
   * @param {unknown} what undefined forgets what was kept
   */
  keep(what) {
    // In ASCII, so that a component needs no encoder.
    const text = (JSON.stringify(what) ?? "").replace(
      /[\u0080-\uffff]/g,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    this.#imports.keep(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
  }

  /**
   * Takes a token of a bucket that the calls over all primaries share. Returns undefined if there was one: go on. Otherwise
   * returns after how many milliseconds there will be one, for `requeueAfter`.
   * @param {string} bucket
   * @param {{ perHour: number, burst: number }} rate
   */
  takeToken(bucket, { perHour, burst }) {
    return this.#imports.takeToken(bucket, perHour, burst);
  }

  /**
   * Records an Event about the primary, or about `regarding`.
   * @param {import("@windlass/sdk").Event} event
   */
  event(event) {
    this.#imports.event(event);
  }

  /**
   * Writes one line into the host's log.
   * @param {import("@windlass/sdk").Level} level
   * @param {string} message
   * @param {Record<string, unknown>} [fields]
   */
  log(level, message, fields = {}) {
    const pairs = Object.entries(fields).map(([key, value]) => ({ key, value: String(value) }));
    this.#imports.log(level, message, pairs);
  }

  /**
   * Writes one line for the operator of the plugin.
   * @param {string} message
   * @param {Record<string, unknown>} [fields]
   */
  info(message, fields) {
    this.log("info", message, fields);
  }

  /**
   * Adds to a counter of the plugin's own, on `/metrics` of the host.
   * @param {string} name
   * @param {Record<string, unknown>} [labels]
   * @param {number} [by]
   */
  count(name, labels = {}, by = 1) {
    this.#imports.metric("add", name, pairs(labels), by);
  }

  /**
   * Sets a gauge of the plugin's own.
   * @param {string} name
   * @param {number} to
   * @param {Record<string, unknown>} [labels]
   */
  gauge(name, to, labels = {}) {
    this.#imports.metric("set", name, pairs(labels), to);
  }

  /**
   * Counts a value in a histogram of the plugin's own, such as of seconds.
   * @param {string} name
   * @param {number} value
   * @param {Record<string, unknown>} [labels]
   */
  observe(name, value, labels = {}) {
    this.#imports.metric("observe", name, pairs(labels), value);
  }

  /** The operator's configuration; empty if there is none. */
  get config() {
    this.#config ??= this.#imports.config();
    return this.#config;
  }

  /** When this call began: RFC 3339 in UTC, with milliseconds. Does not move during the call. */
  now() {
    return this.#imports.now();
  }

  /**
   * Calls for this object again at this time, if nothing does before: never earlier, and not spread like
   * `requeueAfter`. It counts if this call succeeds, and until the next one.
   * @param {string | Date} time in UTC as RFC 3339, or a `Date`. Throws a `TypeError` for any other text.
   */
  wakeAt(time) {
    const text =
      time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : String(time);
    if (!RFC_3339.test(text) || Number.isNaN(Date.parse(text))) {
      const example = "2026-11-21T09:30:00Z";
      throw new TypeError(
        `wakeAt: ${JSON.stringify(text)} is not a time such as ${example}, or a valid Date`,
      );
    }
    this.#imports.wakeAt(text);
  }

  /**
   * How often this object has failed since it last succeeded or its generation changed; 0 on a fresh
   * start. For logs and for giving up: the host computes the delay of the next try.
   */
  get attempt() {
    return this.#imports.attempt();
  }

  /**
   * An object to apply that belongs to `owner`; as the function `child`.
   * @param {KubernetesObject} owner
   * @param {string} apiVersion
   * @param {string} kind
   * @param {string} name
   * @param {Record<string, unknown>} [fields]
   */
  child(owner, apiVersion, kind, name, fields) {
    return child(owner, apiVersion, kind, name, fields);
  }
}

/**
 * What `action` gives; undefined if that is not there.
 * @template T
 * @param {() => T} action
 * @returns {T | undefined}
 */
function unlessAbsent(action) {
  try {
    return action();
  } catch (error) {
    if (error instanceof ClusterError && error.isNotFound) return undefined;
    throw error;
  }
}

/** The UID of an object that was read. @param {KubernetesObject} object */
function uidOf({ metadata: { name, uid } }) {
  if (!uid) throw new TypeError(`${name} has no metadata.uid: pass the object as it was read`);
  return uid;
}

/** @param {Record<string, unknown>} labels */
const pairs = (labels) =>
  Object.entries(labels).map(([name, value]) => ({ name, value: String(value) }));
