// A `fetch` that answers at once: in a plugin, no promise settles before its call has returned.

import { millis } from "../answer.js";
import { BYTES } from "./body.js";
import { FetchError } from "./fetch-error.js";
import { LINES } from "./headers.js";
import { Request } from "./request.js";
import { ANSWER, Response } from "./response.js";

/** @typedef {{ name: string, value: string }} Header */

/**
 * The contract's `http.fetch`, which throws `{ payload: { tag, val } }` if there is no answer.
 * @typedef {(request: {
 *   method: string,
 *   url: string,
 *   headers: Header[],
 *   body: Uint8Array,
 *   timeoutMs: number | null,
 *   credential: string | null,
 * }) => { status: number, headers: Header[], body: Uint8Array | number[] }} Send
 */

/**
 * Beside what the standard has: how long the whole exchange may take (`"5s"`, or milliseconds), and
 * the name of a Secret whose owner allows its use.
 * @typedef {import("./request.js").RequestInit & { timeout?: string | number, credential?: string }} FetchInit
 */

/**
 * A function like `fetch`, which returns the response instead of a promise.
 * @param {Send} send
 */
export function makeFetchSync(send) {
  /**
   * @param {ConstructorParameters<typeof Request>[0]} input
   * @param {FetchInit} [init]
   * @returns {Response}
   * @throws {FetchError} if there is no answer
   */
  return function fetchSync(input, init = {}) {
    const request = new Request(input, init);
    const { timeout, credential } = init;
    const answer = sent(send, {
      method: request.method,
      url: request.url,
      headers: request.headers[LINES].map(([name, value]) => ({ name, value })),
      body: request[BYTES] ?? new Uint8Array(),
      timeoutMs: timeout === undefined ? null : millis(timeout),
      credential: credential ?? null,
    });
    return Response[ANSWER]({
      status: answer.status,
      headers: answer.headers.map(({ name, value }) => [name, value]),
      body: new Uint8Array(answer.body),
      url: request.url,
    });
  };
}

/** @param {Send} send @param {Parameters<Send>[0]} request */
function sent(send, request) {
  try {
    return send(request);
  } catch (error) {
    const { payload } = /** @type {{ payload?: { tag?: string, val?: string } }} */ (error);
    if (!payload?.tag) throw error;
    throw new FetchError(payload.tag, `${request.method} ${request.url}`, payload.val);
  }
}
