// `Response`, as the Fetch Standard has it, but read without promises.

import { Body, BYTES, extract } from "./body.js";
import { Headers, LINES } from "./headers.js";

/**
 * @typedef {object} ResponseInit
 * @property {number} [status]
 * @property {string} [statusText]
 * @property {ConstructorParameters<typeof Headers>[0]} [headers]
 */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {string} [statusText]
 * @property {[name: string, value: string][]} headers
 * @property {Uint8Array<ArrayBuffer> | null} body
 * @property {string} url
 */

/** Makes a response of what a server answered. */
export const ANSWER = Symbol("answer");

const WITHOUT_BODY = [101, 103, 204, 205, 304];

/** What a server answered. */
export class Response extends Body {
  /** @type {Headers} */
  #headers;
  #status;
  #statusText;
  #url = "";

  /**
   * @param {import("./body.js").BodyInit | null} [body]
   * @param {ResponseInit} [init]
   */
  constructor(body = null, init = {}) {
    const { bytes, type } = extract(body);
    super(bytes);
    const { status = 200, statusText = "", headers } = init ?? {};
    this.#status = Math.trunc(Number(status));
    if (!(this.#status >= 200 && this.#status <= 599)) {
      throw new RangeError(`Response: the status ${status} is not between 200 and 599`);
    }
    this.#statusText = String(statusText);
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(this.#statusText)) {
      throw new TypeError("Response: statusText has a character that it may not have");
    }
    this.#headers = new Headers(headers);
    if (bytes && WITHOUT_BODY.includes(this.#status)) {
      throw new TypeError(`Response: with status ${status} there is no body`);
    }
    if (type && !this.#headers.has("content-type")) this.#headers.append("content-type", type);
  }

  /** @param {unknown} data @param {ResponseInit} [init] */
  static json(data, init = {}) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError("Response.json: the value is not JSON");
    const headers = new Headers(init?.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(text, { ...init, headers });
  }

  /**
   * @param {Answer} answer
   * @returns {Response}
   */
  static [ANSWER]({ status, headers, body, url, statusText = "" }) {
    // Each of these may be what the constructor refuses.
    const response = new Response(body);
    response.#status = status;
    response.#statusText = statusText;
    response.#headers = Headers[LINES](headers);
    response.#url = url;
    return response;
  }

  get headers() {
    return this.#headers;
  }

  get ok() {
    return this.#status >= 200 && this.#status <= 299;
  }

  get redirected() {
    return false;
  }

  get status() {
    return this.#status;
  }

  get statusText() {
    return this.#statusText;
  }

  get type() {
    return "default";
  }

  get url() {
    return this.#url;
  }

  clone() {
    return Response[ANSWER]({
      status: this.#status,
      headers: this.#headers[LINES],
      body: this[BYTES],
      url: this.#url,
      statusText: this.#statusText,
    });
  }

  get [Symbol.toStringTag]() {
    return "Response";
  }
}
