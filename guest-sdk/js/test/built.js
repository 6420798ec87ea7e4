// Builds a project as an author does.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const SDK = fileURLToPath(new URL("..", import.meta.url));

/**
 * Builds a project that has `source` in src/a.js, in a folder far from the SDK, with these files
 * beside it.
 * @param {string} source
 * @param {{ name?: string, output?: string, files?: Record<string, string> }} [options]
 */
export function built(source, { name = "a", output = "a.wasm", files = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "windlass-build-"));
  try {
    mkdirSync(join(folder, "node_modules/@windlass"), { recursive: true });
    symlinkSync(SDK, join(folder, "node_modules/@windlass/sdk"));
    const manifest = { name, version: "1.0.0", type: "module", main: "src/a.js" };
    const all = { "package.json": JSON.stringify(manifest), "src/a.js": source, ...files };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
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
