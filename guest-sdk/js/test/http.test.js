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
  cluster.answerRequests(({ method, body }) => {
    assert.equal(method, "PUT");
    assert.equal(new TextDecoder().decode(body), '{"a":1}');
    return {
      status: 201,
      headers: [{ name: "content-type", value: "application/json" }],
      body: new TextEncoder().encode('{"id":7}'),
    };
  });
  const asks = plugin((host) => {
    const response = fetch(host, "https://api.example.com/zones/a", {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ a: 1 }),
      timeout: "5s",
      credential: "mine",
    });
    assert.equal(response.status, 201);
    assert.ok(response.ok);
    assert.deepEqual(response.json(), { id: 7 });
  });
  const { answer, requests } = cluster.reconcile(asks, "a");
  assert.equal(answer, "awaitChange", JSON.stringify(answer));
  const [request] = requests;
  assert.equal(request?.url, "https://api.example.com/zones/a");
  assert.deepEqual([request?.timeoutMs, request?.credential], [5000, "mine"]);
});

test("without anybody who answers, the request fails by name", () => {
  const cluster = things();
  let code = "";
  const asks = plugin((host) => {
    try {
      fetch(host, "https://api.example.com/");
    } catch (error) {
      assert.ok(error instanceof FetchError);
      code = error.code;
      throw error;
    }
  });
  const { answer } = cluster.reconcile(asks, "a");
  assert.equal(code, "other");
  assert.match(JSON.stringify(answer), /cannot GET https:\/\/api.example.com\/: nobody answers/);
});

test("origins are described once", () => {
  assert.throws(
    () => controller(/** @type {any} */ ({ watches: ["v1", "X"], reconcile() {}, origins: "x" })),
    /origins must be/,
  );
});
