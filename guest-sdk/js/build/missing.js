// What JavaScript elsewhere has and a plugin has not, and what to use instead.

const WAIT = 'a call does not wait; return requeueAfter("30s"), or call cluster.wakeAt(time)';
const MODULES = "modules are ECMAScript modules; use import and export";
const HTTP = 'use fetch(cluster, url) of "@windlass/sdk/http"';
const STREAMS = "everything is there at once; use strings and Uint8Array";
const ONLY = "there is no browser; use globalThis";

/** @type {Record<string, string>} */
const MISSING = {
  XMLHttpRequest: HTTP,
  WebSocket: HTTP,
  EventSource: HTTP,
  setTimeout: WAIT,
  setInterval: WAIT,
  setImmediate: WAIT,
  clearTimeout: "there is no setTimeout",
  clearInterval: "there is no setInterval",
  clearImmediate: "there is no setImmediate",
  process: "there is no Node.js, and no environment variable; cluster.config has the settings",
  Buffer: "there is no Node.js; use Uint8Array, TextEncoder, TextDecoder, atob and btoa",
  require: MODULES,
  module: MODULES,
  exports: MODULES,
  __dirname: "there are no files; import what you need",
  __filename: "there are no files; import what you need",
  global: "there is no Node.js; use globalThis",
  window: ONLY,
  self: ONLY,
  document: ONLY,
  navigator: ONLY,
  localStorage: "nothing survives a call, except what you write to the cluster",
  sessionStorage: "nothing survives a call, except what you write to the cluster",
  AbortController: "a call does not wait, so that there is nothing to abort",
  AbortSignal: "a call does not wait, so that there is nothing to abort",
  Worker: "a plugin has one thread",
  WebAssembly: "a plugin cannot load other WebAssembly",
  Intl: "the engine has no data about languages",
  Blob: STREAMS,
  File: STREAMS,
  FormData: STREAMS,
  ReadableStream: STREAMS,
  WritableStream: STREAMS,
  TransformStream: STREAMS,
};

/**
 * A sentence about the global `name`, if it is one that a plugin cannot have.
 * @param {string} name
 */
export function missing(name) {
  return Object.hasOwn(MISSING, name)
    ? `${name} is not available in a plugin: ${MISSING[name]}`
    : undefined;
}

/**
 * Explains, in what an engine says, the globals that are not there.
 * @param {string} text
 */
export function explained(text) {
  return text.replace(/'?([A-Za-z_$][\w$]*)'? is not defined/g, (said, name) => {
    return missing(name) ?? said;
  });
}
