// HTTP requests to servers outside the cluster.

import type { Cluster } from "./index.js";
import type { Request, RequestInit, Response, URL } from "./web.js";

/** How to send a request: beside what the standard `fetch` has, the longest time, and a Secret. */
export interface FetchInit extends RequestInit {
  /** The longest time for the whole exchange: `"5s"`, or milliseconds. */
  timeout?: string | number;
  /**
   * A Secret in the namespace of the primary that the host uses, if the document allows it with `credentials`. The
   * annotation `windlass.dev/origins` of the Secret must name the origin.
   */
  credential?: string;
}

/**
 * Sends one HTTP request and waits for the whole answer, as the standard `fetch` does, but at once: do not use `await`.
 * Every status is an answer. Throws a `FetchError` if there is none.
 */
export function fetch(cluster: Cluster, input: string | URL | Request, init?: FetchInit): Response;

/** A request without an answer. */
export class FetchError extends Error {
  /** Plugins do not make one. */
  constructor(code: string, call: string, why?: string);
  /** `denied`, `timeout`, `unavailable`, `too-large`, `invalid` or `other`. */
  code: string;
  /** What was tried: `GET https://api.example.com/v1`. */
  call: string;
}
