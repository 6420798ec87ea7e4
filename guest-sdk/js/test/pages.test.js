// The examples of the documentation do what the pages say.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { controller, transient } from "@windlass/sdk";
import { fetch } from "@windlass/sdk/http";
import { FakeCluster } from "@windlass/sdk/testing";

/** The blocks of a page in a language. @param {string} page @param {string} language */
function blocks(page, language) {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8");
  const parts = text.split("```").filter((_, index) => index % 2 === 1);
  const own = parts.filter((part) => part.startsWith(`${language}\n`));
  return own.map((part) => part.slice(language.length + 1));
}

const things = () => {
  const cluster = new FakeCluster(tmpdir());
  const metadata = { name: "a", namespace: "default" };
  cluster.put({ apiVersion: "x.dev/v1", kind: "Thing", metadata });
  return cluster;
};

/**
 * A plugin that does `order` for a Thing.
 * @param {string[]} origins
 * @param {(cluster: import("@windlass/sdk").Cluster) => void} order
 */
const plugin = (origins, order) =>
  controller({ watches: ["x.dev/v1", "Thing"], origins, reconcile: (_, host) => order(host) });

test("a request is written as docs/http.md says", () => {
  const [example] = blocks("http.md", "js");
  const [imports, ...lines] = String(example).split("\n");
  assert.equal(imports, 'import { fetch } from "@windlass/sdk/http";');
  const order = new Function("cluster", "fetch", "transient", "body", lines.join("\n"));
  const puts = plugin(["https://api.example.com"], (host) => order(host, fetch, transient, "zone"));
  for (const [status, answer] of /** @type {[number, any][]} */ ([
    [200, "awaitChange"],
    [500, { transient: "the server answered 500" }],
  ])) {
    const cluster = things();
    const request = "PUT https://api.example.com/v1/zones/a";
    cluster.setHttp([{ request, respond: { status } }]);
    const pass = cluster.reconcile(puts, "a");
    assert.deepEqual(pass.answer, answer);
    assert.equal(new TextDecoder().decode(pass.requests[0]?.body), "zone");
  }
});

test("servers answer as docs/testing.md says", () => {
  const [, rows] = blocks("testing.md", "yaml");
  const folder = mkdtempSync(join(tmpdir(), "windlass-pages-"));
  const cluster = things();
  try {
    const step = "when: { reconcile: Thing/default/a }\nthen: { answer: awaitChange }\n";
    writeFileSync(join(folder, "rows.yaml"), `${rows}${step}`);
    cluster.given(join(folder, "rows.yaml"));
  } finally {
    rmSync(folder, { recursive: true });
  }
  const origins = ["https://api.example.com", "https://dns.example.com"];
  const asks = plugin(origins, (host) => {
    const put = () =>
      fetch(host, "https://api.example.com/records/a", { method: "PUT", body: "x" });
    const first = put();
    assert.equal(first.status, 201);
    assert.equal(first.headers.get("etag"), "7");
    assert.deepEqual(first.json(), { id: 12 });
    assert.throws(put, { code: "timeout" });
    const read = (/** @type {string} */ path) => fetch(host, `https://dns.example.com${path}`);
    assert.deepEqual(read("/zones/a").json(), { ttl: 60 });
    assert.deepEqual(read("/records/").json(), []);
    assert.equal(read("/zones/b").status, 404);
    const options = { method: "POST", body: "{}" };
    const made = fetch(host, "https://dns.example.com/records", options);
    assert.equal(made.headers.get("location"), `/records/${made.json().id}`);
  });
  assert.equal(cluster.reconcile(asks, "a").answer, "awaitChange");
});
