// What the words of the SDK mean: waits, needs, conditions, objects, and what a plugin says it is.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "@windlass/sdk";
import { millis } from "../src/answer.js";
import { controllerOf, describe } from "../src/controller.js";
import * as source from "../src/index.js";
import { place } from "../src/place.js";
import { run } from "../src/run.js";

/** The folder of the SDK's modules. */
const SDK = new URL("../src/", import.meta.url).pathname;
const NOW = "2026-11-21T09:30:00.250Z";

test("the types say what the code does", () => {
  /** @type {typeof sdk} */
  const typed = source;
  assert.deepEqual(Object.keys(typed).sort(), Object.keys(sdk).sort());
});

test("a wait has a unit or is milliseconds, and a wait too long is the longest one", () => {
  const cases = /** @type {const} */ ([
    ["250ms", 250],
    ["10s", 10_000],
    ["1.5m", 90_000],
    ["2h", 7_200_000],
    [1500, 1500],
    [Infinity, 0xffff_ffff],
    ["9999h", 0xffff_ffff],
  ]);
  for (const [wait, want] of cases) assert.equal(millis(wait), want, String(wait));
  for (const wait of ["", "s", "10", "10 s", "-1s", -1, Number.NaN]) {
    assert.throws(() => millis(wait), RangeError, String(wait));
  }
});

test("plurals follow Kubernetes' rule", () => {
  const cases = {
    ConfigMap: "configmaps",
    Endpoints: "endpoints",
    EndpointSlice: "endpointslices",
    Ingress: "ingresses",
    NetworkPolicy: "networkpolicies",
    Greeting: "greetings",
    Gateway: "gatewaies",
    "": "",
  };
  for (const [kind, want] of Object.entries(cases)) assert.equal(sdk.plural(kind), want);
  const gateways = sdk.read("gateway.networking.k8s.io/v1", "Gateway", {
    plural: "gateways",
    named: ["a"],
    fields: [".spec"],
  });
  assert.deepEqual(gateways, {
    kind: "Gateway",
    apiGroups: ["gateway.networking.k8s.io"],
    resources: ["gateways"],
    resourceNames: ["a"],
    verbs: ["get", "list", "watch"],
    fields: [".spec"],
  });
});

test("the time of a condition moves only with its status", () => {
  const old = sdk.Condition.holds("Ready", "Old", "").since([], "2020-01-01T00:00:00Z");
  const cases = /** @type {const} */ ([
    [sdk.Condition.holds("Ready", "New", "other words"), "2020-01-01T00:00:00Z"],
    [sdk.Condition.fails("Ready", "New", ""), "2026-11-21T09:30:00Z"],
    [sdk.Condition.unknown("Ready", "New", ""), "2026-11-21T09:30:00Z"],
    [sdk.Condition.holds("Synced", "New", ""), "2026-11-21T09:30:00Z"],
  ]);
  for (const [condition, want] of cases) {
    assert.equal(condition.since([old], NOW).lastTransitionTime, want);
  }
  assert.deepEqual(
    JSON.parse(JSON.stringify(sdk.Condition.holds("Ready", "Applied", "done").observed(2))),
    {
      type: "Ready",
      status: "True",
      reason: "Applied",
      message: "done",
      lastTransitionTime: "",
      observedGeneration: 2,
    },
  );
});

