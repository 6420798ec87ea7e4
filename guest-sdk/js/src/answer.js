// What a reconciler answers: how it went, and when to look again.

const MOST = 0xffff_ffff;
/** @type {Record<string, number>} */
const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Call again only when something changes. */
export const awaitChange = Object.freeze({ tag: "await-change" });

/** Nothing is left to undo. */
export const done = Object.freeze({ tag: "done" });

/**
 * Call again after this long at the latest.
 * @param {string | number} wait
 */
export function requeueAfter(wait) {
  return { tag: /** @type {const} */ ("requeue-after"), val: millis(wait) };
}

/**
 * Waiting for something else: call again after this long, or when something that was read changes.
 * @param {string | number} wait
 */
export function pending(wait) {
  return { tag: /** @type {const} */ ("pending"), val: millis(wait) };
}

/** A failure that the reconciler reports, with a text for people. */
export class Failure extends Error {
  /**
   * @param {"transient" | "terminal"} kind
   * @param {string} text
   */
  constructor(kind, text) {
    super(text);
    this.name = "Failure";
    this.kind = kind;
  }
}

/**
 * A failure that may go away by itself: `throw transient("...")`.
 * @param {string} text
 */
export const transient = (text) => new Failure("transient", text);

/**
 * A failure that stays until somebody changes something: `throw terminal("...")`.
 * @param {string} text
 */
export const terminal = (text) => new Failure("terminal", text);

/**
 * Milliseconds as the contract counts them; what does not fit becomes the longest wait.
 * @param {string | number} wait `"500ms"`, `"10s"`, `"5m"`, `"1h"`, or milliseconds
 */
export function millis(wait) {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(wait)) ?? [];
  const value = unit ? Number(number) * (UNITS[unit] ?? NaN) : wait;
  if (typeof value !== "number" || !(value >= 0)) {
    throw new RangeError(`${wait} is not a duration such as "10s", nor milliseconds`);
  }
  return Math.min(Math.round(value), MOST);
}
