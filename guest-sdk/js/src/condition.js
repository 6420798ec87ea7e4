// Conditions: what everybody may ask about an object, and since when it is so.

/**
 * One entry of `status.conditions`, as Kubernetes' own `metav1.Condition`.
 *
 * Apply only the conditions that the plugin sets itself: the list merges by type, and what is
 * applied is owned.
 */
export class Condition {
  /**
   * @param {string} type
   * @param {"True" | "False" | "Unknown"} status
   * @param {string} reason
   * @param {string} message
   */
  constructor(type, status, reason, message) {
    this.type = type;
    this.status = status;
    this.reason = reason;
    this.message = message;
    this.lastTransitionTime = "";
    this.observedGeneration = 0;
  }

  /**
   * A condition that is true. Complete each of these three with `since`.
   * @param {string} type
   * @param {string} reason
   * @param {string} message
   */
  static holds(type, reason, message) {
    return new Condition(type, "True", reason, message);
  }

  /**
   * A condition that is false.
   * @param {string} type
   * @param {string} reason
   * @param {string} message
   */
  static fails(type, reason, message) {
    return new Condition(type, "False", reason, message);
  }

  /**
   * A condition of which nothing is known.
   * @param {string} type
   * @param {string} reason
   * @param {string} message
   */
  static unknown(type, reason, message) {
    return new Condition(type, "Unknown", reason, message);
  }

  /**
   * The same, as seen at a generation of the object.
   * @param {number | undefined} generation
   */
  observed(generation) {
    return Object.assign(this.#copy(), { observedGeneration: generation ?? 0 });
  }

  /**
   * Dates the condition: as before if `before` has one of this type with the same status, otherwise
   * `now` (as `cluster.now()` gives it), in whole seconds as everywhere in Kubernetes.
   * @param {readonly { type: string, status: string, lastTransitionTime?: string }[] | undefined} before
   * @param {string} now
   */
  since(before, now) {
    const old = before?.find((one) => one.type === this.type && one.status === this.status);
    const lastTransitionTime = old?.lastTransitionTime || now.replace(/\.\d+Z$/, "Z");
    return Object.assign(this.#copy(), { lastTransitionTime });
  }

  #copy() {
    return Object.assign(new Condition("", "Unknown", "", ""), this);
  }
}