test("a child is owned, and in the same namespace", () => {
  const owner = {
    apiVersion: "x.dev/v1",
    kind: "X",
    metadata: { name: "a", namespace: "n", uid: "u" },
  };
  const fields = { metadata: { labels: { l: "1" } }, data: { k: "v" } };
  assert.deepEqual(sdk.child(owner, "v1", "ConfigMap", "a-x", fields), {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      labels: { l: "1" },
      name: "a-x",
      namespace: "n",
      ownerReferences: [
        {
          apiVersion: "x.dev/v1",
          kind: "X",
          name: "a",
          uid: "u",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    data: { k: "v" },
  });
});

test("a child may be in another namespace and without a name", () => {
  const owner = { apiVersion: "x.dev/v1", kind: "X", metadata: { name: "a", uid: "u" } };
  const child = sdk.child(owner, "v1", "ConfigMap", "gone", { data: { k: "v" } });
  const made = sdk.inNamespace(sdk.generateName(child, "a-"), "shop");
  const { ownerReferences, ...metadata } = made.metadata;
  assert.deepEqual(metadata, { generateName: "a-", namespace: "shop" });
  assert.deepEqual(ownerReferences, [sdk.ownerReference(owner)]);
  assert.deepEqual(made.data, { k: "v" });
  assert.equal(sdk.title(made), "ConfigMap/shop/a-");
  assert.equal(child.metadata.name, "gone", "the object that was given is as before");
});

test("the primary is among the needs, finalizing takes patch, and a status is asked for if it is written", () => {
  const rests = sdk.controller({ watches: ["x.dev/v1", "Policy"], reconcile() {} });
  const cleans = sdk.controller({
    watches: ["x.dev/v1", "Policy"],
    needs: [sdk.manage("v1", "ConfigMap")],
    reconcile() {},
    finalize: () => sdk.done,
    writesStatus: true,
  });
  const told = (/** @type {sdk.Declaration} */ plugin) => {
    const { primaries, needs } = describe(plugin, { name: "p", version: "1" });
    const finalizes = primaries.map((primary) => primary.finalizes);
    return [...finalizes, ...needs.map((rule) => `${rule.resources}: ${rule.verbs.join(" ")}`)];
  };
  assert.deepEqual(told(rests), ["never", "policies: get list watch"]);
  assert.deepEqual(told(cleans), [
    "always",
    "policies: get list watch patch",
    "policies/status: patch",
    "configmaps: get list watch create patch delete",
  ]);
});

test("definitions are carried as JSON", () => {
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "policies.x.dev" },
  };
  const carried = (/** @type {sdk.KubernetesObject[] | undefined} */ crds) => {
    const plugin = sdk.controller({ watches: ["x.dev/v1", "Policy"], crds, reconcile() {} });
    return describe(plugin, { name: "p", version: "1" }).crds;
  };
  assert.deepEqual(carried(undefined), []);
  assert.deepEqual(carried([crd]), [JSON.stringify(crd)]);
});

test("a plugin of several kinds says all of them, and is called by the kind of the object", () => {
  /** @param {string} apiVersion @param {string} kind */
  const one = (apiVersion, kind) =>
    sdk.controller({
      watches: [apiVersion, kind],
      needs: [sdk.manage("v1", kind)],
      reconcile() {},
    });
  const both = [one("x.dev/v1", "X"), one("v1", "ConfigMap")];
  const { primaries, needs } = describe(both, { name: "p", version: "1" });
  assert.deepEqual(
    primaries.map(({ kind }) => kind),
    ["X", "ConfigMap"],
  );
  assert.equal(needs.length, both.flatMap(({ needs }) => needs ?? []).length + 2);
  assert.equal(controllerOf(both, { apiVersion: "v1", kind: "ConfigMap" }), both[1]);
  assert.throws(
    () => controllerOf(both, { apiVersion: "y.dev/v1", kind: "X" }),
    /does not reconcile X/,
  );
  const [only] = both;
  assert.ok(only);
  // Whatever the version is called: the host asks for nothing else.
  assert.equal(controllerOf(only, { apiVersion: "x.dev/v2", kind: "X" }), only);
});

test("a controller for every kind is called for those that no other names", () => {
  const every = sdk.controller({
    watches: ["*", "*"],
    needs: [sdk.need("*", "*", ["delete"])],
    reconcile() {},
  });
  const maps = sdk.controller({ watches: ["v1", "ConfigMap"], reconcile() {} });
  const { primaries, needs } = describe([every, maps], { name: "p", version: "1" });
  const [first] = primaries;
  assert.deepEqual([first?.apiVersion, first?.kind], ["*", "*"]);
  const told = needs.map((rule) => [rule.apiGroups, rule.resources, rule.verbs].flat().join(" "));
  assert.deepEqual(told, ["* * delete", " configmaps get list watch"]);
  const of = (/** @type {string} */ kind) =>
    controllerOf([every, maps], { apiVersion: "v1", kind });
  assert.equal(of("ConfigMap"), maps);
  assert.equal(of("Secret"), every);
});

