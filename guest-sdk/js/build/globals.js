// What a plugin's modules name: the globals of the web, of which only those become part of its component, and the optional
// export.

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
  Promise: "promise",
};

/** The method of a controller that makes the export `going`. */
const GOING = /\breconcileGoing\b/;

/**
 * What the plugin needs whose main module is `source`: files of src/globals, sentences about the
 * globals that it names and cannot have, and whether it is called for objects that are being deleted. Modules in
 * `without`, the SDK's folder, are left out.
 * @param {string} source
 * @param {string} without
 */
export function globalsOf(source, without) {
  const { names, goes } = namesIn(source, without);
  const files = new Set(
    names.filter((name) => Object.hasOwn(FILES, name)).map((name) => FILES[name]),
  );
  const sentences = names.map((name) => [name, missing(name)]).filter(([, sentence]) => sentence);
  return {
    goes,
    files: /** @type {string[]} */ ([...files].sort()),
    missing: /** @type {Record<string, string>} */ (Object.fromEntries(sentences)),
  };
}

/** The globals that the modules name, sorted, and whether one names `reconcileGoing`. @param {string} source @param {string} without */
function namesIn(source, without) {
  /** @type {Set<string>} */
  const names = new Set();
  const seen = new Set([source]);
  let goes = false;
  for (const path of seen) {
    if (!/\.m?js$/.test(path) || realpathSync(path).startsWith(without + sep)) continue;
    const text = readFileSync(path, "utf8");
    goes ||= GOING.test(text);
    const { globals, imports, isAsync } = uses(text);
    for (const name of globals) names.add(name);
    if (isAsync) names.add("Promise");
    for (const specifier of imports) {
      const found = resolved(specifier, path);
      if (found !== undefined) seen.add(found);
    }
  }
  return { names: [...names].sort(), goes };
}
