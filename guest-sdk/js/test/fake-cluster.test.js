// What a fake cluster promises: server-side apply, and a call as the host would let it be made.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  ClusterError,
  LabelSelector,
  child,
  controller,
  done,
  manage,
  manifest,
  objectRef,
  pending,
  requeueAfter,
  terminal,
  transient,
} from "@windlass/sdk";
import { FakeCluster, runFixtures } from "@windlass/sdk/testing";

const named = (/** @type {string} */ name) => objectRef("v1", "ConfigMap", "default", name);
const map = (/** @type {string} */ name, /** @type {object} */ data) =>
  manifest(named(name), { data });

/** That `action` is refused with `tag`. @param {() => unknown} action @param {string} tag */
const refused = (action, tag) =>
  assert.throws(action, (/** @type {any} */ error) => error.payload.tag === tag);

test("an apply creates, changes and takes back its own", () => {
  const cluster = new FakeCluster();
  const made = cluster.apply("a", map("m", { x: "1", y: "2" }));
  cluster.apply("b", map("m", { y: "2", z: "3" }));
  cluster.edit("ConfigMap/default/m", { data: { hand: "made" } });
  const now = cluster.apply("a", map("m", { w: "4" }));
  assert.deepEqual(now.data, { w: "4", y: "2", z: "3", hand: "made" });
  assert.equal(now.metadata.uid, made.metadata.uid);
});

test("an apply that changes nothing is not a write", () => {
  const cluster = new FakeCluster();
  for (let n = 0; n < 3; n += 1) cluster.apply("a", map("m", { x: "1" }));
  assert.equal(cluster.takeWrites().length, 1);
  cluster.edit("ConfigMap/default/m", { data: { x: "9" } });
  cluster.apply("a", map("m", { x: "1" }));
  assert.equal(cluster.takeWrites().length, 1);
  assert.equal(cluster.get(named("m")).data.x, "1");
});

test("a list is narrowed by a label selector as the API server knows it", () => {
  const cluster = new FakeCluster();
  for (const name of ["a", "b", "c"]) {
    cluster.put(manifest(named(name), { metadata: { labels: { name } } }));
  }
  const query = (/** @type {string | LabelSelector} */ labelSelector) =>
    cluster.list({ apiVersion: "v1", kind: "ConfigMap", labelSelector }).length;
  assert.deepEqual([query("name!=a"), query("name in (a, b),!other"), query("")], [2, 2, 3]);
  assert.equal(query(LabelSelector.of({ matchLabels: { name: "c" } })), 1);
  refused(() => query("name in a"), "invalid");
});

