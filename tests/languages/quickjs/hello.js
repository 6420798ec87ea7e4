// The hello plugin on QuickJS: one ConfigMap beside each Greeting, as in the other languages.

import { child, controller, done, manage, objectRef, terminal } from "@windlass/sdk";

/** @typedef {import("@windlass/sdk").KubernetesObject} KubernetesObject */

/** @type {import("@windlass/sdk").Declaration<KubernetesObject>} */
const hello = {
  watches: ["examples.windlass.dev/v1", "Greeting"],
  needs: [manage("v1", "ConfigMap")],
  writesStatus: true,

  reconcile(greeting, cluster) {
    const { name } = greeting.spec;
    if (!name) throw terminal("spec.name is empty");
    const { word = "Hello" } = cluster.config;
    if (!word) return;
    const text = `${word}, ${name}!`;
    const before = cluster.find(target(greeting))?.data.text ?? "None";
    cluster.log("info", "read", { before });
    const { name: own } = target(greeting);
    cluster.apply(child(greeting, "v1", "ConfigMap", own, { data: { text } }));
    cluster.applyStatus(greeting, { text });
  },

  finalize(greeting, cluster) {
    cluster.delete(target(greeting));
    return done;
  },
};

/** @param {KubernetesObject} greeting */
function target({ metadata }) {
  return objectRef("v1", "ConfigMap", metadata.namespace, `${metadata.name}-hello`);
}

export const plugin = controller(hello);
