// What QuickJS says of a plugin that does not load, for its author.

import { explained } from "./missing.js";

/**
 * Without the steps that led there, and with the project's files named as in it.
 * @param {string} message
 * @param {string[]} roots
 */
export function readable(message, roots) {
  const said = message.replace(/^[: ]*(Failed to [^:]+: )+(Error: )?/, "").trim();
  const named = roots
    .filter((root) => root !== "/")
    .reduce((text, root) => text.replaceAll(root, ""), said);
  return explained(named) + node(named) + absent(named);
}

/** What to do about a package that is not there. @param {string} said */
function absent(said) {
  const [, name] = /resolving module '([^']*)'/.exec(said) ?? [];
  // A path, a part of Node.js, or a package's own `#name` is in no registry.
  if (name === undefined || /^[./#]|^node:/.test(name) || BUILTIN.includes(name)) return "";
  return `\nrun \`npm install\` if package.json names the package of ${name}, or else add it with \`npm install PACKAGE\``;
}

/** What to do about a module of Node.js. @param {string} said */
function node(said) {
  const [, name] = /resolving module '([^']*)'/.exec(said) ?? [];
  if (name === undefined || !(name.startsWith("node:") || BUILTIN.includes(name))) return "";
  return `\n${name} is not available in a plugin: there is no Node.js, and there are no files`;
}

/** Those that plugins and their packages tried to import. */
const BUILTIN = [
  "assert",
  "buffer",
  "child_process",
  "crypto",
  "events",
  "fs",
  "fs/promises",
  "http",
  "https",
  "net",
  "os",
  "path",
  "process",
  "stream",
  "timers",
  "tls",
  "url",
  "util",
  "zlib",
];
