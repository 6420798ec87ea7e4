// Why a call to the cluster was not carried out, and what it was.

/** @type {Record<string, string>} */
const TEXTS = {
  "not-found": "not found",
  denied: "denied",
  conflict: "somebody else was first",
  gone: "what it belongs to is going away",
  unavailable: "the API server is not available",
};

/**
 * What people are told of a refusal.
 * @param {string} tag
 * @param {string | import("@windlass/sdk").Status} [why]
 */
function words(tag, why) {
  if (typeof why !== "object") return why || undefined;
  const { code, reason, message } = why;
  if (tag !== "other" || code === 0) return message || undefined;
  return `API server answered ${code}${reason && ` ${reason}`}: ${message}`;
}

/** A call to the cluster that was not carried out. */
export class ClusterError extends Error {
  /**
   * @param {import("@windlass/sdk").Code} code what to decide by
   * @param {string} call what was tried, for people: `apply ConfigMap/default/ada`
   * @param {string | import("@windlass/sdk").Status} [why] the host's words, or what the API server answered
   */
  constructor(code, call, why) {
    const [word, more] = [TEXTS[code], words(code, why)];
    super(`cannot ${call}: ${word && more ? `${word}: ${more}` : (word ?? more ?? code)}`);
    this.name = "ClusterError";
    this.code = code;
    this.call = call;
    this.status = typeof why === "object" ? why : undefined;
  }

  /** Whether there is no such object, namespace or kind. */
  get isNotFound() {
    return this.code === "not-found";
  }
}

/**
 * A set of children that is not as it was given: what is named here failed, every other child was
 * applied. Nothing was deleted, unless a delete is what failed.
 */
export class SetError extends Error {
  /** @param {import("@windlass/sdk").SetFailure[]} failures */
  constructor(failures) {
    super(failures.map(({ error }) => error.message).join("; "));
    this.name = "SetError";
    this.failures = failures;
  }
}

/**
 * What the host throws instead of carrying out a call, in the form that the bindings give it.
 * @param {import("@windlass/sdk").Code} tag
 * @param {string | import("@windlass/sdk").Status} [val]
 */
export function refusal(tag, val) {
  return Object.assign(new Error(tag), { payload: { tag, val } });
}

/**
 * What the host throws for a set, in the form that the bindings give it.
 * @param {{ index?: number, error: { tag: import("@windlass/sdk").Code, val?: string | import("@windlass/sdk").Status } }[]} payload
 */
export function setRefusal(payload) {
  return Object.assign(new Error("set"), { payload });
}

/**
 * Does `action` to a set, and adds to a refusal which child it is about.
 * @template T
 * @param {string[]} names the children, as `ConfigMap/default/ada`
 * @param {() => T} action
 * @returns {T}
 */
export function doingSet(names, action) {
  try {
    return action();
  } catch (error) {
    const { payload } = /** @type {{ payload?: Parameters<typeof setRefusal>[0] }} */ (error);
    if (!Array.isArray(payload)) throw error;
    throw new SetError(
      payload.map(({ index, error: { tag, val } }) => {
        const name = names[index ?? -1];
        const call = name === undefined ? "apply the set" : `apply ${name}`;
        return { index: index ?? undefined, error: new ClusterError(tag, call, val) };
      }),
    );
  }
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

/**
 * The answers to a call for many objects, each with what was tried.
 * @template T
 * @param {string[]} calls what was to be tried, for people
 * @param {import("@windlass/sdk").Answer<T>[]} answers
 * @returns {({ val: T, error?: undefined } | { val?: undefined, error: ClusterError })[]}
 */
export function answered(calls, answers) {
  return answers.map((answer, index) => {
    if (answer.tag === "ok") return { val: answer.val };
    const { tag, val } = answer.val;
    return { error: new ClusterError(tag, String(calls[index]), val) };
  });
}
