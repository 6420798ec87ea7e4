// `structuredClone`, as the HTML Standard has it, for what QuickJS can hold.

import { isError, kindOf, named } from "./brand.js";

/** @typedef {Map<object, object>} Memory what was cloned already, and its clone */

const PLAIN = { writable: true, enumerable: true, configurable: true };
const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

/**
 * A deep copy of `value`. Buffers in `transfer` move into the copy and are empty afterwards.
 * @template T
 * @param {T} value
 * @param {{ transfer?: ArrayBuffer[] }} [options]
 * @returns {T}
 */
export function structuredClone(value, options = {}) {
  if (arguments.length === 0) throw new TypeError("structuredClone: there is no value");
  const transfer = [...(options?.transfer ?? [])];
  for (const [at, buffer] of transfer.entries()) {
    if (Object(buffer) !== buffer) throw new TypeError("structuredClone: transfer has no object");
    if (!(buffer instanceof ArrayBuffer)) refuse(buffer, "cannot be transferred");
    if (transfer.indexOf(buffer) !== at) refuse(buffer, "is transferred twice");
  }
  /** @type {Memory} */
  const memory = new Map();
  const copy = clone(value, memory);
  for (const buffer of transfer) detach(buffer);
  return /** @type {T} */ (copy);
}

/** @param {ArrayBuffer} buffer */
function detach(buffer) {
  if (!buffer.transfer) refuse(buffer, "cannot be transferred by this engine");
  buffer.transfer();
}

/** @param {unknown} value @param {Memory} memory @returns {unknown} */
function clone(value, memory) {
  if (typeof value === "symbol" || typeof value === "function") refuse(value);
  if (typeof value !== "object" || value === null) return value;
  const known = memory.get(value);
  if (known) return known;
  const copy = shell(value, memory);
  memory.set(value, copy);
  fill(value, copy, memory);
  return copy;
}

/** The copy, without what it refers to. @param {any} value @param {Memory} memory @returns {any} */
function shell(value, memory) {
  switch (kindOf(value)) {
    case "Boolean":
    case "Number":
    case "String":
    case "BigInt":
      return Object(value.valueOf());
    case "Date":
      return new Date(Date.prototype.getTime.call(value));
    case "RegExp":
      return new RegExp(value.source, value.flags);
    case "ArrayBuffer":
      return bufferCopy(value);
    case "View":
      return viewCopy(value, memory);
    case "Map":
      return new Map();
    case "Set":
      return new Set();
    case "Array":
      return new Array(value.length);
    case "Object":
      return isError(value) ? errorCopy(value) : {};
    default:
      return refuse(value);
  }
}

/** @param {any} value @param {any} copy @param {Memory} memory */
function fill(value, copy, memory) {
  const kind = kindOf(value);
  if (kind === "Map") {
    for (const [key, item] of [...Map.prototype.entries.call(value)]) {
      copy.set(clone(key, memory), clone(item, memory));
    }
  } else if (kind === "Set") {
    for (const item of [...Set.prototype.values.call(value)]) copy.add(clone(item, memory));
  } else if (kind === "Object" && isError(value)) {
    if (!Object.hasOwn(value, "cause")) return;
    hidden(copy, "cause", clone(value.cause, memory));
  } else if (kind === "Array" || kind === "Object") {
    for (const key of Object.keys(value)) {
      // An earlier getter may have taken the rest away.
      if (!Object.hasOwn(value, key)) continue;
      const item = clone(value[key], memory);
      if (key === "__proto__") Object.defineProperty(copy, key, { ...PLAIN, value: item });
      else copy[key] = item;
    }
  }
}

/** @param {ArrayBuffer} buffer */
function bufferCopy(buffer) {
  const { byteLength, maxByteLength, resizable } = buffer;
  const copy = new ArrayBuffer(byteLength, resizable ? { maxByteLength } : undefined);
  new Uint8Array(copy).set(new Uint8Array(buffer));
  return copy;
}

/** @param {any} view @param {Memory} memory */
function viewCopy(view, memory) {
  const buffer = clone(view.buffer, memory);
  const length = view instanceof DataView ? view.byteLength : view.length;
  const [, type = ""] = /^\[object (.*)\]$/.exec(Object.prototype.toString.call(view)) ?? [];
  const constructor = /** @type {any} */ (globalThis)[type];
  return new constructor(buffer, view.byteOffset, length);
}

/** @param {Error} error */
function errorCopy(error) {
  const constructor = ERRORS[/** @type {keyof typeof ERRORS} */ (error.name)] ?? Error;
  const copy = new constructor();
  const message = Object.getOwnPropertyDescriptor(error, "message");
  if (message && "value" in message) hidden(copy, "message", String(message.value));
  hidden(copy, "stack", error.stack);
  return copy;
}

/** @param {object} object @param {string} key @param {unknown} value */
function hidden(object, key, value) {
  Object.defineProperty(object, key, { ...PLAIN, value, enumerable: false });
}

/** @param {unknown} value @returns {never} */
function refuse(value, why = "cannot be cloned") {
  throw new DOMException(`${named(value)} ${why}`, "DataCloneError");
}
