// `Request`, as the Fetch Standard has it, but read without promises.

import { Body, BYTES, extract } from "./body.js";
import { Headers } from "./headers.js";
import { URL } from "./url.js";

/**
 * @typedef {object} RequestInit
 * @property {string} [method]
 * @property {ConstructorParameters<typeof Headers>[0]} [headers]
 * @property {import("./body.js").BodyInit | null} [body]
 */

/** Only these are the same in any case. */
const KNOWN = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];

/** What is sent to a server. */
export class Request extends Body {
  /** @type {Headers} */
  #headers;
  /** @type {string} */
  #method;
  /** @type {string} */
  #url;

  /**
   * @param {string | { toString(): string } | Request} input a URL, or a request that is copied
   * @param {RequestInit} [init]
   */
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    const { method = from?.method ?? "GET", headers = from?.headers } = init ?? {};
    const given = init?.body === undefined || init.body === null ? undefined : extract(init.body);
    super(given ? given.bytes : (from?.[BYTES] ?? null));
    this.#url = from ? from.url : absolute(String(input));
    this.#method = methodOf(String(method));
    this.#headers = new Headers(headers);
    if (this[BYTES] && ["GET", "HEAD"].includes(this.#method)) {
      throw new TypeError(`Request: ${this.#method} has no body`);
    }
    if (given?.type && !this.#headers.has("content-type")) {
      this.#headers.append("content-type", given.type);
    }
    // As in the standard, the body moves from one to the other.
    if (from?.[BYTES] && !given) from.bytes();
  }

  get headers() {
    return this.#headers;
  }

  get method() {
    return this.#method;
  }

  get url() {
    return this.#url;
  }

  clone() {
    const body = this[BYTES];
    return new Request(this.#url, { method: this.#method, headers: this.#headers, body });
  }

  get [Symbol.toStringTag]() {
    return "Request";
  }
}

/** @param {string} text */
function absolute(text) {
  const url = URL.parse(text);
  if (!url) throw new TypeError(`Request: ${JSON.stringify(text)} is not an absolute URL`);
  if (!url.username && !url.password) return url.href;
  throw new TypeError("Request: the URL has a user or a password");
}

/** @param {string} text */
function methodOf(text) {
  const upper = text.toUpperCase();
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) {
    throw new TypeError(`Request: ${JSON.stringify(text)} is not a method`);
  }
  if (["CONNECT", "TRACE", "TRACK"].includes(upper)) {
    throw new TypeError(`Request: the method ${text} is not allowed`);
  }
  return KNOWN.includes(upper) ? upper : text;
}
