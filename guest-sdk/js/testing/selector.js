// Selectors of lists: those of labels as the API server knows them, those of fields as far as tests need it.

import { refusal } from "../src/failed.js";
import { LabelSelector } from "../src/selector.js";

/** A label selector; a text that is none is refused. @param {string | import("@windlass/sdk").LabelSelector | undefined} text */
export function judged(text) {
  try {
    return LabelSelector.parse(text?.toString() ?? "");
  } catch (error) {
    throw refusal("invalid", /** @type {Error} */ (error).message);
  }
}

/**
 * Whether the values that `find` finds match a field selector: `k`, `!k`, `k=v` and `k!=v`.
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
