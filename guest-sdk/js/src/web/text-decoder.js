// `TextDecoder`, as the Encoding Standard has it, for four encodings.

import { bytesOf } from "./bytes.js";
import { encodingOf } from "./labels.js";
import { fromBytes } from "./latin1.js";
import { decodeUtf8, unfinished } from "./utf8.js";

/** What windows-1252 has from 0x80 to 0x9F. */
const WINDOWS =
  "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f" +
  "\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

/** Makes bytes into text. */
export class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  /** The start of a character whose end was not given yet. */
  #kept = new Uint8Array();
  #begun = false;

  /**
   * @param {string} [label]
   * @param {{ fatal?: boolean, ignoreBOM?: boolean }} [options]
   */
  constructor(label = "utf-8", options = {}) {
    this.#encoding = encodingOf(String(label));
    this.#fatal = Boolean(options?.fatal);
    this.#ignoreBOM = Boolean(options?.ignoreBOM);
  }

  get encoding() {
    return this.#encoding;
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#ignoreBOM;
  }

  /**
   * @param {ArrayBuffer | ArrayBufferView} [input]
   * @param {{ stream?: boolean }} [options]
   */
  decode(input, options = {}) {
    const given = input === undefined ? new Uint8Array() : bytesOf(input);
    if (!given) throw new TypeError("decode: not an ArrayBuffer, nor a view of one");
    const bytes = joined(this.#kept, given);
    const end = bytes.length - (options?.stream ? this.#unfinished(bytes) : 0);
    this.#kept = new Uint8Array();
    const begun = this.#begun;
    this.#begun = false;
    const text = this.#decoded(bytes.subarray(0, end));
    if (options?.stream) {
      this.#kept = bytes.slice(end);
      this.#begun = begun || text !== "";
    }
    const mark = !begun && !this.#ignoreBOM && this.#encoding !== "windows-1252";
    return mark && text.startsWith("\ufeff") ? text.slice(1) : text;
  }

  /** @param {Uint8Array} bytes */
  #unfinished(bytes) {
    if (this.#encoding === "utf-8") return unfinished(bytes);
    if (this.#encoding === "windows-1252") return 0;
    const odd = bytes.length % 2;
    const high = bytes[bytes.length - odd - (this.#encoding === "utf-16le" ? 1 : 2)];
    return odd + (high !== undefined && (high & 0xfc) === 0xd8 ? 2 : 0);
  }

  /** @param {Uint8Array} bytes */
  #decoded(bytes) {
    if (this.#encoding === "utf-8") return decodeUtf8(bytes, this.#fatal);
    if (this.#encoding === "windows-1252") {
      return fromBytes(bytes).replace(/[\x80-\x9f]/g, (one) => {
        return WINDOWS.charAt(one.charCodeAt(0) - 0x80);
      });
    }
    const text = utf16(bytes, this.#encoding === "utf-16le");
    if (text.isWellFormed()) return text;
    if (this.#fatal) throw new TypeError(`the data is not valid ${this.#encoding}`);
    return text.toWellFormed();
  }

  get [Symbol.toStringTag]() {
    return "TextDecoder";
  }
}

/** Half a unit at the end becomes a lone surrogate, which is wrong too. @param {Uint8Array} bytes @param {boolean} little */
function utf16(bytes, little) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let text = "";
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    text += String.fromCharCode(view.getUint16(at, little));
  }
  return bytes.length % 2 ? `${text}\ud800` : text;
}

/** @param {Uint8Array} one @param {Uint8Array} other */
function joined(one, other) {
  if (one.length === 0) return other;
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
