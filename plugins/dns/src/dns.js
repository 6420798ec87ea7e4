// An example plugin: keeps each DNSRecord at an HTTP API.
//
// The server has no record before `reconcile` puts it there, and none after `finalize`. Each request says the whole
// record under the UID of its object, so a repeated request changes nothing.

import { Condition, controller, done, terminal, transient } from "@windlass/sdk";
import { fetch } from "@windlass/sdk/http";

const SERVER = "https://dns.example.com";

/**
 * The kind of dnsrecord.crd.yaml, which also gives the defaults.
 * @typedef {import("@windlass/sdk").KubernetesObject & {
 *   spec: { name: string, type: string, ttl: number, values: string[] },
 *   status?: { conditions?: Condition[] },
 * }} DNSRecord
 */

/** @type {import("@windlass/sdk").Declaration<DNSRecord>} */
const records = {
  watches: ["examples.windlass.dev/v1", "DNSRecord"],
  // The plugin's own status needs no further request.
  trigger: "spec-change",
  origins: [SERVER],
  writesStatus: true,

  reconcile(record, cluster) {
    const { status, ok } = fetch(cluster, url(record), {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(record.spec),
    });
    const ready = ok
      ? Condition.holds("Ready", "Stored", "the server has the record")
      : Condition.fails("Ready", "Refused", `the server answered ${status}`);
    const { generation } = record.metadata;
    const condition = ready.observed(generation).since(record.status?.conditions, cluster.now());
    cluster.applyStatus(record, { observedGeneration: generation, conditions: [condition] });
    // Only another spec helps if the server calls the record wrong.
    if (!ok) throw (status === 422 ? terminal : transient)(ready.message);
  },

  finalize(record, cluster) {
    const { status, ok } = fetch(cluster, url(record), { method: "DELETE" });
    if (!ok && status !== 404) throw transient(`the server answered ${status}`);
    return done;
  },
};

/**
 * Where the server keeps a record.
 * @param {DNSRecord} record
 */
const url = (record) => `${SERVER}/v1/records/${record.metadata.uid}`;

export const plugin = controller(records);
