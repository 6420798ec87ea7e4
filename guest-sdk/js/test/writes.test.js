// Sets, creations and patches of one call on a fake cluster.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  ClusterError,
  controller,
  done,
  manage,
  manifest,
  need,
  objectRef,
  SetError,
} from "@windlass/sdk";
import { FakeCluster } from "@windlass/sdk/testing";

/** @typedef {import("@windlass/sdk").Cluster} Cluster */

const named = (/** @type {string} */ name) => objectRef("v1", "ConfigMap", "default", name);
const map = (/** @type {string} */ name, /** @type {object} */ data = {}) =>
  manifest(named(name), { data });

const PROJECT = fileURLToPath(new URL("../../testdata/things", import.meta.url));

const things = () => {
  const cluster = new FakeCluster(PROJECT);
  for (const name of ["a", "b"]) {
    cluster.put({
      apiVersion: "x.dev/v1",
      kind: "Thing",
      metadata: { name, namespace: "default" },
    });
  }
  return cluster;
};

/**
 * A pass that does `order`; what it wrote.
 * @param {FakeCluster} cluster
 * @param {string} name
 * @param {(cluster: Cluster) => void} order
 */
function pass(cluster, name, order) {
  const obedient = controller({
    watches: ["x.dev/v1", "Thing"],
    needs: [
      manage("v1", "ConfigMap"),
      need("v1", "ConfigMap", ["deletecollection"]),
      need("x.dev/v1", "Thing", ["update"], { plural: "things/status" }),
    ],
    reconcile: (_, host) => order(host),
  });
  const { answer, writes } = cluster.reconcile(obedient, name);
  assert.equal(answer, "awaitChange", JSON.stringify(answer));
  return writes.map(({ verb, target }) => `${verb} ${target.split("/").at(-1)}`);
}

/** The error that `action` throws. @param {() => unknown} action @returns {any} */
function thrown(action) {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

test("a set is owned and marked, and what leaves it goes", () => {
  const cluster = things();
  const both = pass(cluster, "a", (host) => {
    const [x, y] = host.applySet([map("x"), map("y")]);
    assert.equal(y?.metadata.name, "y");
    assert.equal(x?.metadata.ownerReferences?.[0]?.name, "a");
    assert.ok(x?.metadata.labels?.["windlass.dev/set"]);
  });
  assert.deepEqual(both, ["apply x", "apply y"]);
  assert.deepEqual(
    pass(cluster, "a", (host) => void host.applySet([map("y")])),
    ["delete x"],
  );
  assert.deepEqual(
    pass(cluster, "b", (host) => void host.applySet([])),
    [],
  );
});

test("a set tells what failed, and then deletes nothing", () => {
  const cluster = things();
  pass(cluster, "a", (host) => void host.applySet([map("x")]));
  const written = pass(cluster, "a", (host) => {
    const secret = manifest(objectRef("v1", "Secret", "default", "s"));
    const error = thrown(() => host.applySet([map("y"), secret]));
    assert.ok(error instanceof SetError);
    assert.deepEqual(
      error.failures.map((part) => [part.index, part.error.code]),
      [[1, "denied"]],
    );
    assert.match(error.message, /cannot apply Secret\/default\/s: denied/);
    const again = thrown(() => host.applySet([]));
    assert.deepEqual(
      [again.failures[0].index, again.failures[0].error.code],
      [undefined, "invalid"],
    );
  });
  assert.deepEqual(written, ["apply y"]);
});

test("a set is tried again unless every part is invalid", () => {
  const failing = (/** @type {import("@windlass/sdk").KubernetesObject[]} */ children) => {
    const plugin = controller({
      watches: ["x.dev/v1", "Thing"],
      needs: [manage("v1", "ConfigMap")],
      reconcile: (_, cluster) => void cluster.applySet(children),
    });
    return Object.keys(things().reconcile(plugin, "a").answer);
  };
  const secret = manifest(objectRef("v1", "Secret", "default", "s"));
  assert.deepEqual(failing([map("y"), map("y")]), ["terminal"]);
  assert.deepEqual(failing([map("y"), map("y"), secret]), ["transient"]);
});

test("what is created must not be there", () => {
  const written = pass(things(), "a", (host) => {
    host.create(map("x"));
    assert.equal(thrown(() => host.create(map("x"))).code, "conflict");
    const metadata = /** @type {any} */ ({ generateName: "run-", namespace: "default" });
    const made = [1, 2].map(() => host.create({ apiVersion: "v1", kind: "ConfigMap", metadata }));
    assert.notEqual(made[0]?.metadata.name, made[1]?.metadata.name);
  });
  assert.equal(written.length, 3);
});

test("a patch changes what it names, and nothing that is the host's", () => {
  const cluster = things();
  cluster.put(map("x", { a: "1", b: "2" }));
  const written = pass(cluster, "a", (host) => {
    const x = named("x");
    host.patch(x, { data: { a: null } });
    const now = host.patch(x, [{ op: "add", path: "/data/c", value: "3" }]);
    assert.deepEqual(now.data, { b: "2", c: "3" });
    const denied = { metadata: { finalizers: [] } };
    assert.equal(thrown(() => host.patch(x, denied)).code, "denied");
    const wrong = [{ op: "test", path: "/data/b", value: "9" }];
    assert.equal(thrown(() => host.patch(x, wrong)).code, "invalid");
    assert.ok(thrown(() => host.patch(named("absent"), {})) instanceof ClusterError);
  });
  assert.deepEqual(written, ["patch x", "patch x"]);
});

test("children are found by their owner, and adopted, held, released and disowned", () => {
  const cluster = things();
  cluster.put(map("orphan", { x: "1" }));
  const query = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };
  const names = (/** @type {Cluster} */ host, /** @type {object} */ more = {}) =>
    host.listChildren({ ...query, ...more }).map(({ metadata }) => metadata.name);
  const writes = pass(cluster, "a", (host) => {
    assert.deepEqual(names(host), []);
    assert.deepEqual(names(host, { orphans: true }), ["orphan"]);
    const orphan = host.get(named("orphan"));
    const adopted = host.adopt(orphan, { finalizer: "example.com/a" });
    assert.equal(adopted.metadata.ownerReferences?.[0]?.name, "a");
    assert.equal(adopted.metadata.ownerReferences?.[0]?.controller, true);
    assert.deepEqual(adopted.metadata.finalizers, ["example.com/a"]);
    assert.deepEqual(names(host), ["orphan"]);
    assert.deepEqual(names(host, { orphans: true, owner: "nobody" }), []);
    const [bare] = host.listChildren({ ...query, metadataOnly: true });
    assert.equal(bare?.data, undefined);
    host.adopt(orphan);
    host.hold(orphan, "example.com/b");
    host.release(orphan, "example.com/a");
  });
  assert.deepEqual(writes, ["patch orphan", "patch orphan", "patch orphan"]);
  pass(cluster, "b", (host) => {
    const theirs = host.get(named("orphan"));
    assert.equal(thrown(() => host.adopt(theirs)).code, "conflict");
    const again = { ...theirs, metadata: { ...theirs.metadata, uid: "another" } };
    assert.equal(thrown(() => host.hold(again, "example.com/b")).code, "conflict");
    host.release(again, "example.com/b");
    host.disown(again);
    assert.match(thrown(() => host.hold(map("new"), "x")).message, /as it was read/);
  });
  pass(cluster, "a", (host) => {
    const own = host.get(named("orphan"));
    host.disown(own, { finalizer: "example.com/b" });
    const left = host.get(named("orphan")).metadata;
    assert.deepEqual([left.ownerReferences, left.finalizers], [undefined, undefined]);
  });
});

