// Declares the globals of a plugin, for a tsconfig without "lib": ["dom"] and without @types/node, which
// declare the same names: "types": ["@windlass/sdk/globals"].
//
// The folder's name begins with a dot, so that no tsconfig that includes a copy of the SDK takes it up.

import type * as web from "../web.js";

declare global {
  type URL = web.URL;
  type URLSearchParams = web.URLSearchParams;
  type Headers = web.Headers;
  type Request = web.Request;
  type Response = web.Response;
  type TextEncoder = web.TextEncoder;
  type TextDecoder = web.TextDecoder;

  var URL: typeof web.URL;
  var URLSearchParams: typeof web.URLSearchParams;
  var Headers: typeof web.Headers;
  var Request: typeof web.Request;
  var Response: typeof web.Response;
  var TextEncoder: typeof web.TextEncoder;
  var TextDecoder: typeof web.TextDecoder;
  var structuredClone: typeof web.structuredClone;
  var crypto: web.Crypto;

  /** Writes into the host's log. */
  var console: Record<
    "trace" | "debug" | "log" | "info" | "warn" | "error",
    (...words: unknown[]) => void
  >;
  function atob(text: string): string;
  function btoa(text: string): string;
}
