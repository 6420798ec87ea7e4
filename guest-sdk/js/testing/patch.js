// JSON patches (RFC 6902), and what of an object no patch may touch.

import { isDeepStrictEqual } from "node:util";
import { isObject } from "./fields.js";

/** @typedef {any} Json */

/** The fields of metadata that are not a plugin's to patch. */
const GUARDED = ["finalizers", "ownerReferences", "managedFields"];

/**
 * `object` after the operations of a JSON patch; throws an Error that says which cannot be done.
 * @param {Json} object
 * @param {Json[]} operations
 * @returns {Json}
 */
export function jsonPatch(object, operations) {
  const root = { "": structuredClone(object) };
  for (const { op, path, from, value } of operations) {
    if (op === "test") {
      if (!isDeepStrictEqual(read(root, path), value)) throw new Error(`test of ${path} failed`);
      continue;
    }
    const source = op === "move" || op === "copy" ? structuredClone(read(root, from)) : value;
    if (op === "move") take(root, from);
    if (op === "remove" || op === "replace") take(root, path);
    if (op !== "remove") put(root, path, source);
  }
  return root[""];
}

/** Whether a patch would touch finalizers, owner references or managed fields. @param {Json} patch */
export function touchesGuarded(patch) {
  if (Array.isArray(patch)) {
    return patch.some(({ op, path, from }) => op !== "test" && [path, from].some(leadsThere));
  }
  if (!("metadata" in patch)) return false;
  return !isObject(patch.metadata) || Object.keys(patch.metadata).some(isGuarded);
}

/** @param {string | undefined} path */
function leadsThere(path) {
  if (path === undefined) return false;
  const [, first, second] = path.split("/");
  return (
    first === undefined || (first === "metadata" && (second === undefined || isGuarded(second)))
  );
}

/** @param {string} field */
const isGuarded = (field) => GUARDED.includes(field);

/** The steps of a pointer, from what holds the object. @param {string} path */
const steps = (path) =>
  path.split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

/** What holds the end of a pointer, and its last step. @param {Json} root @param {string} path */
function end(root, path) {
  const way = steps(path);
  const last = String(way.pop());
  const holder = way.reduce((inner, step) => inner?.[step], root);
  if (typeof holder !== "object" || holder === null) throw new Error(`${path} is not there`);
  return { holder, last };
}

/** @param {Json} root @param {string} path */
function read(root, path) {
  const { holder, last } = end(root, path);
  if (!(last in holder)) throw new Error(`${path} is not there`);
  return holder[last];
}

/** @param {Json} root @param {string} path */
function take(root, path) {
  read(root, path);
  const { holder, last } = end(root, path);
  if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete holder[last];
}

/** @param {Json} root @param {string} path @param {Json} value */
function put(root, path, value) {
  const { holder, last } = end(root, path);
  if (!Array.isArray(holder)) holder[last] = value;
  else holder.splice(last === "-" ? holder.length : Number(last), 0, value);
}
