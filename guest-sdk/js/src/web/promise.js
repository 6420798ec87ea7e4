// Promises whose jobs the SDK runs itself, and of which none is lost.
//
// QuickJS runs no job of a promise while a component's function is called: what stands after an `await` would
// never happen, and a rejection would be seen by nobody. So the build command turns each async function into a
// generator (build/promises.js), and these promises take the place of the engine's.

/** Jobs that are to run, oldest first. @type {(() => void)[]} */
const jobs = [];
/**
 * A stack trace of the code that made a promise, or the place of the async function whose promise it is.
 * @typedef {{ stack?: string | undefined, at?: string }} Origin
 */

/** Promises that are not settled. @type {Map<PluginPromise, Origin>} */
const pending = new Map();
/** Promises that were rejected, and that nothing waits for. @type {Set<PluginPromise>} */
const unhandled = new Set();

/** The state of a promise. */
const STATE = Symbol("state");

/**
 * @typedef {{
 *   settled: false,
 *   reactions: { fulfilled: (value: unknown) => void, rejected: (reason: unknown) => void }[],
 * } | { settled: true, rejected: boolean, value: unknown }} State
 */

/** A promise as in the standard. Its jobs run in the standard's order. */
export class PluginPromise {
  /** @type {State} */
  [STATE] = { settled: false, reactions: [] };

