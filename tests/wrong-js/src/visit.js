// A Visit has these ConfigMaps, and a record at `https://visits.example.com`, which `finalize` deletes:
//
// - `<visit>-badge`, made once and never changed;
// - `<visit>-ticket`, with the number of guests: it is written by the one who holds the lock `gate`.

import {
  child,
  ClusterError,
  controller,
  done,
  manage,
  requeueAfter,
  transient,
} from "@windlass/sdk";
import { fetch } from "@windlass/sdk/http";
import { configMap, isOwned, put } from "./maps.js";

/** @typedef {import("./maps.js").Any} Any */
/** @typedef {import("./maps.js").Cluster} Cluster */

const SERVER = "https://visits.example.com";

/** @type {import("@windlass/sdk").Declaration} */
const declaration = {
  watches: ["tests.windlass.dev/v1", "Visit"],
  needs: [manage("v1", "ConfigMap")],
  writesStatus: true,
  origins: [SERVER],

  reconcile(visit, cluster) {
    badge(visit, cluster);
    if (!ticket(visit, cluster)) return requeueAfter("10s");
    const record = registered(visit, cluster);
    cluster.applyStatus(visit, { record });
  },

  finalize(visit, cluster) {
    const record = found(visit, cluster);
    const path = cluster.config.bug === "fails-when-it-is-gone" ? visit.status?.record : record;
    if (!path) return done;
    const response = fetch(cluster, `${SERVER}${path}`, { method: "DELETE" });
    // The bug: what is gone already is an error, and the finalizer stays forever. The operator for Pulsar's resources did so
    // when its finalizer could not be removed at once (streamnative/pulsar-resources-operator#114).
    const isGone = response.status === 404 && cluster.config.bug !== "fails-when-it-is-gone";
    if (!response.ok && !isGone) throw transient(`the server answered ${response.status}`);
    return done;
  },
};

/**
 * Makes the badge, unless it is there.
 * @param {Any} visit
 * @param {Cluster} cluster
 */
function badge(visit, cluster) {
  const name = `${visit.metadata.name}-badge`;
  const isBroken = cluster.config.bug === "takes-an-error-for-there";
  if (!isBroken && cluster.find(configMap(visit, name))) return;
  try {
    cluster.create(child(visit, "v1", "ConfigMap", name));
  } catch (error) {
    // The bug: every error means that it is there already. It is the `except ApiException: pass` of many operators in
    // Python (the class of errors that only logs show, of which Sieve found five).
    if (!isBroken && !(error instanceof ClusterError && error.code === "conflict")) throw error;
  }
}

/**
 * Writes the ticket under the lock; false if somebody else holds it.
 * @param {Any} visit
 * @param {Cluster} cluster
 */
function ticket(visit, cluster) {
  const name = `${visit.metadata.name}-ticket`;
  const guests = String(visit.spec.guests);
  const there = /** @type {Any | undefined} */ (cluster.find(configMap(visit, name)));
  if (there && !isOwned(visit, there)) throw transient(`${name} belongs to somebody else`);
  const lock = /** @type {Any | undefined} */ (cluster.find(configMap(visit, "gate")));
  // The bug: who has died with the lock in its hand waits for itself. Pulumi's operator did so with the locks of stacks
  // (pulumi/pulumi-kubernetes-operator#368), and Percona's with that of backups (K8SPSMDB-1619).
  const isMine = lock && isOwned(visit, lock) && cluster.config.bug !== "keeps-the-lock";
  if (there?.data?.guests === guests && !isMine) return true;
  if (lock && !isMine) return false;
  try {
    if (!lock) cluster.create(child(visit, "v1", "ConfigMap", "gate"));
    put(visit, cluster, name, { guests });
  } finally {
    cluster.delete(configMap(visit, "gate"));
  }
  return true;
}

/**
 * The path of the visit's record at the server, which is made if there is none.
 * @param {Any} visit
 * @param {Cluster} cluster
 */
function registered(visit, cluster) {
  // The bug: what was made, and is not in the status yet, is made again. Coralogix's operator did so
  // (coralogix/coralogix-operator#595).
  const isBroken = cluster.config.bug === "posts-again";
  const listed = found(visit, cluster);
  const known = isBroken ? visit.status?.record : listed;
  if (known) return known;
  const body = JSON.stringify({ visit: visit.metadata.uid });
  const response = fetch(cluster, `${SERVER}/visits`, { method: "POST", body });
  if (!response.ok) throw transient(`the server answered ${response.status}`);
  return `/visits/${response.json().id}`;
}

/**
 * The path of the visit's record at the server, if there is one.
 * @param {Any} visit
 * @param {Cluster} cluster
 */
function found(visit, cluster) {
  const response = fetch(cluster, `${SERVER}/visits`);
  if (!response.ok) throw transient(`the server answered ${response.status}`);
  const all = /** @type {{ id: string, visit: string }[]} */ (response.json());
  const own = all.find((record) => record.visit === visit.metadata.uid);
  return own && `/visits/${own.id}`;
}

export const visits = controller(declaration);