test("many are created, released and deleted in batches up to a failure", () => {
  const cluster = things();
  cluster.put(map("m4"));
  const maps = Array.from({ length: 20 }, (_, number) => map(`m${number}`));
  pass(cluster, "a", (host) => {
    const made = host.createMany(maps);
    // 1, 2, and 4, of which the second is there already.
    const codes = made.map(({ error }) => error?.code);
    const ok = undefined;
    assert.deepEqual(codes, [ok, ok, ok, ok, "conflict", ok, ok]);
    assert.equal(made[0]?.object?.metadata.name, "m0");
    assert.match(String(made[4]?.error), /create ConfigMap\/default\/m4/);
    const held = maps.slice(0, 3).map((object) => host.hold(host.get(object), "example.com/a"));
    assert.deepEqual(host.releaseMany(held, "example.com/a"), [{}, {}, {}]);
    assert.equal(host.get(named("m0")).metadata.finalizers, undefined);
    assert.deepEqual(host.deleteMany(maps.slice(0, 9)), Array(9).fill({}));
    assert.deepEqual(host.list({ apiVersion: "v1", kind: "ConfigMap" }), []);
    const [refused, ...others] = host.createMany(Array(1001).fill(map("x")));
    assert.deepEqual([refused?.error?.code, others], ["invalid", []]);
  });
});

test("rows have a value for each path", () => {
  const cluster = things();
  cluster.put(map("x", { "a.b": "1" }));
  cluster.put(map("y", { c: "2" }));
  const query = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };
  const paths = [".metadata.name", ".data['a.b']", ".data.c"];
  pass(cluster, "a", (host) => {
    const want = [
      ["x", "1", null],
      ["y", null, "2"],
    ];
    assert.deepEqual(host.select(query, paths), want);
    for (const wrong of [[], [""], ["name"], [".a["], ["."], ["[0]"], [".é"]]) {
      assert.equal(thrown(() => host.select(query, wrong)).code, "invalid", String(wrong));
    }
    assert.equal(thrown(() => host.select({ ...query, kind: "Secret" }, paths)).code, "denied");
  });
});

