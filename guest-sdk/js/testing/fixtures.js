// Fixture files: what is given, what is called, and what must come of it.
//
// They are the files of the Rust SDK and of the host's own tests; a file has one or more YAML
// documents, each a step on the cluster that the steps before it have left.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isScalar, parseAllDocuments } from "yaml";
import { millis } from "../src/answer.js";
import { controllers } from "../src/controller.js";
import { objectRef, title } from "../src/object.js";
import { FakeCluster } from "./fake-cluster.js";
import { asKubernetes } from "./yaml.js";

/** @typedef {import("@windlass/sdk").Plugin} Plugin */
/** @typedef {import("@windlass/sdk/testing").Step} Step */
/** @typedef {import("@windlass/sdk/testing").Pass} Pass */

/**
 * Runs every `*.yaml` in `folder` on clusters of their own. Each step is also run with each of its
 * writes failing once: when it is then repeated, the cluster must be as if nothing had failed.
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
  const cluster = new FakeCluster();
  loadFixture(path).forEach((step, at) => {
    try {
      prepare(cluster, step);
      const before = cluster.clone();
      const pass = call(plugin, step, cluster);
      check(step, pass);
      survivesFailures(plugin, step, before, cluster, pass.writes.length);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      throw new Error(`${path}: step ${at + 1}: ${message}`, { cause: error });
    }
  });
}

/**
 * The steps of a fixture file.
 * @param {string} path
 * @returns {Step[]}
 */
export function loadFixture(path) {
  const documents = parseAllDocuments(readFileSync(path, "utf8"), asKubernetes);
  return documents.map((document) => {
    const wrong = "errors" in document ? document.errors[0] : undefined;
    if (wrong) throw new Error(`${path}: ${wrong.message}`);
    const step = only("a step", document.toJS(), ["given", "when", "then", "keeps"]);
    keepTexts(document, step);
    return step;
  });
}

/**
 * What an answer says is text, also if it looks like something else: `terminal: no` is `"no"`.
 * @param {{ getIn(path: Iterable<unknown> | null, keepScalar?: boolean): unknown }} document
 * @param {Step} step
 */
function keepTexts(document, step) {
  const answer = step.then?.answer;
  if (typeof answer !== "object" || answer === null) return;
  for (const [field, value] of Object.entries(answer)) {
    if (typeof value === "string" || value === null) continue;
    const node = document.getIn(["then", "answer", field], true);
    if (isScalar(node)) Object.assign(answer, { [field]: node.source });
  }
}

/**
 * The cluster as it is before the first call of a fixture file.
 * @param {string} path
 */
export function clusterGiven(path) {
  const cluster = new FakeCluster();
  const [first] = loadFixture(path);
  if (first) prepare(cluster, first);
  return cluster;
}

/** Changes `cluster` to what is given before the step's call. @param {FakeCluster} cluster @param {Step} step */
function prepare(cluster, { given = {}, when }) {
  only("given", given, ["config", "objects", "edits", "removals"]);
  only("when", when, ["reconcile", "finalize", "clock", "attempt"]);
  if (given.config) cluster.config = given.config;
  if (when.clock) cluster.clock = when.clock;
  cluster.attempt = when.attempt ?? 0;
  for (const object of given.objects ?? []) cluster.put(object);
  for (const [name, patch] of Object.entries(given.edits ?? {})) cluster.edit(name, patch);
  for (const name of given.removals ?? []) cluster.remove(cluster.find(name));
}

/** @param {Plugin} plugin @param {Step} step @param {FakeCluster} cluster */
function call(plugin, { when }, cluster) {
  if (Boolean(when.reconcile) === Boolean(when.finalize)) {
    throw new Error("when: say either reconcile or finalize");
  }
  const [kind, ...name] = String(when.reconcile ?? when.finalize).split("/");
  const all = controllers(plugin);
  const one = all.find(({ watches }) => watches[1] === kind) ?? all[0];
  if (!one) throw new Error("the plugin has no controller");
  const [apiVersion] = one.watches;
  const namespace = name.length > 1 ? name[0] : undefined;
  const target = objectRef(apiVersion, String(kind), namespace, String(name.at(-1)));
  return cluster.pass(one, when.reconcile ? "reconcile" : "finalize", target);
}

/** Compares what came of a call with what must. @param {Step} step @param {Pass} pass */
function check({ when, then }, pass) {
  only("then", then, ["answer", "wakeAt", "writes", "status"]);
  const primary = when.reconcile ?? when.finalize;
  const ofStatus = (/** @type {Pass["writes"][number]} */ write) =>
    write.verb === "applyStatus" && write.target === primary;
  same("answer", pass.answer, expected(then.answer));
  const wakeAt = then.wakeAt && new Date(then.wakeAt).toISOString();
  same("wakeAt", pass.wakeAt, wakeAt);
  const statuses = pass.writes.filter(ofStatus).map((write) => write.object?.status);
  // Of several the last one stays.
  same("status", statuses.slice(-1), then.status === undefined ? [] : [then.status]);
  const writes = pass.writes.filter((write) => !ofStatus(write));
  const wanted = then.writes ?? [];
  const got = writes.map((write, at) => {
    const whole = typeof Object.values(wanted[at] ?? {})[0] === "object";
    return { [write.verb]: whole ? asGiven(write.object) : write.target };
  });
  same("writes", got, wanted);
}

/** An answer of a fixture, with its waits in milliseconds. @param {Step["then"]["answer"]} answer */
function expected(answer) {
  if (typeof answer === "string") return answer;
  if (answer.requeueAfter !== undefined) return { requeueAfter: millis(answer.requeueAfter) };
  if (answer.pending !== undefined) return { pending: millis(answer.pending) };
  return answer;
}

/** The host may add the UID, and the label of a set. @param {any} object */
function asGiven(object) {
  if (!object.metadata) return object;
  const { uid, labels, ...metadata } = object.metadata;
  const { "windlass.dev/set": set, ...others } = labels ?? {};
  if (labels && (set === undefined || Object.keys(others).length > 0)) metadata.labels = others;
  return { ...object, metadata };
}

/**
 * That from `before`, with each of `writes` failing once, a second call comes to `after`.
 * @param {Plugin} plugin
 * @param {Step} step
 * @param {FakeCluster} before
 * @param {FakeCluster} after
 * @param {number} writes
 */
function survivesFailures(plugin, step, before, after, writes) {
  for (let nth = 1; nth <= writes; nth += 1) {
    const cluster = before.clone();
    cluster.failWrite(nth, "unavailable");
    call(plugin, step, cluster);
    cluster.attempt += 1;
    call(plugin, step, cluster);
    const text = `after write ${nth} has failed once, another call does not repair it`;
    same(text, state(cluster), state(after));
  }
}

/** That both are equal; the error shows where they are not. @param {string} what @param {unknown} got @param {unknown} want */
function same(what, got, want) {
  try {
    assert.deepEqual(got, want);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Error(`${what}: ${message}`, { cause: error });
  }
}

/** All objects, without what the server counts. @param {FakeCluster} cluster */
function state(cluster) {
  return cluster.objects().map((object) => {
    const { resourceVersion, uid, generation, ...metadata } = object.metadata;
    return { ...object, metadata, of: title(object) };
  });
}

/**
 * `value`, if it has no other fields.
 * @template {object} T
 * @param {string} what
 * @param {T} value
 * @param {string[]} fields
 */
function only(what, value, fields) {
  const other = Object.keys(value).find((field) => !fields.includes(field));
  if (other) throw new Error(`${what} has no ${other}; it has ${fields.join(", ")}`);
  return value;
}
