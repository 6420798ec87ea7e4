// What a call says of a global that is not there.

import assert from "node:assert/strict";
import { test } from "node:test";
import { missing } from "../build/missing.js";
import { run } from "../src/run.js";

/** How a call fails that does this. @param {() => void} reconcile @param {Record<string, string>} [sentences] */
function failure(reconcile, sentences) {
  const imports = /** @type {any} */ ({ log() {}, config: () => ({}) });
  try {
    run(/** @type {any} */ ({ reconcile }), "reconcile", {}, imports, {
      root: "/nowhere/",
      missing: sentences,
    });
  } catch (error) {
    return error;
  }
  return undefined;
}

test("a call that misses a global says what to use instead", () => {
  const sentences = { windlassGlobal: "windlassGlobal is not available in a plugin: use another" };
  const reconcile = () => (0, eval)("windlassGlobal()");
  const val = `ReferenceError: ${sentences.windlassGlobal}`;
  assert.deepEqual(failure(reconcile, sentences), { tag: "transient", val });
  const plain = { tag: "transient", val: "ReferenceError: windlassGlobal is not defined" };
  assert.deepEqual(failure(reconcile), plain);
  assert.deepEqual(failure(reconcile, {}), plain);
  const other = () => {
    throw new Error("windlassGlobal is not defined");
  };
  assert.deepEqual(failure(other, sentences), {
    tag: "transient",
    val: "Error: windlassGlobal is not defined",
  });
});

test("a sentence names the global, and only those that a plugin cannot have get one", () => {
  for (const name of ["setTimeout", "setInterval", "process", "require", "Buffer", "WebSocket"]) {
    assert.match(missing(name) ?? "", new RegExp(`^${name} is not available in a plugin: .`));
  }
  for (const name of ["URL", "lgo", "toString", "__proto__"])
    assert.equal(missing(name), undefined);
});
