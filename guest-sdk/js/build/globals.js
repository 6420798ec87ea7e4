// The globals of the web that a plugin uses: only those become part of its component.

import { readFileSync, realpathSync } from "node:fs";
import { sep } from "node:path";
import { missing } from "./missing.js";
import { resolved } from "./resolve.js";
import { uses } from "./uses.js";

/** The file in src/globals that provides each. @type {Record<string, string>} */
const FILES = {
  URL: "url",
  URLSearchParams: "url",
  TextEncoder: "text-encoder",
  TextDecoder: "text-decoder",
  Headers: "headers",
  Request: "request",
  Response: "response",
  structuredClone: "structured-clone",
  crypto: "crypto",
  fetch: "fetch",
};

/**
 * What the plugin needs whose main module is `source`: files of src/globals, and sentences about the
 * globals that it names and cannot have. Modules in `without`, the SDK's folder, are left out.
 * @param {string} source
 * @param {string} without
 */
export function globalsOf(source, without) {
  const names = namesIn(source, without);
  const files = new Set(
    names.filter((name) => Object.hasOwn(FILES, name)).map((name) => FILES[name]),
  );
  const sentences = names.map((name) => [name, missing(name)]).filter(([, sentence]) => sentence);
  return {
    files: /** @type {string[]} */ ([...files].sort()),
    missing: /** @type {Record<string, string>} */ (Object.fromEntries(sentences)),
  };
}

/** The globals that the modules name, sorted. @param {string} source @param {string} without */
function namesIn(source, without) {
  /** @type {Set<string>} */
  const names = new Set();
  const seen = new Set([source]);
  for (const path of seen) {
    if (!/\.m?js$/.test(path) || realpathSync(path).startsWith(without + sep)) continue;
    const { globals, imports } = uses(readFileSync(path, "utf8"));
    for (const name of globals) names.add(name);
    for (const specifier of imports) {
      const found = resolved(specifier, path);
      if (found !== undefined) seen.add(found);
    }
  }
  return [...names].sort();
}