  /** @param {(resolve: (value?: any) => void, reject: (reason?: any) => void) => void} executor */
  constructor(executor) {
    if (typeof executor !== "function") throw new TypeError("Promise: the executor is no function");
    const { resolve, reject } = functions(this, new Error());
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  get [Symbol.toStringTag]() {
    return "Promise";
  }

  /** @param {any} [onFulfilled] @param {any} [onRejected] */
  then(onFulfilled, onRejected) {
    const { promise, resolve, reject } = deferred();
    /** @param {any} callback @param {(value: unknown) => void} otherwise */
    const reaction = (callback, otherwise) => (/** @type {unknown} */ value) => {
      if (typeof callback !== "function") return otherwise(value);
      try {
        resolve(callback(value));
      } catch (error) {
        reject(error);
      }
    };
    react(this, reaction(onFulfilled, resolve), reaction(onRejected, reject));
    return promise;
  }

  /** @param {any} [onRejected] */
  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  /** @param {any} [onFinally] */
  finally(onFinally) {
    if (typeof onFinally !== "function") return this.then(onFinally, onFinally);
    return this.then(
      (/** @type {unknown} */ value) => PluginPromise.resolve(onFinally()).then(() => value),
      (/** @type {unknown} */ reason) =>
        PluginPromise.resolve(onFinally()).then(() => {
          throw reason;
        }),
    );
  }

  /** @param {any} [value] */
  static resolve(value) {
    if (value instanceof PluginPromise) return value;
    const { promise, resolve } = deferred();
    resolve(value);
    return promise;
  }

  /** @param {any} [reason] */
  static reject(reason) {
    const { promise, reject } = deferred();
    reject(reason);
    return promise;
  }

  static withResolvers() {
    return deferred(new Error());
  }

  /** @param {(...args: any[]) => any} callback @param {...any} args */
  static try(callback, ...args) {
    return new PluginPromise((resolve) => resolve(callback(...args)));
  }

  /** @param {Iterable<any>} values */
  static all(values) {
    return combined(values, ({ value, at, results, left, resolve, reject }) => {
      value.then((/** @type {any} */ result) => {
        results[at] = result;
        if (left.done()) resolve(results);
      }, reject);
    });
  }

  /** @param {Iterable<any>} values */
  static allSettled(values) {
    return combined(values, ({ value, at, results, left, resolve }) => {
      const settle = (/** @type {object} */ result) => {
        results[at] = result;
        if (left.done()) resolve(results);
      };
      value.then(
        (/** @type {any} */ result) => settle({ status: "fulfilled", value: result }),
        (/** @type {any} */ reason) => settle({ status: "rejected", reason }),
      );
    });
  }

  /** @param {Iterable<any>} values */
  static any(values) {
    const none = (/** @type {any[]} */ errors) =>
      new AggregateError(errors, "Promise.any: all promises were rejected");
    return combined(
      values,
      ({ value, at, results, left, resolve, reject }) => {
        value.then(resolve, (/** @type {any} */ reason) => {
          results[at] = reason;
          if (left.done()) reject(none(results));
        });
      },
      ({ reject }) => reject(none([])),
    );
  }

  /** @param {Iterable<any>} values */
  static race(values) {
    return new PluginPromise((resolve, reject) => {
      for (const value of values) PluginPromise.resolve(value).then(resolve, reject);
    });
  }
}
Object.defineProperty(PluginPromise, "name", { value: "Promise" });

/**
 * @typedef {object} Part
 * @property {PluginPromise} value one of the promises
 * @property {number} at its index
 * @property {any[]} results
 * @property {{ done: () => boolean }} left whether it was the last one
 * @property {(value?: any) => void} resolve
 * @property {(reason?: any) => void} reject
 */

/**
 * A promise made of others.
 * @param {Iterable<any>} values
 * @param {(part: Part) => void} each
 * @param {(none: { resolve: (value?: any) => void, reject: (reason?: any) => void }) => void} [none] if there are no values
 */
function combined(values, each, none = ({ resolve }) => resolve([])) {
  return new PluginPromise((resolve, reject) => {
    const all = [...values];
    if (all.length === 0) return none({ resolve, reject });
    let count = all.length;
    const left = { done: () => --count === 0 };
    /** @type {any[]} */
    const results = new Array(all.length);
    for (const [at, value] of all.entries()) {
      each({ value: PluginPromise.resolve(value), at, results, left, resolve, reject });
    }
  });
}

/** A promise and its functions. @param {Origin} [origin] */
function deferred(origin) {
  const promise = /** @type {PluginPromise} */ (Object.create(PluginPromise.prototype));
  promise[STATE] = { settled: false, reactions: [] };
  return { promise, ...functions(promise, origin) };
}

/**
 * The functions that settle `promise`. A promise without an origin waits for another one, which has one.
 * @param {PluginPromise} promise
 * @param {Origin} [origin]
 */
function functions(promise, origin) {
  if (origin) pending.set(promise, origin);
  let called = false;
  const once = (/** @type {(value: any) => void} */ act) => (/** @type {any} */ value) => {
    if (called) return;
    called = true;
    act(value);
  };
  return {
    resolve: once((value) => resolved(promise, value)),
    reject: once((reason) => settle(promise, true, reason)),
  };
}

/** @param {PluginPromise} promise @param {any} value */
function resolved(promise, value) {
  if (value === promise) {
    return settle(promise, true, new TypeError("a promise cannot wait for itself"));
  }
  if ((typeof value !== "object" && typeof value !== "function") || value === null) {
    return settle(promise, false, value);
  }
  let then;
  try {
    ({ then } = value);
  } catch (error) {
    return settle(promise, true, error);
  }
  if (typeof then !== "function") return settle(promise, false, value);
  const { resolve, reject } = functions(promise);
  jobs.push(() => {
    try {
      then.call(value, resolve, reject);
    } catch (error) {
      reject(error);
    }
  });
}

/** @param {PluginPromise} promise @param {boolean} rejected @param {unknown} value */
function settle(promise, rejected, value) {
  const state = promise[STATE];
  if (state.settled) return;
  pending.delete(promise);
  promise[STATE] = { settled: true, rejected, value };
  if (rejected && state.reactions.length === 0) unhandled.add(promise);
  for (const reaction of state.reactions) {
    jobs.push(() => (rejected ? reaction.rejected : reaction.fulfilled)(value));
  }
}

/** @param {PluginPromise} promise @param {(value: unknown) => void} fulfilled @param {(reason: unknown) => void} rejected */
function react(promise, fulfilled, rejected) {
  const state = promise[STATE];
  if (!state.settled) return void state.reactions.push({ fulfilled, rejected });
  unhandled.delete(promise);
  jobs.push(() => (state.rejected ? rejected : fulfilled)(state.value));
}

/**
 * Runs an async function, of which `body` yields each value that the function awaits.
 * @param {(...args: any[]) => Generator<unknown, unknown, any>} body
 * @param {unknown} self
 * @param {any[]} args
 * @param {string} at where the function stands: `src/plugin.js:6`
 */
export function runAsync(body, self, args, at) {
  const { promise, resolve, reject } = deferred({ at });
  /** @type {Generator<unknown, unknown, any>} */
  let steps;
  const step = (/** @type {"next" | "throw"} */ how, /** @type {unknown} */ value) => {
    try {
      steps ??= body.apply(self, args);
      const { done, value: given } = steps[how](value);
      if (done) return resolve(given);
      react(
        PluginPromise.resolve(given),
        (result) => step("next", result),
        (reason) => step("throw", reason),
      );
    } catch (error) {
      reject(error);
    }
  };
  step("next", undefined);
  return promise;
}

/** Runs `await` at the top level of a module. @param {unknown} value @param {string} at */
export function awaitTop(value, at) {
  const promise = PluginPromise.resolve(value);
  react(
    promise,
    () => {},
    () => {},
  );
  while (!promise[STATE].settled && jobs.length > 0) jobs.shift()?.();
  const state = promise[STATE];
  if (!state.settled)
    throw new TypeError(`await at ${at} waits for a promise that nothing settles`);
  if (state.rejected) throw state.value;
  return state.value;
}

/**
 * Runs all jobs. A rejection that nothing waits for is thrown. A promise that is still pending is an error too, since nothing
 * can settle it after the call. Afterwards there are no promises.
 * @param {string} when what has ended: `reconcile`
 * @param {(stack: string) => string} place of a stack trace in the author's files
 */
export function settled(when, place) {
  try {
    // By index: taking the first one off is linear.
    for (let at = 0; at < jobs.length; at += 1) jobs[at]?.();
    jobs.length = 0;
    for (const promise of unhandled) {
      throw /** @type {{ value: unknown }} */ (promise[STATE]).value;
    }
    for (const { at, stack = "" } of pending.values()) {
      const where = at ?? place(stack);
      throw new TypeError(
        `a promise is still pending at the end of ${when}${where && `: it was made at ${where}`}; nothing can settle it later`,
      );
    }
  } finally {
    jobs.length = 0;
    unhandled.clear();
    pending.clear();
  }
}
