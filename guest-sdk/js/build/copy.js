// A copy of a plugin's modules for the engine to read, of which some are rewritten.

import {
  mkdirSync,
  mkdtempSync,
  existsSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, sep } from "node:path";
import { withoutAsync } from "./promises.js";
import { resolved } from "./resolve.js";
import { uses } from "./uses.js";

/**
 * Calls `make` with the path of a folder that has the modules of `entries`, and those that they import, where `root` has
 * them. Modules outside of `sdk` have no async functions there.
 * @template T
 * @param {{ root: string, folder: string, sdk: string, entries: string[] }} from `folder` is the project's
 * @param {(root: string) => Promise<T>} make
 */
export async function withCopy({ root, folder, sdk, entries }, make) {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), "windlass-build-")));
  const write = (/** @type {string} */ path, /** @type {string} */ text) => {
    const target = join(copy, relative(root, path));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  };
  try {
    for (const path of modules(entries)) {
      const text = readFileSync(path, "utf8");
      const isSdk = realpathSync(path).startsWith(sdk + sep);
      write(path, isSdk ? text : withoutAsync(text, relative(folder, path)));
      for (const manifest of manifests(path, root)) write(manifest, readFileSync(manifest, "utf8"));
    }
    return await make(copy);
  } catch (error) {
    // The author knows the project's folder, and not the copy.
    const { message } = /** @type {Error} */ (error);
    throw new Error(message.replaceAll(copy, root.replace(/\/$/, "")), { cause: error });
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** The modules, and all that they import. @param {string[]} entries */
function modules(entries) {
  const seen = new Set(entries);
  for (const path of seen) {
    if (!/\.m?js$/.test(path)) continue;
    for (const specifier of uses(readFileSync(path, "utf8")).imports) {
      const found = resolved(specifier, path);
      if (found !== undefined) seen.add(found);
    }
  }
  return seen;
}

/** Each package.json above a file, up to `root`. @param {string} path @param {string} root */
function manifests(path, root) {
  const found = [];
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest)) found.push(manifest);
    if (folder === root || folder === dirname(folder)) return found;
  }
}
