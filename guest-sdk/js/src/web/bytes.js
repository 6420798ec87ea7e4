// The bytes behind a buffer or a view of one.

/**
 * A view of the same bytes, or nothing if `value` has none.
 * @param {unknown} value
 * @returns {Uint8Array | undefined}
 */
export function bytesOf(value) {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return new Uint8Array(value);
  }
  return undefined;
}
