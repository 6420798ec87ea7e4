// `TextEncoder`, as the Encoding Standard has it.

import { toBytes } from "./latin1.js";

/** Makes text into UTF-8. */
export class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  /** @param {unknown} [text] */
  encode(text = "") {
    return toBytes(unescape(encodeURIComponent(String(text).toWellFormed())));
  }

  /**
   * Writes as many whole characters as fit.
   * @param {string} text
   * @param {Uint8Array} into
   */
  encodeInto(text, into) {
    if (!(into instanceof Uint8Array)) throw new TypeError("encodeInto: not a Uint8Array");
    const source = String(text);
    const bytes = this.encode(source);
    let written = Math.min(bytes.length, into.length);
    if (written < bytes.length) {
      // A character that does not fit is left out.
      while (written > 0 && (Number(bytes[written]) & 0xc0) === 0x80) written -= 1;
    }
    into.set(bytes.subarray(0, written));
    return { read: units(bytes, written), written };
  }

  get [Symbol.toStringTag]() {
    return "TextEncoder";
  }
}

/** How many UTF-16 units the first `length` bytes are. @param {Uint8Array} bytes @param {number} length */
function units(bytes, length) {
  let count = 0;
  for (const byte of bytes.subarray(0, length)) {
    if ((byte & 0xc0) !== 0x80) count += byte >= 0xf0 ? 2 : 1;
  }
  return count;
}
