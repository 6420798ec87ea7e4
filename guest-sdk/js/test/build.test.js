// What the build command makes, and what it says when it cannot.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { built } from "./built.js";

test("a plugin becomes a component", () => {
  const source = `
    import { controller } from "@windlass/sdk";
    export const plugin = controller({ watches: ["x.dev/v1", "X"], reconcile() {} });
  `;
  const { component, stderr } = built(source);
  assert.equal(stderr, "");
  // Magic, then version and layer of a component.
  assert.deepEqual([...(component ?? []).slice(0, 8)], [0, 97, 115, 109, 13, 0, 1, 0]);
  // The same, packed: as much as fits into a ConfigMap.
  const { component: packed = Buffer.of() } = built(source, { output: "a.wasm.gz" });
  assert.deepEqual([...gunzipSync(packed).slice(0, 8)], [0, 97, 115, 109, 13, 0, 1, 0]);
  assert.ok(packed.length < 1 << 20, `${packed.length} bytes`);
});

test("what is wrong is said with the author's file and line", () => {
  const wrong = `
    import { controller } from "@windlass/sdk";
    export const plugin = controller({ watches: ["x.dev/v1", "X"], need: [], reconcile() {} });
  `;
  const cases = /** @type {const} */ ([
    ["let x = = 3;", /unexpected token in expression: '='\n {4}at src\/a\.js:1:9/],
    ["export const p = 1;", /Could not find export 'plugin' in module 'src\/a\.js'/],
    ['import "node:fs"; export const plugin = 1;', /resolving module 'node:fs' from 'src\/a\.js'/],
    [wrong, /controller: there is no need; .*\n.*\n {4}at <anonymous> \(src\/a\.js:3:/],
  ]);
  for (const [source, says] of cases) {
    const { status, stderr } = built(source);
    assert.equal(status, 1);
    assert.match(stderr, says);
  }
  assert.match(built("", { name: "My_Plugin" }).stderr, /the name My_Plugin is not a DNS label/);
});

/** A plugin that reconciles with this code. @param {string} code */
const plugin = (code) => `
  import { controller } from "@windlass/sdk";
  export const plugin = controller({ watches: ["x.dev/v1", "X"], reconcile() { ${code} } });
`;

test("a component has the globals that its plugin uses, and no others", () => {
  const size = (/** @type {string} */ code) => {
    const { component, stderr } = built(plugin(code));
    assert.equal(stderr, "");
    return { length: component?.length ?? 0, text: component?.toString("latin1") ?? "" };
  };
  const none = size("/* new URL(), crypto, fetch() */");
  const url = size("new URL()");
  const headers = size("new Headers()");
  const crypto = size("crypto.randomUUID()");
  const all = size("new Request(structuredClone(crypto, Response, fetch, new TextDecoder()))");
  for (const [{ length }, most] of /** @type {const} */ ([
    [url, 450_000],
    [headers, 60_000],
    [crypto, 30_000],
    [all, 600_000],
  ])) {
    const more = length - none.length;
    assert.ok(more > 0 && more < most, `${more} bytes`);
  }
  // In a component, the name of an import is text.
  const random = "wasi:random/random@";
  assert.ok(!none.text.includes(random) && !url.text.includes(random));
  assert.ok(crypto.text.includes(random) && all.text.includes(random));
});

test("a missing global is explained, also while modules are loaded", () => {
  const cases = /** @type {const} */ ([
    ["process.env.A", /: process is not available in a plugin: .*\n {4}at .*src\/a\.js:1:/],
    [
      "setTimeout(() => {}, 1)",
      /setTimeout is not available in a plugin: .* requeueAfter\("30s"\)/,
    ],
    ["fetch('https://a.b')", /fetch is not available in a plugin: /],
    ["crypto.randomUUID()", /crypto works in a call only, not while modules are loaded/],
    ["typo()", /typo is not defined/],
    ['import "node:fs"', /resolving module 'node:fs'.*\n.*node:fs is not available in a plugin/s],
    ['import "croner"', /resolving module 'croner'.*\nrun `npm install` if package.json names/s],
    ["throw new Error(typeof process + typeof setTimeout)", /undefinedundefined/],
  ]);
  for (const [source, says] of cases) {
    const { stderr } = built(`${source}; export const plugin = 1;`);
    assert.match(stderr, says);
  }
});
