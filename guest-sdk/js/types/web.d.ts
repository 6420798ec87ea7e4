// The types of the web's globals in a plugin. They differ from those of browsers where a plugin does:
// bodies are read at once, and there are no streams.

/** Anything with bytes. */
export type Bytes = ArrayBuffer | ArrayBufferView;
export type BodyInit = string | URLSearchParams | Bytes;
export type HeadersInit = Headers | Iterable<readonly [string, string]> | Record<string, string>;

export interface RequestInit {
  method?: string;
  headers?: HeadersInit;
  body?: BodyInit | null;
}

export interface ResponseInit {
  status?: number;
  statusText?: string;
  headers?: HeadersInit;
}

export declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

export declare class URLSearchParams {
  constructor(
    init?: string | URLSearchParams | Iterable<readonly [string, string]> | Record<string, string>,
  );
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(
    each: (value: string, name: string, params: URLSearchParams) => void,
    self?: unknown,
  ): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  toString(): string;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

export declare class Headers {
  constructor(init?: HeadersInit);
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  forEach(each: (value: string, name: string, headers: Headers) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

/** Read once, and at once: the methods return values, not promises. `await` takes both. */
export declare class Body {
  readonly bodyUsed: boolean;
  text(): string;
  json(): any;
  bytes(): Uint8Array<ArrayBuffer>;
  arrayBuffer(): ArrayBuffer;
}

export declare class Request extends Body {
  constructor(input: string | URL | Request, init?: RequestInit);
  readonly headers: Headers;
  readonly method: string;
  readonly url: string;
  clone(): Request;
}

export declare class Response extends Body {
  constructor(body?: BodyInit | null, init?: ResponseInit);
  static json(data: unknown, init?: ResponseInit): Response;
  readonly headers: Headers;
  readonly ok: boolean;
  readonly redirected: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly type: string;
  readonly url: string;
  clone(): Response;
}

export declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}

/** For `utf-8`, `utf-16le`, `utf-16be` and `windows-1252`, which is also `latin1`. */
export declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: Bytes, options?: { stream?: boolean }): string;
}

/** A deep copy. Buffers in `transfer` move into it. */
export declare function structuredClone<T>(value: T, options?: { transfer?: ArrayBuffer[] }): T;

/** Works in a call only, not while modules are loaded. */
export interface Crypto {
  /** Fills an array of integers, of at most 65,536 bytes. */
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
}
