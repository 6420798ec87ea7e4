// UTF-8 into text, in pieces that the engine decodes by itself.

import { fromBytes } from "./latin1.js";

const PIECE = 1 << 15;
const ASCII = /^[\0-\x7f]*$/;

/**
 * Decodes all of `bytes`. What is wrong becomes U+FFFD, or is an error if `fatal`.
 * @param {Uint8Array} bytes
 * @param {boolean} fatal
 */
export function decodeUtf8(bytes, fatal) {
  let text = "";
  for (let start = 0, end; start < bytes.length; start = end) {
    end = boundary(bytes, Math.min(start + PIECE, bytes.length));
    text += piece(bytes.subarray(start, end), fatal);
  }
  return text;
}

/**
 * How many bytes at the end are the beginning of a character that is not complete.
 * @param {Uint8Array} bytes
 */
export function unfinished(bytes) {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const at = bytes.length - count;
    const lead = Number(bytes[at]);
    if ((lead & 0xc0) === 0x80) continue;
    const [more, least, most] = after(lead);
    const second = bytes[at + 1] ?? least;
    return count <= more && second >= least && second <= most ? count : 0;
  }
  return 0;
}

/** The last place up to `end` where no character is cut. @param {Uint8Array} bytes @param {number} end */
function boundary(bytes, end) {
  for (let at = end; at > end - 4 && at > 0; at -= 1) {
    if (at === bytes.length || (Number(bytes[at]) & 0xc0) !== 0x80) return at;
  }
  return end;
}

/** @param {Uint8Array} bytes @param {boolean} fatal */
function piece(bytes, fatal) {
  const latin = fromBytes(bytes);
  if (ASCII.test(latin)) return latin;
  try {
    return decodeURIComponent(escape(latin));
  } catch {
    if (fatal) throw new TypeError("the data is not valid UTF-8");
    return replaced(bytes);
  }
}

/** The Encoding Standard's decoder, byte for byte. @param {Uint8Array} bytes */
function replaced(bytes) {
  const text = [];
  let [point, more, least, most] = [0, 0, 0x80, 0xbf];
  for (const byte of bytes) {
    if (more > 0 && byte >= least && byte <= most) {
      point = (point << 6) | (byte & 0x3f);
      [more, least, most] = [more - 1, 0x80, 0xbf];
      if (more === 0) text.push(String.fromCodePoint(point));
      continue;
    }
    if (more > 0) text.push("\ufffd");
    [more, least, most] = after(byte);
    // Of a lead byte, the bits that belong to the character.
    point = byte & (0x3f >> more);
    if (byte < 0x80) text.push(String.fromCharCode(byte));
    else if (more === 0) text.push("\ufffd");
  }
  if (more > 0) text.push("\ufffd");
  return text.join("");
}

/**
 * How many bytes follow `lead`, and the bounds of the first of them.
 * @param {number} lead
 * @returns {[more: number, least: number, most: number]}
 */
function after(lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return [1, 0x80, 0xbf];
  if (lead >= 0xe0 && lead <= 0xef) {
    return [2, lead === 0xe0 ? 0xa0 : 0x80, lead === 0xed ? 0x9f : 0xbf];
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    return [3, lead === 0xf0 ? 0x90 : 0x80, lead === 0xf4 ? 0x8f : 0xbf];
  }
  return [0, 0x80, 0xbf];
}
