// Kubernetes' selector text, as far as tests need it.

import { refusal } from "../src/failed.js";

const NAME = /^(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const PREFIX = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * Refuses a label selector with a key or a value that no label can have, as the API server does.
 * @param {string | undefined} selector
 */
export function checkLabels(selector) {
  for (const term of (selector ?? "").split(",")) {
    const [, key = "", value = ""] = /^\s*!?([^!=\s]*)\s*(?:(?:!=|==?)\s*(\S*))?/.exec(term) ?? [];
    const parts = key.split("/");
    const name = parts.pop() ?? "";
    const fine = !key || (NAME.test(name) && parts.length < 2 && parts.every((it) => PREFIX.test(it)));
    if (!fine || (value && !NAME.test(value))) {
      throw refusal("invalid", `the label selector ${term.trim()} has a key or value that no label can have`);
    }
  }
}

/**
 * Whether the values that `find` finds match a selector: `k`, `!k`, `k=v` and `k!=v`.
 * @param {string | undefined} selector
 * @param {(name: string) => string | undefined} find
 */
export function selected(selector, find) {
  const terms = (selector ?? "").split(",").map((term) => term.trim());
  return terms.filter(Boolean).every((term) => {
    if (/[(<>\s]/.test(term)) {
      throw refusal("invalid", `FakeCluster does not know the selector ${term}`);
    }
    const [, name, sign, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term) ?? [];
    if (name !== undefined) return (find(name) === value) === (sign !== "!=");
    if (term.startsWith("!")) return find(term.slice(1)) === undefined;
    return find(term) !== undefined;
  });
}
