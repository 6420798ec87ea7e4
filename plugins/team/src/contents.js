// What is in the namespace of a Team.

import { child, inNamespace } from "@windlass/sdk";

const RBAC = "rbac.authorization.k8s.io";

/** @typedef {import("./team.js").Team} Team */

/**
 * The contents. The quota is the first.
 * @param {Team} team
 * @param {string} namespace
 */
export function contents(team, namespace) {
  return [quota(team), limits(team), ingress(team), rights(team)].map((object) =>
    inNamespace(object, namespace),
  );
}

/** @param {Team} team */
function quota(team) {
  const { cpu, memory, pods } = team.spec.quota;
  const hard = { "requests.cpu": cpu, "requests.memory": memory, pods: `${pods}` };
  return child(team, "v1", "ResourceQuota", "team", { spec: { hard } });
}

/**
 * What containers get that do not say what they need. Without it, the quota refuses them.
 * @param {Team} team
 */
function limits(team) {
  const limit = {
    type: "Container",
    default: { cpu: "500m", memory: "512Mi" },
    defaultRequest: { cpu: "100m", memory: "128Mi" },
  };
  return child(team, "v1", "LimitRange", "team", { spec: { limits: [limit] } });
}

/**
 * Lets pods of the namespace connect to each other, and those of some other namespaces.
 * @param {Team} team
 */
function ingress(team) {
  const others = team.spec.allowFrom.map((name) => ({
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
  }));
  const from = [{ podSelector: {} }, ...others];
  const spec = { podSelector: {}, policyTypes: ["Ingress"], ingress: [{ from }] };
  return child(team, "networking.k8s.io/v1", "NetworkPolicy", "team", { spec });
}

/**
 * Gives the members their role. A RoleBinding cannot change its role, so another role is another RoleBinding.
 * @param {Team} team
 */
function rights(team) {
  const { role, members } = team.spec;
  const subjects = members.map(({ kind, name, namespace }) =>
    namespace ? { kind, name, namespace } : { kind, name, apiGroup: RBAC },
  );
  const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: role };
  return child(team, `${RBAC}/v1`, "RoleBinding", `team-${role}`, { roleRef, subjects });
}
