// A mistake in another file.

/** @type {any} */
const nothing = undefined;

export function deepest() {
  return nothing(); // place: farBelow
}
