// Label selectors: whether labels match, as the API server and the host judge it.
// Grammar and meaning: apimachinery's `labels.Parse` and `metav1.LabelSelector`.

import { terminal } from "./answer.js";

/**
 * What is wanted of the label with a key.
 * @typedef {"exists" | "absent" | "in" | "notin" | ">" | "<"} Operator
 * @typedef {{ key: string, operator: Operator, values: string[] }} Requirement
 */

const TOKEN = /[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)/y;
const NAME = /^([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** @type {Record<string, Operator>} */
const OPERATORS = { in: "in", notin: "notin", "=": "in", "==": "in", "!=": "notin" };
/** @type {Record<string, Operator>} */
const EXPRESSIONS = { In: "in", NotIn: "notin", Exists: "exists", DoesNotExist: "absent" };

/** A label selector, with the same result as in the API server and the host. */
export class LabelSelector {
  /** @type {Requirement[]} */
  #requirements;

  /** @param {Requirement[]} requirements */
  constructor(requirements) {
    this.#requirements = requirements;
  }

  /**
   * Reads a selector's text (`app=web,tier notin (db)`); empty text selects all. Throws a terminal
   * failure if it is none.
   * @param {string} text
   */
  static parse(text) {
    return readable(JSON.stringify(text.slice(0, 200)), () => new Parser(text).selector());
  }

  /**
   * Reads what objects have in their fields, such as `spec.selector` of a Deployment. As in Go, null is
   * what is absent, and an empty text in a map. Throws a terminal failure if it is not a selector.
   * @param {import("@windlass/sdk").LabelSelectorFields} fields
   */
  static of({ matchLabels, matchExpressions }) {
    return readable("it", () => [
      ...Object.entries(matchLabels ?? {}).map(([key, value]) => checked(key, "in", [value ?? ""])),
      ...(matchExpressions ?? []).map(expression),
    ]);
  }

  /**
   * Whether an object with these labels is selected.
   * @param {Record<string, string> | undefined} labels
   */
  matches(labels = {}) {
    return this.#requirements.every(({ key, operator, values }) => {
      const held = Object.hasOwn(labels, key) ? labels[key] : undefined;
      const isOne = held !== undefined && values.includes(held);
      const above = () => whole(held) && BigInt(String(held)) - BigInt(String(values[0]));
      if (operator === "exists") return held !== undefined;
      if (operator === "absent") return held === undefined;
      if (operator === "in") return isOne;
      if (operator === "notin") return !isOne;
      const by = above();
      return by !== false && (operator === ">" ? by > 0n : by < 0n);
    });
  }

  /** Its text, for `labelSelector` of a list. */
  toString() {
    return this.#requirements.map(written).join(",");
  }
}

/** @param {Requirement} requirement */
function written({ key, operator, values }) {
  if (operator === "exists") return key;
  if (operator === "absent") return `!${key}`;
  if (operator === ">" || operator === "<") return `${key}${operator}${values[0]}`;
  if (values.length === 1) return `${key}${operator === "in" ? "=" : "!="}${values[0]}`;
  return `${key} ${operator} (${values.join(",")})`;
}

/** @param {string} shown @param {() => Requirement[]} read */
function readable(shown, read) {
  try {
    return new LabelSelector(read());
  } catch (error) {
    throw terminal(`${shown} is not a label selector: ${/** @type {Error} */ (error).message}`);
  }
}

/** Whether it is a whole number of 64 bits. @param {string | undefined} value */
function whole(value) {
  if (value === undefined || !/^-?[0-9]+$/.test(value)) return false;
  return BigInt.asIntN(64, BigInt(value)) === BigInt(value);
}

/**
 * A requirement whose key and values are those of labels.
 * @param {string} key
 * @param {Operator} operator
 * @param {string[]} values
 * @returns {Requirement}
 */
function checked(key, operator, values) {
  const slash = key.indexOf("/");
  const [prefix, name] = slash < 0 ? ["a", key] : [key.slice(0, slash), key.slice(slash + 1)];
  const isKey = name !== "" && NAME.test(name) && prefix.length <= 253 && PREFIX.test(prefix);
  if (!isKey) throw new Error(`${JSON.stringify(key)} is not a label key`);
  const wrong = values.find((value) => !NAME.test(value));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a label value`);
  return { key, operator, values: [...new Set(values)] };
}

/** @param {{ key: string, operator: string, values?: string[] | null }} expression */
function expression({ key, operator: word, values: given }) {
  const values = given ?? [];
  const operator = Object.hasOwn(EXPRESSIONS, word) ? EXPRESSIONS[word] : undefined;
  if (operator === undefined) {
    throw new Error(`${JSON.stringify(word)} is not In, NotIn, Exists or DoesNotExist`);
  }
  const wants = operator === "in" || operator === "notin";
  if (wants !== values.length > 0) {
    throw new Error(`${word} of ${key} ${wants ? "needs" : "takes no"} values`);
  }
  return checked(key, operator, values);
}

/** Reads a text token by token. */
class Parser {
  /** @type {string[]} */
  #tokens = [];
  #at = 0;

  /** @param {string} text */
  constructor(text) {
    TOKEN.lastIndex = 0;
    for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
      this.#tokens.push(String(found[1]));
    }
  }

  selector() {
    /** @type {Requirement[]} */
    const requirements = [];
    if (this.#peek() === undefined) return requirements;
    for (;;) {
      requirements.push(this.#requirement());
      const token = this.#take();
      if (token === undefined) return requirements;
      if (token !== ",") throw unexpected("a comma", token);
    }
  }

  #peek() {
    return this.#tokens[this.#at];
  }

  #take() {
    return this.#tokens[this.#at++];
  }

  #requirement() {
    const absent = this.#peek() === "!";
    if (absent) this.#take();
    const key = this.#word("a label's key");
    if (absent) return checked(key, "absent", []);
    if (this.#ends()) return checked(key, "exists", []);
    const sign = this.#take() ?? "";
    if (sign === "in" || sign === "notin") return checked(key, sign, this.#values());
    if (sign === ">" || sign === "<") {
      const value = this.#value();
      if (!whole(value)) throw new Error(`${JSON.stringify(value)} is not a whole number`);
      return checked(key, sign, [value]);
    }
    const operator = Object.hasOwn(OPERATORS, sign) ? OPERATORS[sign] : undefined;
    if (operator) return checked(key, operator, [this.#value()]);
    throw unexpected(`in, notin, =, ==, !=, < or > after ${key}`, sign);
  }

  #ends() {
    return this.#peek() === undefined || this.#peek() === ",";
  }

  /** What is after `=`: perhaps nothing. */
  #value() {
    return this.#ends() ? "" : this.#word("a label's value");
  }

  /** @param {string} what */
  #word(what) {
    const token = this.#take();
    if (token === undefined || /^[=!(),<>]/.test(token)) throw unexpected(what, token);
    return token;
  }

  /** What is in parentheses: an empty value stands before, after and between commas where no word does. */
  #values() {
    const open = this.#take();
    if (open !== "(") throw unexpected("(", open);
    const values = [];
    for (;;) {
      const empty = this.#peek() === "," || this.#peek() === ")";
      values.push(empty ? "" : this.#word("a label's value"));
      const token = this.#take();
      if (token === ")") return values;
      if (token !== ",") throw unexpected(", or )", token);
    }
  }
}

/** @param {string} wanted @param {string | undefined} token */
function unexpected(wanted, token) {
  const found = token === undefined ? "its end" : JSON.stringify(token);
  return new Error(`expected ${wanted}, found ${found}`);
}