test("a wrong declaration is refused with what is wrong", () => {
  const right = { watches: ["x.dev/v1", "X"], reconcile() {} };
  const cases = /** @type {const} */ ([
    [{ ...right, need: [] }, /no need; there are watches/],
    [{ ...right, watches: ["X"] }, /watches must be/],
    [{ ...right, watches: ["x.dev", "X"] }, /version is missing/],
    [{ ...right, watches: ["*", "*"], writesStatus: true }, /not for \*/],
    [{ ...right, trigger: "spec" }, /trigger must be/],
    [{ ...right, reconcile: undefined }, /reconcile must be/],
    [{ ...right, finalize: true }, /finalize must be/],
    [{ ...right, finalizes: "always" }, /finalizes must be .*, and needs finalize/],
    [{ ...right, finalize() {}, finalizes: "never" }, /finalizes must be/],
    [{ ...right, onLeave: "finalize" }, /onLeave must be .*, and needs finalize/],
    [{ ...right, finalize() {}, onLeave: "now" }, /onLeave must be/],
    [{ ...right, writesStatus: "yes" }, /writesStatus must be/],
    [{ ...right, crds: "{}" }, /crds must be a list of objects of kind CustomResourceDefinition/],
    [{ ...right, crds: ['{ "kind": "CustomResourceDefinition" }'] }, /crds must be/],
    [{ ...right, crds: [{ kind: "ConfigMap" }] }, /crds must be/],
    [{ ...right, crds: [null] }, /crds must be/],
    [{ ...right, needs: sdk.manage("v1", "Secret") }, /needs must be a list/],
  ]);
  for (const [declaration, want] of cases) {
    assert.throws(() => sdk.controller(/** @type {any} */ (declaration)), want);
  }
});

test("a place is the author's own, whatever the engine", () => {
  const cases = /** @type {const} */ ([
    ["    at f (/p/src/a.js:41:7)\n    at g (/p/src/b.js:3:1)", "src/a.js:41"],
    ["    at <anonymous> (/p/src/a.js:4)", "src/a.js:4"],
    ["Error: x\n    at file:///p/src/a.js:5:6", "src/a.js:5"],
    [
      "    at map (native)\n    at f (/p/node_modules/x/i.js:1:1)\n    at g (/p/a.js:2:1)",
      "a.js:2",
    ],
    ["    at f (/sdk/src/a.js:1:1)\n    at g (/p/a.js:2:1)", "a.js:2"],
    [`    at reference (${SDK}object.js:25:1)\n    at f (/p/src/a.js:7:1)`, "src/a.js:7"],
    ["    at map (native)", ""],
    ["", ""],
  ]);
  for (const [stack, want] of cases) assert.equal(place(stack, "/p/"), want, stack);
  // Also if the SDK lies in the project, as `windlass new` puts it there.
  const inside = `    at reference (${SDK}object.js:25:1)\n    at f (${SDK.replace("src/", "a.js")}:7:1)`;
  assert.equal(place(inside, SDK.replace("src/", "")), "a.js:7");
});

test("an error tells its cause, and the errors that it is made of", () => {
  const told = (/** @type {unknown} */ thrown) => {
    try {
      const reconcile = () => {
        throw thrown;
      };
      const imports = /** @type {any} */ ({ log() {}, config: () => ({}) });
      run(/** @type {any} */ ({ reconcile }), "reconcile", {}, imports, { root: "/nowhere/" });
    } catch (failure) {
      return /** @type {any} */ (failure).val;
    }
  };
  const cause = new Error("b", { cause: new TypeError("c") });
  assert.equal(
    told(new Error("a", { cause })),
    "Error: a; caused by Error: b; caused by TypeError: c",
  );
  assert.equal(told(new Error("a", { cause: { code: 7 } })), 'Error: a; caused by {"code":7}');
  const many = new AggregateError([new Error("x"), "y", 1, 2, 3, 4], "two steps failed");
  assert.equal(told(many), "AggregateError: two steps failed; Error: x; y; 1; 2; 3; and 1 more");
  // One that is its own cause ends.
  cause.cause = cause;
  assert.match(told(cause), /^Error: b(; caused by Error: b){5}$/);
});
