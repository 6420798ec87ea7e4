// `Headers`, as the Fetch Standard has it.

/** Takes the lines of an answer as they came: they may have characters that a request must not have. */
export const LINES = Symbol("lines");

/** @typedef {[name: string, value: string]} Line */

/** Header lines by name, whatever its case. */
export class Headers {
  /** In the order given, names in lower case. @type {Line[]} */
  #lines = [];

  /** @param {Headers | Iterable<Iterable<string>> | Record<string, string>} [init] */
  constructor(init) {
    if (init === undefined) return;
    if (typeof init !== "object" || init === null) throw new TypeError("Headers: not an object");
    if (!(Symbol.iterator in init)) {
      for (const name of Reflect.ownKeys(init)) {
        if (!Object.getOwnPropertyDescriptor(init, name)?.enumerable) continue;
        if (typeof name === "symbol") throw new TypeError("Headers: a symbol is not a name");
        this.append(name, /** @type {any} */ (init)[name]);
      }
      return;
    }
    for (const pair of init) {
      const [name, value, ...rest] = typeof pair === "object" ? pair : [];
      if (name === undefined || value === undefined || rest.length > 0) {
        throw new TypeError("Headers: a pair is a name and a value");
      }
      this.append(name, value);
    }
  }

  /** @param {Line[]} lines @returns {Headers} */
  static [LINES](lines) {
    const headers = new Headers();
    headers.#lines = lines.map(([name, value]) => [name.toLowerCase(), value]);
    return headers;
  }

  /** @returns {Line[]} */
  get [LINES]() {
    return [...this.#lines];
  }

  /** @param {string} name @param {string} value */
  append(name, value) {
    given(arguments.length, 2, "append");
    this.#lines.push([nameOf(name), valueOf(name, value)]);
  }

  /** @param {string} name @param {string} value */
  set(name, value) {
    given(arguments.length, 2, "set");
    const [key, text] = [nameOf(name), valueOf(name, value)];
    const first = this.#lines.find(([one]) => one === key);
    if (!first) return void this.#lines.push([key, text]);
    first[1] = text;
    this.#lines = this.#lines.filter((line) => line === first || line[0] !== key);
  }

  /** @param {string} name */
  delete(name) {
    const key = nameOf(name);
    this.#lines = this.#lines.filter(([one]) => one !== key);
  }

  /** @param {string} name */
  has(name) {
    return this.#values(nameOf(name)).length > 0;
  }

  /** @param {string} name @returns {string | null} */
  get(name) {
    const values = this.#values(nameOf(name));
    return values.length > 0 ? values.join(", ") : null;
  }

  getSetCookie() {
    return this.#values("set-cookie");
  }

  /** @param {(value: string, name: string, headers: Headers) => void} each @param {unknown} [self] */
  forEach(each, self) {
    if (typeof each !== "function") throw new TypeError("forEach: not a function");
    for (const [name, value] of this) each.call(self, value, name, this);
  }

  /** Sorted by name; what is added while this runs is seen. @returns {Generator<Line, undefined>} */
  *entries() {
    for (let at = 0; ; at += 1) {
      const line = this.#sorted()[at];
      if (!line) return;
      yield line;
    }
  }

  *keys() {
    for (const [name] of this) yield name;
  }

  *values() {
    for (const [, value] of this) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  get [Symbol.toStringTag]() {
    return "Headers";
  }

  /** @param {string} key */
  #values(key) {
    return this.#lines.filter(([name]) => name === key).map(([, value]) => value);
  }

  /** @returns {Line[]} */
  #sorted() {
    const names = [...new Set(this.#lines.map(([name]) => name))].sort();
    return names.flatMap((name) => {
      const values = this.#values(name);
      return (name === "set-cookie" ? values : [values.join(", ")]).map(
        (value) => /** @type {Line} */ ([name, value]),
      );
    });
  }
}

/**
 * Refuses a call without all of its arguments: `undefined` is a value.
 * @param {number} count
 * @param {number} least
 * @param {string} what
 */
function given(count, least, what) {
  if (count < least) throw new TypeError(`Headers: ${what} takes a name and a value`);
}

/** @param {unknown} name */
function nameOf(name) {
  const text = String(name);
  if (/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) return text.toLowerCase();
  throw new TypeError(`Headers: ${JSON.stringify(text)} is not a name of a header`);
}

/** @param {unknown} name @param {unknown} value */
function valueOf(name, value) {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/^[^\0\n\r\u0100-\uffff]*$/.test(text)) return text;
  throw new TypeError(`Headers: the value of ${name} has a character that no header may have`);
}
