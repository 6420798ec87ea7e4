// Makes a controller into what the contract exports; the build command's entry calls it.

import { awaitChange, done } from "./answer.js";
import { controllerOf, describe } from "./controller.js";
import { host } from "./host.js";
import { place } from "./place.js";
import { run } from "./run.js";

/** @typedef {import("@windlass/sdk").Level} Level */
/** @typedef {{ object: string, attempt: number }} Request the contract's `request` */

/**
 * The package, and what its code needs at run time.
 * @typedef {{ name: string, version: string } & import("./run.js").Author} About
 */

/**
 * The contract's `controller`, and its `going`.
 * @param {import("@windlass/sdk").Plugin} plugin
 * @param {About} about
 * @param {import("./run.js").Author["settled"]} [settled]
 */
export function component(plugin, about, settled) {
  settled?.("the loading of its modules", (stack) => place(stack, about.root));
  /** @param {"reconcile" | "reconcileGoing" | "finalize"} step @param {Request} request */
  const call = (step, request) => {
    connectConsole();
    const object = JSON.parse(request.object);
    const one = controllerOf(plugin, object);
    if (step === "finalize" && !one.finalize) return done;
    if (step === "reconcileGoing" && !one.reconcileGoing) return awaitChange;
    return run(
      one,
      step,
      object,
      { ...host, attempt: () => request.attempt },
      { ...about, settled },
    );
  };
  return {
    describe: () => describe(plugin, about),
    reconcile: (/** @type {Request} */ request) => call("reconcile", request),
    reconcileGoing: (/** @type {Request} */ request) => call("reconcileGoing", request),
    finalize: (/** @type {Request} */ request) => call("finalize", request),
  };
}

/** Lets `console` write into the host's log; QuickJS has none of its own. */
function connectConsole() {
  const write =
    (/** @type {Level} */ level) =>
    (/** @type {unknown[]} */ ...words) =>
      host.log(level, words.map(shown).join(" "), []);
  globalThis.console = /** @type {Console} */ ({
    trace: write("trace"),
    debug: write("debug"),
    log: write("info"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  });
}

/** @param {unknown} word */
function shown(word) {
  if (typeof word !== "object" || word instanceof Error) return String(word);
  return JSON.stringify(word);
}
