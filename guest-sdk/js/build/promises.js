// Rewrites async code into generators: the engine runs no job of a promise in a call (src/web/promise.js does).
//
// Each line stays where it is, so that stack traces show the author's lines.

import { parse } from "acorn";

/** @typedef {import("acorn").AnyNode} Node */

/**
 * `source` without async functions and `await`. A source that does not parse stays as it is: the engine says what is
 * wrong with it.
 * @param {string} source
 * @param {string} name of the file, for messages
 */
export function withoutAsync(source, name) {
  let program;
  try {
    program = parse(source, {
      ecmaVersion: "latest",
      sourceType: "module",
      allowHashBang: true,
      locations: true,
    });
  } catch {
    return source;
  }
  return new Rewriter(source, name).text(program, TOP);
}

/**
 * Where a node stands: whether in an async function, and what `arguments` and `super` are there.
 * @typedef {{ isAsync: boolean, args: boolean, super: boolean }} Scope
 */

/** @type {Scope} */
const TOP = { isAsync: false, args: false, super: false };
const ARGS = "__windlassArgs";
const OUTER = "__windlassOuter";
const SUPER = "__windlassSuper";
const GETTER = "(key) => super[key]";

class Rewriter {
  /** @param {string} source @param {string} name */
  constructor(source, name) {
    this.source = source;
    this.name = name;
  }

  /** The new text of a node. @param {Node} node @param {Scope} scope @returns {string} */
  text(node, scope) {
    switch (node.type) {
      case "FunctionDeclaration":
      case "FunctionExpression":
        return node.async ? this.func(node, this.header(node)) : this.plain(node, TOP);
      case "ArrowFunctionExpression":
        return node.async
          ? this.arrow(node, scope)
          : this.plain(node, { ...scope, isAsync: false });
      case "MethodDefinition":
      case "Property":
        return this.method(node, scope);
      case "PropertyDefinition":
      case "StaticBlock":
        return this.plain(node, TOP);
      case "AwaitExpression":
        return this.awaited(node, scope);
      case "ForOfStatement":
        return node.await ? this.none("for await", node) : this.plain(node, scope);
      case "ImportExpression":
        return `__windlassAsync(function* () ${this.none("import()", node)}, undefined, [], ${this.at(node)})`;
      case "Identifier":
        return scope.args && node.name === "arguments" ? OUTER : this.plain(node, scope);
      case "CallExpression":
      case "MemberExpression":
        return scope.super ? this.ofSuper(node, scope) : this.plain(node, scope);
      default:
        return this.plain(node, scope);
    }
  }

  /** The text of a node, of which only its parts are new. @param {Node} node @param {Scope} scope */
  plain(node, scope) {
    return this.between(node.start, node.end, children(node), scope);
  }

  /** @param {number} start @param {number} end @param {Node[]} nodes @param {Scope} scope */
  between(start, end, nodes, scope) {
    let text = "";
    let at = start;
    for (const node of nodes) {
      // A shorthand property has the same node twice.
      if (node.start < at || node.end > end) continue;
      text += this.source.slice(at, node.start) + this.text(node, scope);
      at = node.end;
    }
    return text + this.source.slice(at, end);
  }

  /** `function name`, or nothing for a method. @param {any} node */
  header(node) {
    return this.source
      .slice(node.start, this.opening(node))
      .replace(/^async\b/, "")
      .replace("*", "");
  }

  /** Where the parameters of a function begin, with their parenthesis. @param {any} node */
  opening(node) {
    return this.source.indexOf("(", node.id?.end ?? node.start);
  }

  /** A function or a method. @param {any} node @param {string} header */
  func(node, header) {
    if (node.generator) return `${header}() ${this.none("an async generator", node)}`;
    const scope = { isAsync: true, args: false, super: used(node.body).has("super") };
    const inner = `function* ${this.between(this.opening(node), node.end, [...node.params, node.body], scope)}`;
    const saved = scope.super ? `const ${SUPER} = ${GETTER}; ` : "";
    return `${header}(...${ARGS}) { ${saved}return __windlassAsync(${inner}, this, ${ARGS}, ${this.at(node)}); }`;
  }

