// Why a call to the cluster was not carried out, and what it was.

/** @type {Record<string, string>} */
const TEXTS = {
  "not-found": "not found",
  denied: "denied",
  conflict: "somebody else was first",
  gone: "what it belongs to is going away",
  unavailable: "the API server is not available",
};

/** A call to the cluster that was not carried out. */
export class ClusterError extends Error {
  /**
   * @param {import("@windlass/sdk").Code} code what to decide by
   * @param {string} call what was tried, for people: `apply ConfigMap/default/ada`
   * @param {string} [text] what the host had to say about `invalid` and `other`
   */
  constructor(code, call, text) {
    super(`cannot ${call}: ${TEXTS[code] ?? text ?? code}`);
    this.name = "ClusterError";
    this.code = code;
    this.call = call;
  }

  /** Whether there is no such object, namespace or kind. */
  get isNotFound() {
    return this.code === "not-found";
  }
}

/**
 * What a door throws instead of carrying out a call, in the form that the bindings give it.
 * @param {import("@windlass/sdk").Code} tag
 * @param {string} [val]
 */
export function refusal(tag, val) {
  return Object.assign(new Error(tag), { payload: { tag, val } });
}

/**
 * Does `action`, and adds to a refusal what was tried.
 * @template T
 * @param {string} call
 * @param {() => T} action
 * @returns {T}
 */
export function doing(call, action) {
  try {
    return action();
  } catch (error) {
    const { payload } = /** @type {{ payload?: ReturnType<typeof refusal>["payload"] }} */ (error);
    if (!payload?.tag) throw error;
    throw new ClusterError(payload.tag, call, payload.val);
  }
}
