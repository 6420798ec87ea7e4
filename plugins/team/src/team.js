// An example plugin: gives each Team a namespace with a quota, default limits, a network policy and rights.
//
// A Team is cluster-scoped, so it can own its Namespace and what is in it: Kubernetes deletes all of it with the Team. The
// Namespace is created and never taken over. Only when it belongs to the Team, its contents are applied, as one set.

import { child, Condition, controller, manage, need, objectRef, terminal } from "@windlass/sdk";
import { contents } from "./contents.js";

/**
 * The kind of team.crd.yaml, which also gives the defaults.
 * @typedef {import("@windlass/sdk").KubernetesObject & {
 *   spec: {
 *     members: { kind: string, name: string, namespace?: string }[],
 *     role: string,
 *     quota: { cpu: string, memory: string, pods: number },
 *     allowFrom: string[],
 *   },
 *   status?: { conditions?: Condition[], used?: Record<string, string> },
 * }} Team
 */

/** @typedef {import("@windlass/sdk").Cluster} Cluster */

/** @type {import("@windlass/sdk").Declaration<Team>} */
const teams = {
  watches: ["examples.windlass.dev/v1", "Team"],
  // The plugin's own status needs no further call.
  trigger: "spec-change",
  needs: [
    need("v1", "Namespace", ["get", "list", "watch", "create", "patch"]),
    manage("v1", "ResourceQuota"),
    manage("v1", "LimitRange"),
    manage("networking.k8s.io/v1", "NetworkPolicy"),
    manage("rbac.authorization.k8s.io/v1", "RoleBinding"),
  ],
  writesStatus: true,

  reconcile(team, cluster) {
    const name = `team-${team.metadata.name}`;
    const wanted = child(team, "v1", "Namespace", name, {
      metadata: {
        labels: {
          "examples.windlass.dev/team": team.metadata.name,
          "pod-security.kubernetes.io/enforce": "baseline",
        },
      },
    });
    const there = cluster.find(objectRef("v1", "Namespace", undefined, name));
    const owners = there?.metadata.ownerReferences ?? [];
    if (there && !owners.some(({ uid }) => uid === team.metadata.uid)) {
      const note = `the namespace ${name} exists, and does not belong to this Team`;
      report(team, cluster, name, Condition.fails("Ready", "NamespaceTaken", note));
      // The host calls again when the Namespace changes.
      throw terminal(note);
    }
    if (there?.metadata.deletionTimestamp) {
      const note = `the namespace ${name} is being deleted, and made again after that`;
      report(team, cluster, name, Condition.fails("Ready", "Terminating", note));
      return;
    }
    // An apply would take over the Namespace of somebody else who makes one at this moment.
    if (!there) cluster.create(wanted);
    cluster.apply(wanted);
    const [quota] = cluster.applySet(contents(team, name));
    const ready = Condition.holds("Ready", "Provisioned", "the namespace is as the spec asks");
    report(team, cluster, name, ready, quota?.status?.used);
  },
};

/**
 * Writes the status.
 * @param {Team} team
 * @param {Cluster} cluster
 * @param {string} namespace
 * @param {Condition} ready
 * @param {Record<string, string>} [used]
 */
function report(team, cluster, namespace, ready, used = {}) {
  const { generation } = team.metadata;
  const condition = ready.observed(generation).since(team.status?.conditions, cluster.now());
  const status = { observedGeneration: generation, namespace, used, conditions: [condition] };
  cluster.applyStatus(team, status);
}

export const plugin = controller(teams);
