// Why a request has no answer.

/** @type {Record<string, string>} */
const TEXTS = {
  denied:
    "the operator does not allow this request, its origin leads to an address that is not allowed, or the Secret that was chosen does not name the origin in its annotation windlass.dev/origins (`windlass why` has the reason)",
  timeout: "too slow; the server may have acted on it",
  unavailable: "there is no connection, or it broke; the server may have acted on it",
  "too-large": "the request or the answer is too large",
};

/** A request without an answer. */
export class FetchError extends Error {
  /**
   * @param {string} code what to decide by
   * @param {string} call what was tried, for people: `GET https://api.example.com/v1`
   * @param {string} [why] the host's words
   */
  constructor(code, call, why) {
    super(`cannot ${call}: ${why || TEXTS[code] || code}`);
    this.name = "FetchError";
    this.code = code;
    this.call = call;
  }
}
