// A Table has a Pod `<table>-guest-<n>` for each guest, and a ConfigMap `<table>-seat-<n>`.

import { child, controller, manage, objectRef } from "@windlass/sdk";
import { configMap, isOwned, put } from "./maps.js";

/** @typedef {import("./maps.js").Any} Any */
/** @typedef {import("./maps.js").Cluster} Cluster */

/** How many guests there can be. */
const MOST = 3;

const containers = [{ name: "guest", image: "busybox", command: ["sleep", "infinity"] }];

/** @type {import("@windlass/sdk").Declaration} */
const declaration = {
  watches: ["tests.windlass.dev/v1", "Table"],
  needs: [manage("v1", "ConfigMap"), manage("v1", "Pod")],

  reconcile(table, cluster) {
    for (let number = 1; number <= MOST; number += 1) {
      if (number <= table.spec.guests) sit(table, cluster, number);
      else leave(table, cluster, number);
    }
  },
};

/**
 * @param {Any} table
 * @param {number} number
 */
const podOf = ({ metadata: { namespace, name } }, number) =>
  objectRef("v1", "Pod", namespace, `${name}-guest-${number}`);

/** @param {Any} table @param {number} number */
const seatOf = (table, number) => `${table.metadata.name}-seat-${number}`;

/** @param {Any} table @param {Cluster} cluster @param {number} number */
function sit(table, cluster, number) {
  put(table, cluster, seatOf(table, number), { of: table.metadata.name });
  const pod = podOf(table, number);
  if (cluster.find(pod)) return;
  cluster.create(child(table, "v1", "Pod", pod.name, { spec: { containers } }));
}

/** @param {Any} table @param {Cluster} cluster @param {number} number */
function leave(table, cluster, number) {
  const pod = /** @type {Any | undefined} */ (cluster.find(podOf(table, number)));
  if (pod && !isOwned(table, pod)) return;
  if (pod && !pod.metadata.deletionTimestamp) return cluster.delete(pod);
  // The bug: the seat goes when the guest is seen to leave, which a host that was down does not see. Instaclustr's operator
  // for Cassandra did so with volumes (instaclustr/cassandra-operator#398).
  const isTime = cluster.config.bug === "waits-to-see-it-go" ? pod : !pod;
  const seat = /** @type {Any | undefined} */ (
    cluster.find(configMap(table, seatOf(table, number)))
  );
  if (isTime && seat && isOwned(table, seat)) cluster.delete(seat);
}

export const tables = controller(declaration);
