// Where an import leads, as componentize-qjs finds it.

import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

const CONDITIONS = ["import", "default"];

/**
 * The file that `specifier` names in the file `from`; nothing if there is none. Links are not
 * followed: the engine does not follow them either.
 * @param {string} specifier
 * @param {string} from
 * @returns {string | undefined}
 */
export function resolved(specifier, from) {
  if (/^\.{0,2}\//.test(specifier)) return file(resolve(dirname(from), specifier));
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  if (name === undefined || rest === undefined) return undefined;
  if (name.startsWith("#")) return inner(specifier, from);
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(found)) return inPackage(found, rest);
    if (folder === dirname(folder)) return undefined;
  }
}

/** @param {string} folder of a package @param {string} rest what the specifier has after its name */
function inPackage(folder, rest) {
  const { exports } = manifest(folder);
  if (exports === undefined || exports === null) return file(join(folder, rest));
  const target = exported(exports, `.${rest}`);
  return target === undefined ? undefined : file(join(folder, target));
}

/** What a package names for itself: `#config`. @param {string} specifier @param {string} from */
function inner(specifier, from) {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) {
      const target = exported(manifest(folder).imports ?? {}, specifier);
      if (target === undefined) return undefined;
      return target.startsWith(".")
        ? file(join(folder, target))
        : resolved(target, join(folder, "x"));
    }
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * What `exports` or `imports` of a package say of `key`.
 * @param {any} table
 * @param {string} key
 * @returns {string | undefined}
 */
function exported(table, key) {
  const plain =
    typeof table !== "object" ||
    Array.isArray(table) ||
    !/^[.#]/.test(Object.keys(table)[0] ?? ".");
  if (plain) return key === "." ? chosen(table) : undefined;
  if (Object.hasOwn(table, key)) return chosen(table[key]);
  // The longest prefix wins.
  const patterns = Object.keys(table).filter((pattern) => pattern.includes("*"));
  for (const pattern of patterns.sort((one, other) => other.length - one.length)) {
    const [start = "", end = ""] = pattern.split("*");
    if (key.length < pattern.length || !key.startsWith(start) || !key.endsWith(end)) continue;
    const star = key.slice(start.length, key.length - end.length);
    return chosen(table[pattern])?.replaceAll("*", star);
  }
  return undefined;
}

/** The first target whose condition holds. @param {any} target @returns {string | undefined} */
function chosen(target) {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map(chosen).find((one) => one !== undefined);
  for (const [condition, next] of Object.entries(target ?? {})) {
    const found = CONDITIONS.includes(condition) ? chosen(next) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param {string} path @returns {string | undefined} */
function file(path) {
  for (const end of ["", ".mjs", ".js"]) {
    if (statSync(path + end, { throwIfNoEntry: false })?.isFile()) return path + end;
  }
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  const { module, main } = manifest(path);
  for (const entry of [module, main, "index"]) {
    const found = typeof entry === "string" ? file(join(path, entry)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @param {string} folder */
function manifest(folder) {
  const path = join(folder, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}