test("all that match are deleted, and a status is replaced at its version", () => {
  const cluster = things();
  cluster.put({ ...map("x"), metadata: { ...map("x").metadata, labels: { a: "b" } } });
  cluster.put(map("y"));
  const written = pass(cluster, "a", (host) => {
    const query = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };
    host.deleteAll({ ...query, labelSelector: "a=b" });
    const left = host.list(query).map(({ metadata }) => metadata.name);
    assert.deepEqual(left, ["y"]);
    const thing = host.get(objectRef("x.dev/v1", "Thing", "default", "a"));
    const now = host.updateSubresource(thing, "status", { ...thing, status: { seen: 1 } });
    assert.deepEqual(now.status, { seen: 1 });
    const again = () => host.updateSubresource(thing, "status", { ...thing, status: { seen: 2 } });
    assert.equal(thrown(again).code, "conflict");
  });
  assert.equal(written.length, 2, written.join());
});

test("what is deleted, told and posted goes to the cluster", () => {
  const cluster = things();
  cluster.put(map("x"));
  const tells = controller({
    watches: ["x.dev/v1", "Thing"],
    needs: [manage("v1", "ConfigMap"), need("v1", "Pod", ["create"], { plural: "pods/eviction" })],
    reconcile(_, host) {
      host.delete(named("x"));
      host.delete(named("x"));
      const about = { regarding: objectRef("x.dev/v1", "Thing", "default", "a") };
      const made = { reason: "Made", action: "Make", note: "it is made" };
      host.event({ ...about, ...made, severity: "normal" });
      host.count("things_made", { of: "x" }, 2);
      const pod = objectRef("v1", "Pod", "default", "none");
      const eviction = manifest(objectRef("policy/v1", "Eviction", "default", "none"));
      const post = () => host.createSubresource(pod, "eviction", eviction);
      assert.equal(thrown(post).code, "not-found");
    },
  });
  const pass = cluster.reconcile(tells, "a");
  assert.equal(pass.answer, "awaitChange", JSON.stringify(pass.answer));
  assert.deepEqual(
    pass.writes.map(({ verb, object }) => [verb, object]),
    [["delete", null]],
  );
  assert.deepEqual(
    pass.events.map(({ reason, severity }) => [reason, severity]),
    [["Made", "normal"]],
  );
  assert.deepEqual(pass.metrics, ["add things_made,of=x 2"]);
  assert.equal(cluster.get(named("x")), undefined);
});

test("the host knows which kinds are served, and remembers a hint", () => {
  const cluster = things();
  cluster.put(map("x"));
  pass(cluster, "a", (host) => {
    const maps = host.kinds().find(({ plural }) => plural === "configmaps");
    assert.ok(maps?.verbs.includes("deletecollection"), JSON.stringify(maps));
    assert.equal(host.unchangedFor(named("x")), 0);
    assert.equal(thrown(() => host.unchangedFor(named("no"))).code, "not-found");
    assert.equal(host.recall(), undefined);
    host.keep({ text: "ä🦀" });
    assert.deepEqual(host.recall(), { text: "ä🦀" });
    host.keep("x".repeat(20_000));
    assert.deepEqual(host.recall(), { text: "ä🦀" }, "it is too long");
    host.keep(undefined);
    assert.equal(host.recall(), undefined);
    assert.equal(host.takeToken("b", { perHour: 1, burst: 1 }), undefined);
    assert.ok(Number(host.takeToken("b", { perHour: 1, burst: 1 })) > 0);
  });
});

test("what is being deleted and waits for others is reconciled", () => {
  const cluster = things();
  const thing = objectRef("x.dev/v1", "Thing", "default", "a");
  cluster.edit(thing, { metadata: { finalizers: ["example.com/other"] } });
  const goes = controller({
    watches: ["x.dev/v1", "Thing"],
    needs: [manage("v1", "ConfigMap")],
    reconcile: () => {},
    reconcileGoing: (_, host) => void host.apply(map("going")),
  });
  assert.equal(cluster.reconcileGoing(goes, "a").answer, "notCalled");
  cluster.remove(thing);
  const { answer, writes } = cluster.reconcileGoing(goes, "a");
  assert.deepEqual([answer, writes.length], ["awaitChange", 1]);
});

test("a primary gets the plugin's finalizer when it is asked for, and is finalized then", () => {
  const cluster = things();
  const asks = controller({
    watches: ["x.dev/v1", "Thing"],
    finalizes: "on-request",
    reconcile: (_, host) => {
      host.protect();
      host.protect();
    },
    finalize: () => done,
  });
  const { answer, writes } = cluster.reconcile(asks, "a");
  assert.deepEqual([answer, writes], ["awaitChange", []], "the host writes it, and not the plugin");
  const thing = objectRef("x.dev/v1", "Thing", "default", "a");
  assert.deepEqual(cluster.get(thing).metadata.finalizers, ["windlass.dev/things"]);
  cluster.remove(thing);
  assert.equal(cluster.finalize(asks, "a").answer, "done");
  assert.equal(cluster.get(thing), undefined);
});
