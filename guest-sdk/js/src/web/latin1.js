// Bytes as text with one character for each, and back.
//
// QuickJS has conversions of its own that older Node.js has not; loops are 20 times slower there.

/** What one call may take as arguments. */
const CHUNK = 4096;

/** @param {Uint8Array} bytes @returns {string} */
export function fromBytes(bytes) {
  const packed = bytes.toBase64?.();
  if (packed !== undefined) return atob(packed);
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return text;
}

/** @param {string} text of characters up to U+00FF @returns {Uint8Array<ArrayBuffer>} */
export function toBytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(btoa(text));
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}
