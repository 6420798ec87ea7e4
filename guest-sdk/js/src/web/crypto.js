// `crypto`: random bytes and UUIDs, and nothing else of Web Crypto.

import { bytesOf } from "./bytes.js";

/** What the standard allows in one call, and what the host gives at once. */
const MOST = 65_536;

const INTEGERS = /^\[object (Big)?(Int|Uint)\d+(Clamped)?Array\]$/;

/** @param {(length: number) => Uint8Array} random */
export function makeCrypto(random) {
  return Object.freeze({
    /**
     * Fills `array` with random bytes.
     * @template {ArrayBufferView} T
     * @param {T} array
     * @returns {T}
     */
    getRandomValues(array) {
      const bytes = INTEGERS.test(Object.prototype.toString.call(array)) && bytesOf(array);
      if (!bytes) {
        const wrong = "getRandomValues: not an array of integers";
        throw new DOMException(wrong, "TypeMismatchError");
      }
      if (bytes.length > MOST) {
        const wrong = `getRandomValues: ${bytes.length} bytes, and at most ${MOST} are allowed`;
        throw new DOMException(wrong, "QuotaExceededError");
      }
      bytes.set(random(bytes.length));
      return array;
    },

    /** A UUID of version 4. */
    randomUUID() {
      const bytes = random(16);
      bytes[6] = (Number(bytes[6]) & 0x0f) | 0x40;
      bytes[8] = (Number(bytes[8]) & 0x3f) | 0x80;
      const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    },
  });
}
