#!/usr/bin/env node
// Makes a JavaScript plugin into a component: windlass-build src/greeter.js -o greeter.wasm

import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, parse, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { componentize } from "componentize-qjs";
import { globalsOf } from "./globals.js";
import { withCopy } from "./copy.js";
import { resolved } from "./resolve.js";
import { readable } from "./said.js";
import { withRandom } from "./world.js";

const USAGE = `usage: windlass-build [SOURCE.js] -o COMPONENT.wasm

The source exports the plugin: export const plugin = controller({ ... }). Without a source, it is the
"main" of ./package.json. The plugin's name and version are those of the nearest package.json. A component
whose name ends in .gz is gzipped: a third of the size, for a ConfigMap.`;
const SDK = realpathSync(fileURLToPath(new URL("..", import.meta.url)));
const WIT = fileURLToPath(new URL("../../../wit", import.meta.url));

/** The nearest folder above `path` that has a package.json. @param {string} path */
function project(path) {
  for (let folder = dirname(path); folder !== parse(folder).root; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  throw new Error(`${path}: there is no package.json beside or above it`);
}

/** The deepest folder that holds both. @param {string} one @param {string} other */
function common(one, other) {
  let folder = one;
  while (relative(folder, other).startsWith("..")) folder = dirname(folder);
  return folder;
}

/** The name that the plugin proposes: the package's, without its scope. @param {string} name */
function label(name) {
  const label = name.replace(/^@[^/]*\//, "");
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label)) return label;
  throw new Error(`package.json: the name ${name} is not a DNS label: use a-z, 0-9 and -`);
}

/**
 * QuickJS reads the modules itself, each under its own name, while the component is made: nothing is
 * bundled, so that traces show the author's files and lines.
 * @param {string} source
 */
async function component(source) {
  const folder = project(source);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const moduleRoot = common(folder, SDK);
  const root = `/${relative(moduleRoot, folder).split(sep).join("/")}/`.replace("//", "/");
  const { files, missing, goes } = globalsOf(source, SDK);
  const world = goes ? "plugin-going" : "plugin";
  const about = { name: label(manifest.name), version: manifest.version ?? "0.0.0", root, missing };
  const make = (/** @type {string} */ root) => (/** @type {string} */ witPath) =>
    componentize({
      witPath,
      world,
      jsSource: entry(folder, source, about, { globals: files, goes }),
      // The entry has no file; it needs a name that no other module has.
      jsPath: join(root, relative(moduleRoot, folder), "package.json"),
      moduleRoot: root,
      sync: true,
    });
  const made = (/** @type {string} */ root) =>
    files.includes("crypto") ? withRandom(WIT, world, make(root)) : make(root)(WIT);
  try {
    if (!files.includes("promise")) return (await made(moduleRoot)).component;
    const component = resolved("@windlass/sdk/component", join(folder, "package.json")) ?? "";
    const entries = [source, component, ...files.map(globalFile)];
    return (await withCopy({ root: moduleRoot, folder, sdk: SDK, entries }, made)).component;
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Error(readable(message, [join(moduleRoot, root), root]), { cause: error });
  }
}

/**
 * The module that componentize-qjs begins with. Modules are loaded in this order, and the globals of
 * the web come first.
 * @param {string} folder
 * @param {string} source
 * @param {object} about
 * @param {{ globals: string[], goes: boolean }} uses files of src/globals, and whether there is an export `going`
 */
function entry(folder, source, about, { globals, goes }) {
  const from = (/** @type {string} */ path) => {
    return JSON.stringify(`./${relative(folder, path).split(sep).join("/")}`);
  };
  // By their own path: what they import lies beside the SDK, which may be behind a link. So nothing that
  // a plugin imports by the SDK's name may import src/web: there would be two of each class.
  const file = (/** @type {string} */ name) => from(globalFile(name));
  const random = globals.includes("crypto");
  const promises = globals.includes("promise");
  return [
    ...globals.map((name) => `import ${file(name)};`),
    ...(random ? [`import { loaded } from ${file("crypto")};`] : []),
    ...(promises ? [`import { settled } from ${file("promise")};`] : []),
    'import { component } from "@windlass/sdk/component";',
    `import { plugin } from ${from(source)};`,
    `export const controller = component(plugin, ${JSON.stringify(about)}${promises ? ", settled" : ""});`,
    ...(goes ? ["export const going = controller;"] : []),
    ...(random ? ["loaded();"] : []),
  ].join("\n");
}

/** A file of src/globals. @param {string} name */
const globalFile = (name) => join(SDK, "src/globals", `${name}.js`);

/** The file that a package.json names as its main one. @param {string} path */
function main(path) {
  const { main } = JSON.parse(readFileSync(path, "utf8"));
  if (typeof main === "string") return main;
  throw new Error(`${path} has no "main": name the source, or put it there`);
}

async function run() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { output: { type: "string", short: "o" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) return console.log(USAGE);
  if (positionals.length > 1 || !values.output) throw new Error(USAGE);
  const bytes = await component(realpathSync(resolve(positionals[0] ?? main("package.json"))));
  const output = resolve(values.output);
  mkdirSync(dirname(output), { recursive: true });
  // A reader of the file sees the old one or the new one.
  writeFileSync(`${output}.${process.pid}`, output.endsWith(".gz") ? gzipSync(bytes) : bytes);
  renameSync(`${output}.${process.pid}`, output);
}

try {
  await run();
} catch (error) {
  console.error(`windlass-build: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 1;
}
