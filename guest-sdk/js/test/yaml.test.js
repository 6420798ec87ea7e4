// Fixtures are read as Kubernetes reads YAML: the values are those of sigs.k8s.io/yaml.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { loadFixture } from "../testing/fixtures.js";
import { asKubernetes } from "../testing/yaml.js";

/** @type {[string, unknown][]} */
const SCALARS = [
  ["0400", 256],
  ["-0400", -256],
  ["0o644", 420],
  ["0O644", 420],
  ["0x1F", 31],
  ["-0X1f", -31],
  ["0b101", 5],
  ["0899", 899],
  ["00", 0],
  ["0", 0],
  ["-0", 0],
  ["1_000", 1000],
  ["04_00", 256],
  ["1__0", 10],
  ["1_000.5", 1000.5],
  ["0_8", 8],
  ["+1", 1],
  ["1.0", 1],
  ["1e3", 1000],
  [".5", 0.5],
  ["y", true],
  ["Yes", true],
  ["on", true],
  ["n", false],
  ["NO", false],
  ["off", false],
  ["~", null],
  ["", null],
  ["'0400'", "0400"],
  ['"yes"', "yes"],
  ["tRUE", "tRUE"],
  ["0o9", "0o9"],
  ["0x", "0x"],
  ["_1", "_1"],
  ["1:30", "1:30"],
  ["1.2.3", "1.2.3"],
  ["1e999", "1e999"],
  ["2026-11-21", "2026-11-21"],
  ["2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z"],
  [".", "."],
  ["-x", "-x"],
];

test("scalars are read as Kubernetes reads them", () => {
  for (const [text, want] of SCALARS) {
    assert.deepEqual(parse(`v: ${text}\n`, asKubernetes), { v: want }, text);
  }
});

test("keys are what JSON has for them", () => {
  const read = parse("{y: 1, 0400: 2, 'on': 3, <<: {a: 4}}", asKubernetes);
  assert.deepEqual(read, { true: 1, 256: 2, on: 3, a: 4 });
});

test("what an answer says is text", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "windlass-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a.yaml");
  const answers = [
    ["{ terminal: no }", { terminal: "no" }],
    ["{ transient: 0400 }", { transient: "0400" }],
    ["{ terminal: 'yes' }", { terminal: "yes" }],
    ["{ requeueAfter: 10s }", { requeueAfter: "10s" }],
    ["done", "done"],
  ];
  for (const [text, want] of answers) {
    writeFileSync(path, `when: { reconcile: A/b }\nthen: { answer: ${text}, status: { a: no } }\n`);
    const then = loadFixture(path)[0]?.then;
    assert.deepEqual(then, { answer: want, status: { a: false } });
  }
});
