// What the build command makes, and what it says when it cannot.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const SDK = fileURLToPath(new URL("..", import.meta.url));

/**
 * Builds a project that has `source` in src/a.js, in a folder far from the SDK.
 * @param {string} source
 */
function built(source, name = "a", output = "a.wasm") {
  const folder = mkdtempSync(join(tmpdir(), "windlass-build-"));
  try {
    mkdirSync(join(folder, "src"));
    mkdirSync(join(folder, "node_modules/@windlass"), { recursive: true });
    symlinkSync(SDK, join(folder, "node_modules/@windlass/sdk"));
    const manifest = { name, version: "1.0.0", type: "module", main: "src/a.js" };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "src/a.js"), source);
    const tool = join(SDK, "build/windlass-build.js");
    const { status, stderr } = spawnSync(process.execPath, [tool, "-o", output], {
      cwd: folder,
      encoding: "utf8",
    });
    const component = status === 0 ? readFileSync(join(folder, output)) : undefined;
    return { status, stderr, component };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

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
  const { component: packed = Buffer.of() } = built(source, "a", "a.wasm.gz");
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
  assert.match(built("", "My_Plugin").stderr, /the name My_Plugin is not a DNS label/);
});
