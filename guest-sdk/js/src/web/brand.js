// What an object is inside, whatever its prototype says.

/** Getters and methods that throw unless they are called on their own kind. @type {[string, (value: any) => unknown][]} */
const BRANDS = [
  ["Boolean", (value) => Boolean.prototype.valueOf.call(value)],
  ["Number", (value) => Number.prototype.valueOf.call(value)],
  ["String", (value) => String.prototype.valueOf.call(value)],
  ["BigInt", (value) => BigInt.prototype.valueOf.call(value)],
  ["Symbol", (value) => Symbol.prototype.valueOf.call(value)],
  ["Date", (value) => Date.prototype.getTime.call(value)],
  ["RegExp", getter(RegExp, "global")],
  ["ArrayBuffer", getter(ArrayBuffer, "byteLength")],
  ["SharedArrayBuffer", getter(SharedArrayBuffer, "byteLength")],
  ["Map", getter(Map, "size")],
  ["Set", getter(Set, "size")],
  ["WeakMap", (value) => WeakMap.prototype.has.call(value, value)],
  ["WeakSet", (value) => WeakSet.prototype.has.call(value, value)],
  ["WeakRef", (value) => WeakRef.prototype.deref.call(value)],
];

/** @param {object} value */
export function kindOf(value) {
  const prototype = Object.getPrototypeOf(value);
  // Nearly all are; the checks below cost an exception each.
  if (prototype === Object.prototype || prototype === null) return "Object";
  if (Array.isArray(value)) return "Array";
  if (ArrayBuffer.isView(value)) return "View";
  if (value instanceof Promise) return "Promise";
  for (const [name, check] of BRANDS) {
    try {
      check(value);
      return name;
    } catch {
      // It is something else.
    }
  }
  return "Object";
}

/** @param {unknown} value @returns {value is Error} */
export function isError(value) {
  if (Error.isError) return Error.isError(value);
  return Object.prototype.toString.call(value) === "[object Error]" && value instanceof Error;
}

/** What people are told that a value is. @param {any} value */
export function named(value) {
  if (typeof value === "symbol") return String(value);
  if (typeof value === "function") return `the function ${value.name || "without a name"}`;
  return `an object of ${kindOf(value)}`;
}

/** @param {Function} type @param {string} name @returns {(value: any) => unknown} */
function getter(type, name) {
  const get = Object.getOwnPropertyDescriptor(type.prototype, name)?.get;
  return (value) => {
    if (!get || value === type.prototype) throw new TypeError(name);
    return get.call(value);
  };
}
