// Calls for many objects: the same single call for each, in the batches of the host.

/** Objects of a call at most. */
const MOST = 1000;

/** The largest batch. */
const BATCH = 32;

/**
 * Carries out `single` for each of `given`, up to the end of the batch in which one failed with an error that `stops` it.
 * @template T
 * @template A
 * @param {T[]} given
 * @param {(item: T) => A} single
 * @param {(code: import("@windlass/sdk").Code) => boolean} [stops]
 * @returns {import("@windlass/sdk").Answer<A>[]}
 */
export function inBatches(given, single, stops = () => true) {
  if (given.length > MOST) {
    return [{ tag: "err", val: { tag: "invalid", val: `${MOST} objects are the most` } }];
  }
  /** @type {import("@windlass/sdk").Answer<A>[]} */
  const answers = [];
  let size = 1;
  while (answers.length < given.length) {
    const batch = given.slice(answers.length, answers.length + size);
    const tried = batch.map((item) => answer(() => single(item)));
    answers.push(...tried);
    if (tried.some((tried) => tried.tag === "err" && stops(tried.val.tag))) break;
    size = Math.min(size * 2, BATCH);
  }
  return answers;
}

/**
 * What `action` gives, or how it is refused.
 * @template A
 * @param {() => A} action
 * @returns {import("@windlass/sdk").Answer<A>}
 */
function answer(action) {
  try {
    return { tag: "ok", val: action() };
  } catch (error) {
    const { payload } = /** @type {any} */ (error);
    if (!payload?.tag) throw error;
    return { tag: "err", val: payload };
  }
}
