// HTTP requests to servers outside the cluster. Only plugins that import this have its code.

import { makeFetchSync } from "./web/fetch.js";

export { FetchError } from "./web/fetch-error.js";

/**
 * Sends one HTTP request and waits for the whole answer, as the standard `fetch` does, but at once.
 * @param {import("@windlass/sdk").Cluster} cluster
 * @param {Parameters<ReturnType<typeof makeFetchSync>>[0]} input
 * @param {Parameters<ReturnType<typeof makeFetchSync>>[1]} [init]
 */
export function fetch(cluster, input, init) {
  return makeFetchSync((request) => cluster.send(request))(input, init);
}