test("a call is told how often the primary has failed", () => {
  const cluster = new FakeCluster();
  cluster.put(manifest(objectRef("x.dev/v1", "X", "default", "a")));
  const plugin = controller({
    watches: ["x.dev/v1", "X"],
    reconcile: (_, { attempt }) => requeueAfter(attempt),
  });
  for (const attempt of [0, 3]) {
    cluster.attempt = attempt;
    assert.deepEqual(cluster.reconcile(plugin, "a").answer, { requeueAfter: attempt });
  }
  // A fixture says it for each step; without it, the object has not failed.
  const folder = mkdtempSync(join(tmpdir(), "windlass-fixtures-"));
  const given = "{ apiVersion: x.dev/v1, kind: X, metadata: { name: a, namespace: default } }";
  const steps = [
    `given: { objects: [${given}] }`,
    "when: { reconcile: X/default/a, attempt: 2 }",
    "then: { answer: { requeueAfter: 2ms } }",
    "---",
    "when: { reconcile: X/default/a }",
    "then: { answer: { requeueAfter: 0ms } }",
  ];
  try {
    writeFileSync(join(folder, "a.yaml"), steps.join("\n"));
    runFixtures(plugin, folder, (_, body) => body());
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a status is written only by who says so", () => {
  for (const writesStatus of [false, true]) {
    const cluster = new FakeCluster();
    cluster.put(manifest(objectRef("x.dev/v1", "X", "default", "a")));
    const plugin = controller({
      watches: ["x.dev/v1", "X"],
      writesStatus,
      reconcile: (x, it) => it.applyStatus(x, { seen: true }),
    });
    const { answer, writes } = cluster.reconcile(plugin, "a");
    const why = "cannot apply the status of X/default/a: denied: writesStatus is not true";
    assert.deepEqual(answer, writesStatus ? "awaitChange" : { transient: why });
    assert.equal(writes.length, writesStatus ? 1 : 0);
  }
});

test("lists merge by key where Kubernetes' do, and are replaced elsewhere", () => {
  const cluster = new FakeCluster();
  const target = objectRef("apps/v1", "Deployment", "default", "d");
  const pod = (/** @type {object[]} */ containers, /** @type {number[]} */ plain) =>
    manifest(target, { spec: { containers, plain } });
  cluster.put(pod([{ name: "a", image: "1", args: ["x", "y"] }], [1, 2]));
  const now = cluster.apply("a", pod([{ name: "a", args: ["z"] }, { name: "b" }], [3]));
  assert.deepEqual(now.spec, {
    containers: [{ name: "a", image: "1", args: ["z"] }, { name: "b" }],
    plain: [3],
  });
  const less = cluster.apply("a", pod([{ name: "a" }], [3]));
  assert.deepEqual(less.spec.containers, [{ name: "a", image: "1" }]);
});

test("generations count changes of the spec only", () => {
  const cluster = new FakeCluster();
  const target = objectRef("apps/v1", "Deployment", "default", "d");
  const generation = (/** @type {number} */ replicas, /** @type {string} */ l) =>
    cluster.apply("a", manifest(target, { metadata: { labels: { l } }, spec: { replicas } }))
      .metadata.generation;
  assert.deepEqual([generation(1, "x"), generation(1, "y"), generation(2, "y")], [1, 1, 2]);
});

test("a status is apart and needs its object", () => {
  const cluster = new FakeCluster();
  const status = { ...manifest(named("m")), status: { seen: 1 } };
  refused(() => cluster.applyStatus("a", status), "not-found");
  cluster.apply("a", map("m", { x: "1" }));
  cluster.applyStatus("a", status);
  const now = cluster.apply("a", map("m", { x: "2" }));
  assert.deepEqual([now.status, now.data], [{ seen: 1 }, { x: "2" }]);
});

test("preconditions, namespaces and scripted failures are kept", () => {
  const cluster = new FakeCluster();
  const elsewhere = manifest(objectRef("v1", "ConfigMap", "nowhere", "m"));
  refused(() => cluster.apply("a", elsewhere), "not-found");
  const ghost = { ...map("m", {}), metadata: { ...map("m", {}).metadata, uid: "another" } };
  refused(() => cluster.apply("a", ghost), "conflict");
  refused(() => cluster.apply("a", /** @type {any} */ ({})), "invalid");
  cluster.failWrite(2, "unavailable");
  cluster.apply("a", map("m", { x: "1" }));
  refused(() => cluster.apply("a", map("m", { x: "2" })), "unavailable");
  assert.equal(cluster.get(named("m")).data.x, "1");
  refused(() => cluster.delete(named("m"), { uid: "other" }), "conflict");
  cluster.delete(named("m"));
  refused(() => cluster.delete(named("m")), "not-found");
  const verbs = cluster.takeWrites().map(({ verb }) => verb);
  assert.deepEqual(verbs, ["apply", "delete"]);
});

test("lists are by kind, namespace, labels and fields", () => {
  const cluster = new FakeCluster();
  for (const [name, namespace] of Object.entries({ a: "default", b: "default", c: "other" })) {
    const metadata = { name, namespace, labels: { name } };
    cluster.put({ apiVersion: "v1", kind: "ConfigMap", metadata });
  }
  const count = (/** @type {object} */ more) =>
    cluster.list({ apiVersion: "v1", kind: "ConfigMap", ...more }).length;
  assert.equal(count({}), 3);
  assert.equal(count({ namespace: "default" }), 2);
  assert.equal(count({ labelSelector: "name!=a,name" }), 2);
  assert.equal(count({ labelSelector: "!name" }), 0);
  assert.equal(count({ fieldSelector: "metadata.name=c" }), 1);
  assert.equal(count({ limit: 1 }), 1);
  refused(() => count({ fieldSelector: "metadata.name in (a)" }), "invalid");
});

test("a label selector that no label can match is invalid, also where there is nothing to list", () => {
  const list = (/** @type {string} */ labelSelector) =>
    new FakeCluster().list({ apiVersion: "v1", kind: "ConfigMap", labelSelector });
  for (const fine of ["", "app", "!app", "x.dev/app=web", "app!=", "a==b, c", "a".repeat(63)]) {
    assert.deepEqual(list(fine), [], fine);
  }
  const long = "a".repeat(64);
  for (const wrong of ["owner=shop/ada", "owner=-1", "-x", "a/b/c", "X.dev/a", long, `a=${long}`]) {
    refused(() => list(wrong), "invalid");
  }
});

/** Does what its spec says, well or badly. */
const obeys = controller({
  watches: ["x.dev/v1", "Order"],
  needs: [manage("v1", "ConfigMap")],
  reconcile(order, cluster) {
    const owned = child(order, "v1", "ConfigMap", "child", { data: { k: "v" } });
    const stranger = { ...order, metadata: { ...order.metadata, uid: "another" } };
    const orders = /** @type {Record<string, () => any>} */ ({
      own: () => cluster.apply(owned),
      disown: () => cluster.apply(child(stranger, "v1", "ConfigMap", "child")),
      secret: () => cluster.apply(manifest(objectRef("v1", "Secret", "default", "s"))),
      look: () => cluster.info("nothing to do", { kind: cluster.find(named("x"))?.kind }),
      wait: () => requeueAfter("10s"),
      giveUp: () => {
        throw terminal("no");
      },
      tryLater: () => {
        throw transient("not yet");
      },
      stumble: () => order.spec.missing.field,
      hurry: () => Promise.resolve(),
      mutter: () => "well",
      shout: () => {
        throw "loud";
      },
    });
    const answer = orders[order.spec.do]?.();
    return typeof answer?.kind === "string" ? undefined : answer;
  },
  finalize: (order) => (order.spec.do === "linger" ? pending("5s") : done),
});

const order = (/** @type {string} */ what) => {
  const cluster = new FakeCluster();
  const metadata = { name: "a", namespace: "default", finalizers: ["windlass.dev/x"] };
  cluster.put({ apiVersion: "x.dev/v1", kind: "Order", metadata, spec: { do: what } });
  return cluster;
};

test("a pass may do what the host would let it do", () => {
  const pass = order("own").reconcile(obeys, "a");
  assert.equal(pass.answer, "awaitChange");
  assert.deepEqual(
    pass.writes.map(({ target }) => target),
    ["ConfigMap/default/child"],
  );
  assert.deepEqual(order("look").reconcile(obeys, "default/a").logs, [
    "info: nothing to do kind=undefined",
  ]);
  for (const [what, target] of Object.entries({
    disown: "ConfigMap/default/child",
    secret: "Secret/default/s",
  })) {
    const { answer, writes } = order(what).reconcile(obeys, "a");
    assert.deepEqual(answer, { transient: `cannot apply ${target}: denied` });
    assert.deepEqual(writes, []);
  }
});

test("only `terminal` is terminal, and a mistake is shown with its place", () => {
  const answer = (/** @type {string} */ what) => order(what).reconcile(obeys, "a").answer;
  assert.deepEqual(answer("wait"), { requeueAfter: 10_000 });
  assert.deepEqual(answer("giveUp"), { terminal: "no" });
  assert.deepEqual(answer("tryLater"), { transient: "not yet" });
  assert.deepEqual(answer("shout"), { transient: "thrown: loud" });
  for (const [what, text] of Object.entries({
    stumble: /^TypeError: .*missing|undefined.* \(test\/fake-cluster\.test\.js:\d+\)$/,
    hurry: /reconcile must not be async/,
    mutter: /reconcile must return nothing, awaitChange or requeueAfter/,
  })) {
    assert.match(/** @type {any} */ (answer(what)).transient, text);
  }
  const invalid = new ClusterError("invalid", "apply X/a", "spec.replicas: not a number");
  const picky = controller({
    watches: ["x.dev/v1", "Order"],
    reconcile() {
      throw invalid;
    },
  });
  const terminally = { terminal: "cannot apply X/a: spec.replicas: not a number" };
  assert.deepEqual(order("").reconcile(picky, "a").answer, terminally);
});

test("only the right call is made for an object", () => {
  const cluster = order("own");
  const primary = cluster.find("Order/default/a");
  assert.equal(cluster.reconcile(obeys, "b").answer, "notCalled");
  assert.equal(cluster.finalize(obeys, "a").answer, "notCalled");
  cluster.remove(primary);
  assert.equal(cluster.reconcile(obeys, "a").answer, "notCalled");
  assert.equal(cluster.finalize(obeys, "a").answer, "done");
  refused(() => cluster.get(primary), "not-found");
  const waiting = order("linger");
  waiting.remove(primary);
  assert.deepEqual(waiting.finalize(obeys, "a").answer, { pending: 5000 });
});

test("a folder without fixtures does not pass", () => {
  assert.throws(() => runFixtures(obeys, import.meta.dirname, () => {}), /there is no fixture/);
});
