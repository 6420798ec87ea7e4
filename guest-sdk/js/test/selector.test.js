// Label selectors, by the list of cases that the other SDK, the host and its API server share.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Failure, LabelSelector } from "@windlass/sdk";

const shared = JSON.parse(
  readFileSync(new URL("../../testdata/label-selectors.json", import.meta.url), "utf8"),
);

/** That `action` throws a terminal failure. @param {() => unknown} action @param {string} what */
const refused = (action, what) =>
  assert.throws(
    action,
    (error) =>
      error instanceof Failure &&
      error.kind === "terminal" &&
      error.message.includes("is not a label selector: "),
    what,
  );

test("texts select as the API server does", () => {
  for (const [text, want] of [...shared.cases, ...shared.ofTheServer]) {
    const selector = LabelSelector.parse(text);
    assert.equal(selector.matches(shared.labels), want, text);
    // Its own text says the same.
    const again = LabelSelector.parse(String(selector));
    assert.equal(String(again), String(selector), text);
    assert.equal(again.matches(shared.labels), want, text);
  }
  for (const text of [...shared.refused, ...shared.refusedByTheServer]) {
    refused(() => LabelSelector.parse(text), text);
  }
  refused(() => LabelSelector.parse(`a=${"b".repeat(64)}`), "a long value");
  assert.equal(LabelSelector.parse("a!=b").matches(undefined), true);
  assert.equal(LabelSelector.parse("constructor").matches({}), false);
});

test("fields select as their text", () => {
  for (const [fields, text] of shared.fields) {
    assert.equal(String(LabelSelector.of(fields)), text);
  }
  for (const fields of shared.refusedFields) {
    refused(() => LabelSelector.of(fields), JSON.stringify(fields));
  }
});