  /** @param {any} node @param {Scope} outer */
  arrow(node, outer) {
    const { start, end, params, body } = node;
    const sign = this.source.lastIndexOf("=>", body.start);
    const uses = used(node);
    const own = { isAsync: true, args: uses.has("arguments"), super: uses.has("super") };
    // A generator has its own `arguments`, and no `super`: it gets those of the arrow function as its first parameters.
    const more = [
      ...(own.args ? [[OUTER, outer.args ? OUTER : "arguments"]] : []),
      ...(own.super ? [[SUPER, outer.super ? SUPER : GETTER]] : []),
    ];
    const given = this.between(start, sign, params, own)
      .replace(/^async\b/, "")
      .trim();
    const list = given.startsWith("(") ? given : `(${given})`;
    const names = list.replace("(", `(${more.map(([name]) => `${name}, `).join("")}`);
    const code = this.between(sign + 2, end, [body], own);
    const inner = body.type === "BlockStatement" ? code : `{ return (${code}); }`;
    const args = `[${more.map(([, value]) => `${value}, `).join("")}...${ARGS}]`;
    return `(...${ARGS}) => __windlassAsync(function* ${names} ${inner}, this, ${args}, ${this.at(node)})`;
  }

  /** A method, or a property. @param {any} node @param {Scope} scope */
  method(node, scope) {
    const { key, value } = node;
    const isMethod = node.type === "MethodDefinition" || node.method;
    if (!isMethod || !value.async) return this.plain(node, scope);
    // The words before the name, without `async` and `*`.
    const words = this.source
      .slice(node.start, key.start)
      .replace(/\basync\b/, "")
      .replace("*", "");
    const name = this.text(key, scope) + this.source.slice(key.end, value.start);
    return words + name + this.func(value, "");
  }

  /** @param {any} node @param {Scope} scope */
  awaited(node, scope) {
    const { argument, start, end } = node;
    const given = `(${this.source.slice(start + "await".length, argument.start)}${this.between(argument.start, end, [argument], scope)})`;
    return scope.isAsync
      ? `__windlassAwait(yield ${given})`
      : `__windlassTop(${given}, ${this.at(node)})`;
  }

  /** `super.name`, in a function that is not a method any more. @param {any} node @param {Scope} scope */
  ofSuper(node, scope) {
    const callee = node.type === "CallExpression" ? node.callee : node;
    if (callee.object?.type !== "Super") return this.plain(node, scope);
    const { property, computed } = callee;
    const key = computed ? this.text(property, scope) : JSON.stringify(property.name);
    const member = `${SUPER}(${this.lines({ start: callee.start, end: property.start })}${key})`;
    if (callee === node) return member;
    const rest = this.between(callee.end, node.end, node.arguments, scope);
    return `${member}.call${rest.replace("(", node.arguments.length ? "(this, " : "(this")}`;
  }

  /** A block that throws, in place of something that cannot be had. @param {string} what @param {any} node */
  none(what, node) {
    return `{ throw ${this.error(what, node)}; ${this.lines(node)}}`;
  }

  /** @param {string} what @param {any} node */
  error(what, node) {
    return `__windlassNone(${JSON.stringify(what)}, ${this.at(node)})`;
  }

  /** As many ends of lines as the node has. @param {{ start: number, end: number }} node */
  lines({ start, end }) {
    return "\n".repeat(this.source.slice(start, end).split("\n").length - 1);
  }

  /** The place of a node, as a literal. @param {any} node */
  at(node) {
    return JSON.stringify(`${this.name}:${node.loc.start.line}`);
  }
}

/** The nodes in a node, in the order of the source. @param {any} node @returns {any[]} */
function children(node) {
  return Object.values(node)
    .flat()
    .filter((part) => typeof part?.type === "string" && typeof part.start === "number")
    .sort((one, other) => one.start - other.start);
}

/** Which of `arguments` and `super` the code of a function uses, its arrow functions included. @param {any} node */
function used(node) {
  /** @type {Set<string>} */
  const found = new Set();
  const look = (/** @type {any} */ one) => {
    if (one.type === "Super") found.add("super");
    if (one.type === "Identifier" && one.name === "arguments") found.add("arguments");
    for (const part of children(one)) {
      const own = ["FunctionDeclaration", "FunctionExpression", "ClassBody"].includes(part.type);
      if (!own) look(part);
    }
  };
  look(node);
  return found;
}
