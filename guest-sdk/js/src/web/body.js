// What `Request` and `Response` have in common: a body, all of which is there.

import { bytesOf } from "./bytes.js";
import { TextDecoder } from "./text-decoder.js";
import { TextEncoder } from "./text-encoder.js";

/** @typedef {string | URLSearchParams | ArrayBuffer | ArrayBufferView} BodyInit */

/** The body's bytes, without using it up. */
export const BYTES = Symbol("bytes");

/**
 * A body that is read at once: its methods return values, not promises. `await` takes both.
 * As in the standard, it can be read once.
 */
export class Body {
  /** @type {Uint8Array<ArrayBuffer> | null} */
  #bytes;
  #used = false;

  /** @param {Uint8Array<ArrayBuffer> | null} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
  }

  get bodyUsed() {
    return this.#used;
  }

  /** @returns {string} */
  text() {
    return new TextDecoder().decode(this.bytes());
  }

  /** @returns {any} */
  json() {
    return JSON.parse(this.text());
  }

  bytes() {
    const bytes = this[BYTES];
    this.#used = bytes !== null;
    return bytes ?? new Uint8Array();
  }

  arrayBuffer() {
    return this.bytes().buffer;
  }

  get [BYTES]() {
    if (this.#used)
      throw new TypeError("the body was read already: clone it first, or keep what it was");
    return this.#bytes;
  }
}

/**
 * The bytes of a body, which are copied, and their type.
 * @param {unknown} body
 * @returns {{ bytes: Uint8Array<ArrayBuffer> | null, type?: string }}
 */
export function extract(body) {
  if (body === null || body === undefined) return { bytes: null };
  const bytes = bytesOf(body);
  if (bytes) return { bytes: bytes.slice() };
  const form = Object.prototype.toString.call(body) === "[object URLSearchParams]";
  const type = form ? "application/x-www-form-urlencoded" : "text/plain";
  return { bytes: new TextEncoder().encode(String(body)), type: `${type};charset=UTF-8` };
}
