// A cluster that a test changes and looks at, and on which plugins make passes.

import { controllers, describe } from "../src/controller.js";
import { title } from "../src/object.js";
import { Told, answered } from "./call.js";
import { Process } from "./process.js";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */
/** @typedef {import("@windlass/sdk").Plugin} Plugin */

/** The plugin as `windlass fake` is told of it. @param {Plugin} plugin */
export const described = (plugin) => ({
  description: describe(plugin, { name: "plugin", version: "0.0.0" }),
  reconcilesGoing: controllers(plugin).some(({ reconcileGoing }) => reconcileGoing !== undefined),
});

/** A process for the project around `folder`. @param {string} folder */
export function begin(folder) {
  const process = new Process();
  process.done({ open: folder });
  return process;
}

/** A cluster in memory, which `windlass fake` plays. */
export class FakeCluster {
  #process;
  /** @type {Record<string, unknown>} */
  #config = {};
  /** How often the primary has failed, as calls are told from now on. */
  attempt = 0;

  /**
   * A cluster with the namespace `default`.
   * @param {string} [folder] the project, or a folder below it; the current folder if nobody says so
   */
  constructor(folder = ".") {
    this.#process = begin(folder);
  }

  /** Changes it to what the first step of a fixture file gives. @param {string} path */
  given(path) {
    this.#config = this.#process.done({ fixture: path });
  }

  /**
   * Makes a pass as the host does for an object that is there and stays; for any other, it calls nobody.
   * @param {Plugin} plugin
   * @param {string} name `ada` in the namespace `default`, or `namespace/ada`
   */
  reconcile(plugin, name) {
    return this.#pass(plugin, "reconcile", name);
  }

  /**
   * Makes a pass as the host does for an object that is being deleted and does not have the plugin's finalizer, for a
   * plugin with `reconcileGoing`.
   * @param {Plugin} plugin
   * @param {string} name as for `reconcile`
   */
  reconcileGoing(plugin, name) {
    return this.#pass(plugin, "reconcileGoing", name);
  }

  /**
   * Makes a pass as the host does for an object that is being deleted and has the plugin's finalizer; when that
   * is done, takes the finalizer off.
   * @param {Plugin} plugin
   * @param {string} name as for `reconcile`
   */
  finalize(plugin, name) {
    return this.#pass(plugin, "finalize", name);
  }

  /**
   * @param {Plugin} plugin
   * @param {"reconcile" | "reconcileGoing" | "finalize"} step
   * @param {string} name
   * @returns {import("@windlass/sdk/testing").Pass}
   */
  #pass(plugin, step, name) {
    const kind = String(controllers(plugin)[0]?.watches[1]);
    // For a plugin that watches every kind, the name tells it.
    const whole = kind === "*" ? name : `${kind}/${name}`;
    const target = name.includes("/") || this.get(whole) ? whole : `${kind}/default/${name}`;
    const told = new Told();
    const pass = { [step]: target, attempt: this.attempt, plugin: described(plugin) };
    const { answer, wakeAt, writes, log } = answered(this.#process, plugin, { pass }, told);
    return { answer, ...(wakeAt && { wakeAt }), writes, ...told, hostLog: log };
  }

  /** The operator's configuration. */
  get config() {
    return this.#config;
  }

  set config(config) {
    this.#given({ config });
    this.#config = config;
  }

  /** The time of calls from now on: RFC 3339. @param {string} time */
  set clock(time) {
    this.#process.done({ clock: time });
  }

  /** Puts an object there as somebody else would, whole, and its namespace. @param {KubernetesObject} object */
  put(object) {
    this.#given({ objects: [object] });
  }

  /** Changes an object as somebody else would, by a JSON merge patch. @param {string | ObjectRef} object @param {object} patch */
  edit(object, patch) {
    this.#given({ edits: { [named(object)]: patch } });
  }

  /** Deletes an object as somebody else would: it stays while it has finalizers. @param {string | ObjectRef} object */
  remove(object) {
    this.#given({ removals: [named(object)] });
  }

  /** Sets who answers HTTP requests: the rows of `given.http` of a fixture. @param {object[]} rows */
  setHttp(rows) {
    this.#given({ http: rows });
  }

  /**
   * Lets each write to the object fail in the next pass with `unavailable`.
   * @param {string | ObjectRef} object
   * @param {{ done?: boolean }} [options] `done`: it is carried out nevertheless, and only the answer is lost
   */
  failWrites(object, { done = false } = {}) {
    this.#process.done({ fail: { writesTo: named(object), done } });
  }

  /** Reads an object; undefined if it is absent. @param {string | ObjectRef} object @returns {any} */
  get(object) {
    return this.#process.done({ get: named(object) }) ?? undefined;
  }

  /** Every object. @returns {KubernetesObject[]} */
  objects() {
    return this.#process.done({ objects: {} });
  }

  /** @param {object} given */
  #given(given) {
    this.#process.done({ given });
  }
}

/** @param {string | ObjectRef} object */
const named = (object) => (typeof object === "string" ? object : title(object));
