// The greeter in JavaScript does what the one in Rust does: the fixtures are the same files.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clusterGiven, runFixtures } from "@windlass/sdk/testing";
import { plugin } from "../src/greeter.js";

const FIXTURES = fileURLToPath(new URL("../../greeter/tests", import.meta.url));

runFixtures(plugin, FIXTURES, test);

test("an edited ConfigMap is put back", () => {
  const cluster = clusterGiven(`${FIXTURES}/created.yaml`);
  cluster.reconcile(plugin, "ada");
  cluster.edit("ConfigMap/default/ada-greeting", { data: { "index.html": "Boo!" } });
  const { writes } = cluster.reconcile(plugin, "ada");
  assert.deepEqual(
    writes.map(({ target }) => target),
    ["ConfigMap/default/ada-greeting"],
  );
});
