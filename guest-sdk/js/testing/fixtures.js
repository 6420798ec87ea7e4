// Runs fixture files, as `windlass test` does.

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Told, answered } from "./call.js";
import { FakeCluster, begin, described } from "./fake-cluster.js";

/** @typedef {import("@windlass/sdk").Plugin} Plugin */
/** @typedef {{ failures: { step: number | null, message: string, log: string }[] }} Case */

/**
 * Runs every `*.yaml` in `folder` on clusters of their own. Each step is also run with each of its writes and HTTP
 * requests failing once: when it is then repeated, the cluster must be as if nothing had failed.
 * @param {Plugin} plugin
 * @param {string} folder
 * @param {(name: string, body: () => void) => void} test node:test's, or what is like it
 */
export function runFixtures(plugin, folder, test) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".yaml"));
  if (files.length === 0) throw new Error(`${folder}: there is no fixture`);
  for (const file of files.sort()) {
    test(file.replace(".yaml", "").replaceAll("-", " "), () =>
      runFixture(plugin, join(folder, file)),
    );
  }
}

/**
 * Runs one fixture file.
 * @param {Plugin} plugin
 * @param {string} path
 */
export function runFixture(plugin, path) {
  const process = begin(dirname(path));
  try {
    const fixtures = { plugin: described(plugin), files: [path] };
    /** @type {Case[]} */
    const [only] = answered(process, plugin, { fixtures }, new Told());
    const texts = (only?.failures ?? []).map(
      ({ step, message, log }) => `${path}${step ? `: step ${step}` : ""}: ${message}\n${log}`,
    );
    if (texts.length > 0) throw new Error(texts.join("\n"));
  } finally {
    process.close();
  }
}

/**
 * The cluster as it is before the first call of a fixture file, for the project of the file.
 * @param {string} path
 */
export function clusterGiven(path) {
  const cluster = new FakeCluster(dirname(path));
  cluster.given(path);
  return cluster;
}
