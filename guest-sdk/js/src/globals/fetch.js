// Makes `fetch` global, in a component only: it says what to use instead.
//
// It returned a promise, and those settle after the call only. So it throws at once.

Object.assign(globalThis, {
  fetch() {
    throw new TypeError(
      'fetch is not available in a plugin: use fetch(cluster, url) of "@windlass/sdk/http", which answers at once',
    );
  },
});
