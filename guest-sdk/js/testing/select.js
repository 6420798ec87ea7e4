// `select` as the host does it: some fields of each object, by their paths.

import { refusal } from "../src/failed.js";

/** A step of a path: a field's name, or each item of a list. @typedef {{ name: string } | { each: true }} Step */

/**
 * A row for each object.
 * @param {object[]} objects
 * @param {string[]} paths
 */
export function rows(objects, paths) {
  if (paths.length === 0) throw refusal("invalid", "name at least one path");
  const all = paths.map(steps);
  return objects.map((object) => all.map((steps) => value(object, steps)));
}

/** What the steps lead to. @param {any} object @param {Step[]} steps @returns {any} */
function value(object, [step, ...rest]) {
  if (!step) return object ?? null;
  if ("each" in step) {
    return Array.isArray(object) ? object.map((item) => value(item, rest)) : null;
  }
  const isField = typeof object === "object" && object && Object.hasOwn(object, step.name);
  return isField && !Array.isArray(object) ? value(object[step.name], rest) : null;
}

/** Reads a simple JSONPath. @param {string} path */
function steps(path) {
  /** @type {Step[]} */
  const steps = [];
  let rest = path;
  while (rest) {
    const [text, plain, each, quoted] =
      /^(?:\.([\w$-]+)(?=[.[]|$)|(\[\*\])|\['(.*?)'\])/s.exec(rest) ?? [];
    if (!text) throw refusal("invalid", `${path} is not a simple JSONPath`);
    steps.push(each ? { each: true } : { name: plain ?? quoted ?? "" });
    rest = rest.slice(text.length);
  }
  if (steps.length === 0) throw refusal("invalid", "a path is empty");
  return steps;
}
