// What QuickJS knows and TypeScript's ES2023 does not; with `?`, Node.js 20 does not know it either.

interface String {
  isWellFormed(): boolean;
  toWellFormed(): string;
}
interface Uint8ArrayConstructor {
  fromBase64?(text: string): Uint8Array<ArrayBuffer>;
}
interface Uint8Array {
  toBase64?(): string;
}
interface ArrayBuffer {
  readonly resizable: boolean;
  readonly maxByteLength: number;
  transfer?(): ArrayBuffer;
}
interface ArrayBufferConstructor {
  new (length: number, options?: { maxByteLength: number }): ArrayBuffer;
}
interface ErrorConstructor {
  isError?(value: unknown): value is Error;
}

/** A name of lib dom that the package whatwg-url-minimum uses. */
interface URLSearchParamsIterator<T> extends IterableIterator<T> {}
