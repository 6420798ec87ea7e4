// A cluster in memory, and fixture files that run on it, for plain `node --test`.
//
// What it does not do: schemas and their defaults, admission, RBAC, conversion between versions of a
// group, garbage collection. Lists merge by key only under the field names that Kubernetes uses for
// it (containers, env, conditions, ...), and are replaced whole otherwise. An edit by somebody else
// owns nothing, and a field shared by two managers stays when one of them drops it.

export { FakeCluster } from "./fake-cluster.js";
export { clusterGiven, loadFixture, runFixture, runFixtures } from "./fixtures.js";
