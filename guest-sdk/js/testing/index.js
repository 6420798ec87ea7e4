// A cluster in memory, and fixture files that run on it, for plain `node --test`.
//
// The command `windlass` plays the cluster: this module starts `windlass fake`, which has the API server and the host of
// `windlass test`. `WINDLASS` names the command; without it, it is the `windlass` of `PATH`.

export { FakeCluster } from "./fake-cluster.js";
export { clusterGiven, runFixture, runFixtures } from "./fixtures.js";
