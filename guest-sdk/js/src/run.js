// Makes one call of a controller, and of whatever it throws one of the contract's failures.

import { Failure } from "./answer.js";
import { Cluster } from "./cluster.js";
import { ClusterError, SetError } from "./failed.js";
import { place } from "./place.js";

/** @typedef {import("@windlass/sdk").HostImports} HostImports */

/**
 * The folder with the author's files, a sentence about each global that they name and a plugin has not, and the
 * function of src/web/promise.js, if they use promises.
 * @typedef {object} Author
 * @property {string} root
 * @property {Record<string, string>} [missing]
 * @property {(when: string, place: (stack: string) => string) => void} [settled]
 */

/**
 * Calls `reconcile`, `reconcileGoing` or `finalize` of `plugin` for `object`.
 *
 * A cluster error is terminal only if it is `invalid` (of a set, if every part is): all others can end without anything changing
 * that this call has read, so they are transient. So is everything else that was not meant as a
 * failure, such as a TypeError: it gets its file and line, and newer code may fix it.
 * @param {import("@windlass/sdk").Declaration} plugin
 * @param {"reconcile" | "reconcileGoing" | "finalize"} step
 * @param {any} object
 * @param {HostImports} imports
 * @param {Author} author
 * @throws {{ tag: "transient" | "terminal", val: string }}
 */
export function run(plugin, step, object, imports, author) {
  const settled = () => author.settled?.(step, (stack) => place(stack, author.root));
  try {
    const answer = checked(step, plugin[step]?.(object, new Cluster(imports)));
    settled();
    return answer;
  } catch (error) {
    // Nothing of this call happens in the next one.
    quietly(settled);
    throw failure(error, imports, author);
  }
}

/** Does something whose failure a worse one hides. @param {() => void} act */
function quietly(act) {
  try {
    act();
  } catch {
    // The caller reports the first failure.
  }
}

/**
 * @param {"reconcile" | "reconcileGoing" | "finalize"} step
 * @param {any} answer
 */
function checked(step, answer) {
  if (typeof answer?.then === "function") {
    throw new TypeError(`${step} must not be async: all calls of the cluster answer at once`);
  }
  if (step !== "finalize") {
    const given = answer ?? { tag: "await-change" };
    if (["await-change", "requeue-after"].includes(given.tag)) return given;
    throw new TypeError(`${step} must return nothing, awaitChange or requeueAfter(...)`);
  }
  if (["done", "pending"].includes(answer?.tag)) return answer;
  throw new TypeError("finalize must return done or pending(...)");
}

/**
 * @param {unknown} error
 * @param {HostImports} imports
 * @param {Author} author
 */
function failure(error, imports, author) {
  if (error instanceof Failure) return { tag: error.kind, val: error.message };
  if (error instanceof ClusterError || error instanceof SetError) {
    const parts = error instanceof SetError ? error.failures.map((part) => part.error) : [error];
    const invalid = parts.every(({ code }) => code === "invalid");
    return { tag: invalid ? "terminal" : "transient", val: error.message };
  }
  if (!(error instanceof Error)) return { tag: "transient", val: `thrown: ${text(error)}` };
  const stack = error.stack ?? "";
  const where = place(stack, author.root);
  const message = explained(error, author) + causes(error);
  imports.log("debug", `${error.name}: ${message}`, [{ key: "stack", value: stack.trim() }]);
  return { tag: "transient", val: `${error.name}: ${message}${where && ` (${where})`}` };
}

/** So many causes and parts of an error are told. */
const CAUSES = 5;

/** The errors that an error names: its cause, the cause of that, and the parts of an AggregateError. @param {Error} error */
function causes(error) {
  const told = [];
  const parts = error instanceof AggregateError ? error.errors : [];
  for (const part of parts.slice(0, CAUSES)) told.push(`; ${said(part)}`);
  if (parts.length > CAUSES) told.push(`; and ${parts.length - CAUSES} more`);
  let { cause } = error;
  for (let depth = 0; cause !== undefined && depth < CAUSES; depth += 1) {
    told.push(`; caused by ${said(cause)}`);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return told.join("");
}

/** @param {unknown} thrown */
function said(thrown) {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : text(thrown);
}

/** What the error says, or what to use instead of a global that is not there. @param {Error} error @param {Author} author */
function explained({ name, message }, { missing = {} }) {
  const [, global = ""] = /^'?([\w$]+)'? is not defined$/.exec(message) ?? [];
  return name === "ReferenceError" && Object.hasOwn(missing, global) ? missing[global] : message;
}

/** @param {unknown} thrown */
function text(thrown) {
  return typeof thrown === "object" ? JSON.stringify(thrown) : String(thrown);
}
