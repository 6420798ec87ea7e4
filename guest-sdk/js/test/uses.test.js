// Which globals a plugin uses, as the build finds them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { globalsOf } from "../build/globals.js";
import { uses } from "../build/uses.js";
import { SDK } from "./built.js";

test("a name counts where it is read from the global object", () => {
  const cases = /** @type {[source: string, uses: boolean][]} */ ([
    ["new URL(x)", true],
    ["typeof URL", true],
    ["f(URL)", true],
    ["const a = { URL }", true],
    ["const a = { [URL]: 1 }", true],
    ["class A extends URL {}", true],
    ["globalThis.URL", true],
    ['globalThis["URL"]', true],
    ["const { URL } = globalThis", true],
    ["const { URL: Mine } = globalThis", true],
    ["function f(x = URL) {}", true],
    ["`${URL}`", true],
    ["a?.b(URL)", true],
    ["// URL", false],
    ['"URL"', false],
    ["/URL/", false],
    ["`URL`", false],
    ["a.URL", false],
    ["a?.URL", false],
    ["const a = { URL: 1 }", false],
    ["class A { URL() {} static URL = 1 }", false],
    ["URL: for (;;) break URL", false],
    ['import { URL } from "x"; new URL(y)', false],
    ['import * as URL from "x"; URL.a', false],
    ['import { a as URL } from "x"; URL', false],
    ['import { URL as a } from "x"; a', false],
    ['export { URL } from "x"', false],
    ['export * as URL from "x"', false],
    ["const a = 1; export { a as URL }", false],
    ["class URL {} new URL()", false],
    ["export function URL() {} URL()", false],
    ["const { a: URL = 1, ...b } = c; URL", false],
    ["const [, [URL]] = c; URL", false],
    // The engine says what is wrong.
    ["URL = = 1", false],
  ]);
  for (const [source, want] of cases) assert.equal(uses(source).globals.has("URL"), want, source);
});

test("imports are found in every form", () => {
  const source = `
    import "./a.js"; import b from "b"; export * from "./c.js"; export { d } from "d/e";
    const f = await import("./f.js"); await import(name);
  `;
  assert.deepEqual([...uses(source).imports].sort(), ["./a.js", "./c.js", "./f.js", "b", "d/e"]);
});

/** What a project of these files needs. @param {Record<string, string>} files */
function needed(files) {
  const folder = mkdtempSync(join(tmpdir(), "windlass-uses-"));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return globalsOf(join(folder, "src/a.js"), SDK.replace(/\/$/, ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("all modules that a plugin reaches are looked at, as the engine finds them", () => {
  const pack = (/** @type {object} */ manifest) => JSON.stringify(manifest);
  const { files, missing, goes } = needed({
    "src/a.js": `
      import "./b"; import "./folder"; import "one"; import "@two/two/sub"; import "three"; import "#inner";
      import "four/deep/x.js"; import "absent"; import data from "./data.json";
    `,
    "src/b.mjs": "new URL(x); export * from './a.js'",
    "src/folder/index.js": "process.env",
    "src/data.json": "{}",
    "src/unused.js": "fetch()",
    "package.json": pack({ imports: { "#inner": "./src/inner.js" } }),
    "src/inner.js": "setTimeout(f); export const of = { reconcileGoing() {} };",
    "node_modules/one/package.json": pack({
      exports: { ".": { node: "./node.js", import: { default: "./import.js" } } },
    }),
    "node_modules/one/node.js": "fetch()",
    "node_modules/one/import.js": "new TextEncoder()",
    "node_modules/@two/two/package.json": pack({ exports: { "./*": ["./lib/*.js"] } }),
    "node_modules/@two/two/lib/sub.js": "structuredClone(a)",
    "node_modules/three/package.json": pack({ main: "main.js", module: "module" }),
    "node_modules/three/main.js": "fetch()",
    "node_modules/three/module.js": "crypto.randomUUID()",
    "node_modules/four/deep/x.js": "new Headers()",
  });
  assert.deepEqual(files, ["crypto", "headers", "structured-clone", "text-encoder", "url"]);
  assert.deepEqual(Object.keys(missing), ["process", "setTimeout"]);
  assert.equal(goes, true);
  assert.equal(needed({ "src/a.js": "reconcileGoingOn()" }).goes, false);
  assert.match(
    missing.setTimeout ?? "",
    /^setTimeout is not available in a plugin: .*requeueAfter/,
  );
});
