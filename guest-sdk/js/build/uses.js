// Which names a module takes from the global object, and which modules it imports.

import { parse } from "acorn";

/** @typedef {import("acorn").AnyNode} Node */

/**
 * Of a source that does not parse, nothing: the engine says what is wrong with it.
 *
 * A name that a module declares at its top level is its own. Deeper scopes are not looked at: a
 * local variable `crypto` counts as the global.
 * @param {string} source
 */
export function uses(source) {
  /** @type {Uses} */
  const found = {
    names: new Set(),
    own: new Set(),
    wanted: new Set(),
    imports: new Set(),
    isAsync: false,
  };
  let program;
  try {
    program = parse(source, { ecmaVersion: "latest", sourceType: "module", allowHashBang: true });
  } catch {
    return { globals: new Set(), imports: new Set(), isAsync: false };
  }
  for (const node of program.body) declare(node, found.own);
  walk(program, found);
  const globals = new Set([...found.names].filter((name) => !found.own.has(name)));
  for (const name of found.wanted) globals.add(name);
  return { globals, imports: found.imports, isAsync: found.isAsync };
}

/**
 * @typedef {object} Uses
 * @property {Set<string>} names that are read or called
 * @property {Set<string>} own names of the module's top level
 * @property {Set<string>} wanted names that are asked of `globalThis`
 * @property {Set<string>} imports specifiers
 * @property {boolean} isAsync whether there is an async function, `await` or `import()`
 */

/** Adds what `node`, a statement of the top level, declares. @param {Node} node @param {Set<string>} own */
function declare(node, own) {
  if (node.type === "ExportNamedDeclaration" && node.declaration) declare(node.declaration, own);
  if (node.type === "ImportDeclaration") {
    for (const { local } of node.specifiers) own.add(local.name);
  }
  if (node.type === "FunctionDeclaration" || node.type === "ClassDeclaration") {
    if (node.id) own.add(node.id.name);
  }
  if (node.type === "VariableDeclaration") {
    for (const { id } of node.declarations) bind(id, own);
  }
}

/** Adds the names of a pattern. @param {Node} pattern @param {Set<string>} own */
function bind(pattern, own) {
  if (pattern.type === "Identifier") own.add(pattern.name);
  if (pattern.type === "AssignmentPattern") bind(pattern.left, own);
  if (pattern.type === "RestElement") bind(pattern.argument, own);
  if (pattern.type === "ArrayPattern") {
    for (const element of pattern.elements) if (element) bind(element, own);
  }
  if (pattern.type === "ObjectPattern") {
    for (const part of pattern.properties) bind(part.type === "Property" ? part.value : part, own);
  }
}

/** @param {Node} node @param {Uses} found */
function walk(node, found) {
  if (node.type === "Identifier") found.names.add(node.name);
  found.isAsync ||= makesPromise(node);
  for (const text of imported(node)) found.imports.add(text);
  for (const name of asked(node)) found.wanted.add(name);
  const skipped = notRead(node);
  for (const [key, part] of Object.entries(node)) {
    if (skipped.includes(key)) continue;
    for (const child of Array.isArray(part) ? part : [part]) {
      if (typeof child?.type === "string") walk(child, found);
    }
  }
}

/** The parts of a node that are names of something else than a variable. @param {Node} node */
function notRead(node) {
  switch (node.type) {
    case "MemberExpression":
      return node.computed ? [] : ["property"];
    case "Property":
    case "MethodDefinition":
    case "PropertyDefinition":
      return node.computed ? [] : ["key"];
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
      return ["label"];
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "MetaProperty":
      return Object.keys(node);
    case "ExportNamedDeclaration":
      return node.source ? ["specifiers"] : [];
    case "ExportSpecifier":
      return ["exported"];
    default:
      return [];
  }
}

/** Whether a node makes or waits for a promise, without naming it. @param {Node} node */
function makesPromise(node) {
  return (
    node.type === "AwaitExpression" ||
    node.type === "ImportExpression" ||
    (node.type === "ForOfStatement" && node.await) ||
    ("async" in node && node.async === true)
  );
}

/** What a node imports. @param {Node} node @returns {string[]} */
function imported(node) {
  const from = "source" in node ? node.source : undefined;
  return from?.type === "Literal" && typeof from.value === "string" ? [from.value] : [];
}

/** What a node asks of `globalThis` by name. @param {Node} node @returns {string[]} */
function asked(node) {
  if (node.type === "MemberExpression" && isGlobal(node.object)) {
    const { property } = node;
    if (!node.computed && property.type === "Identifier") return [property.name];
    if (property.type === "Literal" && typeof property.value === "string") return [property.value];
  }
  if (node.type === "VariableDeclarator" && node.id.type === "ObjectPattern") {
    if (!node.init || !isGlobal(node.init)) return [];
    return node.id.properties.flatMap((part) =>
      part.type === "Property" && part.key.type === "Identifier" ? [part.key.name] : [],
    );
  }
  return [];
}

/** @param {Node} node */
const isGlobal = (node) => node.type === "Identifier" && node.name === "globalThis";
