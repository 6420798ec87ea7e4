// Makes promises of the SDK global, in a component only, and the functions that the build command writes into async code.

import { PluginPromise, awaitTop, runAsync, settled } from "../web/promise.js";

export { settled };

Object.assign(globalThis, {
  Promise: PluginPromise,
  __windlassAsync: runAsync,
  __windlassTop: awaitTop,
  __windlassAwait: (/** @type {unknown} */ value) => value,
  __windlassNone: (/** @type {string} */ name, /** @type {string} */ at) =>
    new TypeError(`${name} is not available in a plugin (${at})`),
});
// `Array.fromAsync` makes a promise of the engine, which nothing settles.
Reflect.deleteProperty(Array, "fromAsync");
