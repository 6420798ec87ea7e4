// HTTP requests of a plugin, on a fake cluster.

import assert from "node:assert/strict";
import { test } from "node:test";
import { controller } from "@windlass/sdk";
import { FetchError, fetch } from "@windlass/sdk/http";
import { FakeCluster } from "@windlass/sdk/testing";

/** @param {(cluster: import("@windlass/sdk").Cluster) => void} order */
const plugin = (order) =>
  controller({
    watches: ["x.dev/v1", "Thing"],
    origins: ["https://api.example.com"],
    reconcile: (_, host) => order(host),
  });

const things = () => {
  const cluster = new FakeCluster();
  cluster.put({
    apiVersion: "x.dev/v1",
    kind: "Thing",
    metadata: { name: "a", namespace: "default" },
  });
  return cluster;
};

test("a request is sent in the contract's form, and answered at once", () => {
  const cluster = things();
  const url = "https://api.example.com/zones/a";
  cluster.setHttp([{ request: `PUT ${url}`, respond: { status: 201, body: { id: 7 } } }]);
  const asks = plugin((host) => {
    const response = fetch(host, "https://api.example.com/zones/a", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ a: 1 }),
      timeout: "5s",
    });
    assert.equal(response.status, 201);
    assert.ok(response.ok);
    assert.deepEqual(response.json(), { id: 7 });
  });
  const { answer, requests } = cluster.reconcile(asks, "a");
  assert.equal(answer, "awaitChange", JSON.stringify(answer));
  const [request] = requests;
  assert.equal(request?.url, "https://api.example.com/zones/a");
  assert.equal(request?.timeoutMs, 5000);
  assert.equal(new TextDecoder().decode(request?.body), '{"a":1}');
});

test("a request that the document does not allow, or that times out, fails by its code", () => {
  const cluster = things();
  cluster.setHttp([{ request: "GET https://api.example.com/", error: "timeout" }]);
  for (const [url, want] of [
    ["https://api.example.com/", "timeout"],
    ["https://other.example.com/", "denied"],
  ]) {
    let code = "";
    const asks = plugin((host) => {
      try {
        fetch(host, String(url));
      } catch (error) {
        assert.ok(error instanceof FetchError);
        code = error.code;
        throw error;
      }
    });
    const { answer } = cluster.reconcile(asks, "a");
    assert.equal(code, want);
    assert.ok(JSON.stringify(answer).includes(`cannot GET ${url}`), JSON.stringify(answer));
  }
  assert.throws(() => {
    cluster.reconcile(
      plugin((host) => void fetch(host, "https://api.example.com/b")),
      "a",
    );
  }, /nothing answers `GET https:\/\/api.example.com\/b`/);
});

test("origins are described once", () => {
  assert.throws(
    () => controller(/** @type {any} */ ({ watches: ["v1", "X"], reconcile() {}, origins: "x" })),
    /origins must be/,
  );
});
