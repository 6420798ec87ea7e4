// The guest in JavaScript that makes the mistake which its configuration names.

import { ClusterError, controller, manage, objectRef, terminal, transient } from "@windlass/sdk";
import { deepest } from "./depths.js";

/** A finalizer. */
const OWN = "example.com/own";

/** Set by an earlier call, if that were possible. */
let calls = 0;

/**
 * Every mistake, by its name. A comment marks the line that a trace must show.
 * @type {Record<string, (object: any, cluster: import("@windlass/sdk").Cluster) => unknown>}
 */
const MISTAKES = {
  typeError: (object) => object.spec.missing.field, // place: typeError
  farBelow: () => [1].map(() => deepest()),
  thrown: () => {
    throw new RangeError("out of range"); // place: thrown
  },
  terminal: () => {
    throw terminal("never");
  },
  transient: () => {
    throw transient("not yet");
  },
  noError: () => {
    throw { code: 7 };
  },
  recursion: (object, cluster) => MISTAKES.recursion?.(object, cluster),
  hoard: () => {
    const all = [];
    for (;;) all.push(new Array(100_000).fill(all.length));
  },
  spin: () => {
    for (;;) calls += 1;
  },
  async: async () => "later",
  wrongAnswer: () => 42,
  badObject: (_, cluster) => cluster.apply(/** @type {any} */ ({ kind: "ConfigMap" })),
  cyclic: (object, cluster) => {
    const cyclic = { ...object, self: {} };
    cyclic.self = cyclic;
    cluster.apply(cyclic); // place: cyclic
  },
  denied: (_, cluster) => cluster.get(objectRef("v1", "Secret", "default", "s")),
  codes: (object, cluster) => {
    const absent = objectRef("v1", "ConfigMap", object.metadata.namespace, "absent");
    const found = cluster.find(absent);
    try {
      cluster.get(absent);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      throw terminal(`${found} ${error.code} ${error.isNotFound}: ${error.message}`);
    }
  },
  console: (object) => {
    console.log("seen", { name: object.metadata.name }, 3);
    console.error(new Error("shown"));
  },
  remembers: () => {
    calls += 1;
    if (calls > 1) throw terminal("a variable survived");
  },
  many: (object, cluster) => {
    const { namespace } = object.metadata;
    const maps = ["a", "b", "a"].map((name) => ({
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name } },
      data: { key: name },
    }));
    const code = (/** @type {{ error?: Error }} */ { error }) =>
      error instanceof ClusterError ? error.code : "ok";
    const query = { apiVersion: "v1", kind: "ConfigMap", namespace };
    const select = (/** @type {string[]} */ ...paths) =>
      cluster.select({ ...query, consistency: "latest" }, paths);
    const made = cluster.createMany(maps);
    const rows = select(".metadata.name", ".data.key", ".data.none");
    const held = made.flatMap(({ object }) => object ?? []);
    held.forEach((map) => cluster.hold(map, OWN));
    const released = cluster.releaseMany(held, OWN);
    const absent = objectRef("v1", "ConfigMap", namespace, "absent");
    const deleted = cluster.deleteMany([absent, ...held]);
    const steps = [made.map(code), rows, released.map(code), deleted.map(code), select(".kind")];
    throw terminal(JSON.stringify(steps));
  },
  asks: (object, cluster) => {
    const { namespace } = object.metadata;
    const before = cluster.recall();
    cluster.keep({ passes: (before?.passes ?? 0) + 1, note: "ä\u{1f980}" });
    const rate = { perHour: 3600, burst: 1 };
    const waits = [cluster.takeToken("b", rate), cluster.takeToken("b", rate)];
    const kinds = cluster.kinds().map(({ plural, verbs }) => `${plural}: ${verbs.join(" ")}`);
    const query = { apiVersion: "v1", kind: "ConfigMap", namespace, labelSelector: "a=b" };
    cluster.deleteAll(query);
    const status = { ...object, status: { text: "updated" } };
    const updated = cluster.updateSubresource(object, "status", status).status.text;
    const said = { before, kept: cluster.recall(), waits, kinds, updated };
    cluster.log("info", JSON.stringify(said));
  },
  time: (_, cluster) => {
    throw terminal(`${new Date().toISOString()} ${cluster.now()}`);
  },
};

export const plugin = controller({
  watches: ["examples.windlass.dev/v1", "Greeting"],
  needs: [manage("v1", "ConfigMap")],
  reconcile(object, cluster) {
    return /** @type {any} */ (MISTAKES[cluster.config.mistake]?.(object, cluster));
  },
  reconcileGoing(object) {
    throw terminal(`${object.metadata.name} goes`);
  },
});
