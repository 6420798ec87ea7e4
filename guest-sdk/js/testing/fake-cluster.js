// A cluster in memory on which a plugin makes its passes, as the host would have it do.

import { objectRef, reference } from "../src/object.js";
import { run } from "../src/run.js";
import { Call } from "./call.js";
import { Store } from "./store.js";

/** @typedef {import("@windlass/sdk").Declaration<any>} Declaration */
/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */
/** @typedef {import("@windlass/sdk/testing").Pass} Pass */

/** A cluster in memory, for a plugin's own tests. */
export class FakeCluster extends Store {
  /**
   * Makes a pass as the host does for an object that is there and stays; for any other, it calls
   * nobody.
   * @param {Declaration} plugin
   * @param {string} name `ada` in the namespace `default`, or `namespace/ada`
   */
  reconcile(plugin, name) {
    return this.pass(plugin, "reconcile", primary(plugin, name));
  }

  /**
   * Makes a pass as the host does for an object that is being deleted, if the plugin finalizes; when
   * that is done, takes the host's finalizers off.
   * @param {Declaration} plugin
   * @param {string} name as for `reconcile`
   */
  finalize(plugin, name) {
    return this.pass(plugin, "finalize", primary(plugin, name));
  }

  /**
   * Makes a pass for the primary `target`.
   * @param {Declaration} plugin
   * @param {"reconcile" | "finalize"} step
   * @param {ObjectRef} target
   * @returns {Pass}
   */
  pass(plugin, step, target) {
    const object = this.#callable(plugin, step, target);
    if (!object)
      return { answer: "notCalled", writes: [], events: [], logs: [], metrics: [], requests: [] };
    this.takeWrites();
    const call = new Call(this, object, plugin);
    const answer = ask(plugin, step, object, call);
    const writes = this.takeWrites();
    if (answer === "done") this.#release(target);
    const { events, logs, metrics, requests, wakeTime } = call;
    const wakeAt = wakeTime?.toISOString();
    return { answer, ...(wakeAt && { wakeAt }), writes, events, logs, metrics, requests };
  }

  /**
   * From now on `answer` plays the servers outside the cluster. Without it, each request fails.
   * @param {(request: import("@windlass/sdk").HttpRequest) => import("@windlass/sdk").HttpResponse} answer
   */
  answerRequests(answer) {
    this.server = answer;
  }

  /** The primary, if the host would call the plugin for it. @param {Declaration} plugin @param {string} step @param {ObjectRef} target */
  #callable(plugin, step, target) {
    const finalizing = step === "finalize";
    if (finalizing && !plugin.finalize) return undefined;
    const object = this.objects().find((one) => same(reference(one), target));
    const deleting = object?.metadata.deletionTimestamp !== undefined;
    return deleting === finalizing ? object : undefined;
  }

  /** Takes the host's finalizers off an object, which then goes if there are no others. @param {ObjectRef} target */
  #release(target) {
    const object = this.get(target);
    const { metadata } = object;
    metadata.finalizers = metadata.finalizers?.filter((name) => !name.startsWith("windlass.dev/"));
    this.put(object);
    this.remove(target);
  }
}

/** @param {Declaration} plugin @param {"reconcile" | "finalize"} step @param {object} object @param {Call} call */
function ask(plugin, step, object, call) {
  try {
    const { tag, val } = run(plugin, step, object, call, { root: `${process.cwd()}/` });
    if (tag === "requeue-after") return { requeueAfter: val };
    if (tag === "pending") return { pending: val };
    return tag === "done" ? "done" : "awaitChange";
  } catch (failure) {
    const { tag, val } = /** @type {{ tag: string, val: string }} */ (failure);
    return { [tag]: val };
  }
}

/** @param {Declaration} plugin @param {string} name */
function primary({ watches: [apiVersion, kind] }, name) {
  const [namespace, own] = name.includes("/") ? name.split("/") : ["default", name];
  return objectRef(apiVersion, kind, namespace, String(own));
}

/** @param {ObjectRef} one @param {ObjectRef} other */
const same = (one, other) =>
  one.kind === other.kind && one.namespace === other.namespace && one.name === other.name;
