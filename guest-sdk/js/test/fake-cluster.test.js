// Passes on a fake cluster: a call is made as the host would let it be made.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  ClusterError,
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

test("a call is told how often the primary has failed", () => {
  const cluster = new FakeCluster();
  cluster.put(manifest(objectRef("x.dev/v1", "Thing", "default", "a")));
  const plugin = controller({
    watches: ["x.dev/v1", "Thing"],
    reconcile: (_, { attempt }) => requeueAfter(attempt),
  });
  for (const attempt of [0, 3]) {
    cluster.attempt = attempt;
    assert.deepEqual(cluster.reconcile(plugin, "a").answer, { requeueAfter: attempt });
  }
  // A fixture says it for each step; without it, the object has not failed.
  const folder = mkdtempSync(join(tmpdir(), "windlass-fixtures-"));
  const given = "{ apiVersion: x.dev/v1, kind: Thing, metadata: { name: a, namespace: default } }";
  const steps = [
    `given: { objects: [${given}] }`,
    "when: { reconcile: Thing/default/a, attempt: 2 }",
    "then: { answer: { requeueAfter: 2ms } }",
    "---",
    "when: { reconcile: Thing/default/a }",
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
    cluster.put(manifest(objectRef("x.dev/v1", "Thing", "default", "a")));
    const plugin = controller({
      watches: ["x.dev/v1", "Thing"],
      writesStatus,
      reconcile: (x, it) => it.applyStatus(x, { seen: true }),
    });
    const { answer, writes } = cluster.reconcile(plugin, "a");
    if (writesStatus) assert.equal(answer, "awaitChange");
    else
      assert.match(JSON.stringify(answer), /cannot apply the status of Thing\/default\/a: denied/);
    assert.equal(writes.length, writesStatus ? 1 : 0);
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

/** A cluster with an Order, which has the finalizer of `obeys`. @param {string} what @param {string[]} [finalizers] */
const order = (what, finalizers = ["windlass.dev/plugin"]) => {
  const cluster = new FakeCluster();
  const metadata = { name: "a", namespace: "default", finalizers };
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
    assert.ok(JSON.stringify(answer).includes(`cannot apply ${target}: denied`), String(answer));
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
  assert.deepEqual(order("", []).reconcile(picky, "a").answer, terminally);
});

test("only the right call is made for an object", () => {
  const cluster = order("own");
  const primary = objectRef("x.dev/v1", "Order", "default", "a");
  assert.equal(cluster.reconcile(obeys, "b").answer, "notCalled");
  assert.equal(cluster.finalize(obeys, "a").answer, "notCalled");
  cluster.remove(primary);
  assert.equal(cluster.reconcile(obeys, "a").answer, "notCalled");
  assert.equal(cluster.finalize(obeys, "a").answer, "done");
  assert.equal(cluster.get(primary), undefined, "the finalizer is off");
  const waiting = order("linger");
  waiting.remove(primary);
  assert.deepEqual(waiting.finalize(obeys, "a").answer, { pending: 5000 });
});

test("others change the cluster, and are told what is wrong", () => {
  const cluster = order("own");
  cluster.reconcile(obeys, "a");
  cluster.edit("ConfigMap/default/child", { data: { k: "other" } });
  assert.equal(cluster.get(named("child")).data.k, "other");
  assert.equal(cluster.reconcile(obeys, "a").writes.length, 1);
  assert.equal(cluster.reconcile(obeys, "a").writes.length, 0);
  assert.ok(cluster.objects().some(({ kind }) => kind === "Namespace"));
  assert.throws(() => cluster.remove("ConfigMap/default/none"), /does not exist/);
  assert.throws(() => (cluster.clock = "tomorrow"));
  cluster.config = { word: "hello" };
  cluster.clock = "2026-11-22T08:00:00Z";
  const tells = controller({
    watches: ["x.dev/v1", "Order"],
    reconcile(_, host) {
      host.info(host.config.word);
      host.wakeAt(host.now());
    },
    finalize: () => done,
  });
  const { logs, wakeAt } = cluster.reconcile(tells, "a");
  assert.deepEqual([logs, wakeAt], [["info: hello"], "2026-11-22T08:00:00Z"]);
});

test("a time that is none fails the pass", () => {
  for (const time of [
    "2026-11-30 02:00",
    "0 2 * * *",
    "tomorrow",
    "2026-13-40T00:00:00Z",
    new Date("x"),
  ]) {
    const cluster = order("own");
    const wakes = controller({
      watches: ["x.dev/v1", "Order"],
      reconcile: (_, host) => host.wakeAt(time),
      finalize: () => done,
    });
    const { answer, wakeAt } = cluster.reconcile(wakes, "a");
    assert.equal(wakeAt, undefined);
    assert.match(JSON.stringify(answer), /is not a time such as/, String(time));
  }
});

test("code that waits for a promise cannot use the cluster when the call has ended", async () => {
  const cluster = new FakeCluster();
  cluster.put(manifest(objectRef("x.dev/v1", "Thing", "default", "a")));
  /** @type {Promise<void> | undefined} */
  let late;
  const plugin = controller({
    watches: ["x.dev/v1", "Thing"],
    needs: [manage("v1", "ConfigMap")],
    reconcile(_, cluster) {
      late = (async () => {
        await undefined;
        cluster.apply(manifest(named("b")));
      })();
    },
  });
  assert.equal(cluster.reconcile(plugin, "a").answer, "awaitChange");
  await assert.rejects(async () => late, /reconcile has returned: code that waits for a promise/);
});

test("a write that fails once is made in the next pass", () => {
  for (const done of [false, true]) {
    const cluster = order("own");
    cluster.failWrites("ConfigMap/default/child", { done });
    assert.match(JSON.stringify(cluster.reconcile(obeys, "a").answer), /not available/);
    assert.equal(cluster.get("ConfigMap/default/child") !== undefined, done);
    assert.equal(cluster.reconcile(obeys, "a").answer, "awaitChange");
    assert.ok(cluster.get("ConfigMap/default/child"));
  }
});

test("without the command, the error says how to get it", () => {
  const script = "import { FakeCluster } from '@windlass/sdk/testing'; new FakeCluster();";
  const env = { ...process.env, WINDLASS: "/nowhere/windlass" };
  const { stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    env,
    encoding: "utf8",
  });
  assert.notEqual(status, 0);
  assert.match(stderr, /cannot start `\/nowhere\/windlass fake`.*WINDLASS=/);
});

test("a folder without fixtures does not pass", () => {
  assert.throws(() => runFixtures(obeys, import.meta.dirname, () => {}), /there is no fixture/);
});
