// The example plugin in JavaScript: greets the person that a `Greeting` names.
//
// Each Greeting has two children, a ConfigMap with the text and a Deployment that serves it, and
// an entry in the register: a ConfigMap in the namespace `greetings`. An owner reference may not
// point into another namespace, so the register is what `finalize` is for.

import {
  ClusterError,
  Condition,
  controller,
  done,
  manage,
  requeueAfter,
  terminal,
} from "@windlass/sdk";
import { configMap, deployment, entry, entryName } from "./manifests.js";

/** Serves what is in `/www`; the operator's `image` overrides it. */
const IMAGE = "docker.io/library/busybox:1.37";
/** What to do when the register is not there. */
const REMEDY = "create the namespace greetings";

/** @typedef {import("./manifests.js").Greeting} Greeting */

/** @type {import("@windlass/sdk").Declaration<Greeting>} */
const greeter = {
  watches: ["examples.windlass.dev/v1", "Greeting"],
  needs: [manage("v1", "ConfigMap"), manage("apps/v1", "Deployment")],
  writesStatus: true,

  reconcile(greeting, cluster) {
    const name = greeting.spec.name.trim();
    if (!name) {
      const ready = Condition.fails("Ready", "BlankName", "spec.name is blank");
      cluster.applyStatus(greeting, status(greeting, cluster.now(), ready));
      throw terminal("spec.name is blank");
    }
    const text = `${greeting.spec.greeting}, ${name}!`;
    const image = cluster.config.image ?? IMAGE;
    cluster.applySet([configMap(greeting, text), deployment(greeting, image)]);
    try {
      cluster.apply(entry(greeting, text));
    } catch (error) {
      if (!(error instanceof ClusterError && error.isNotFound)) throw error;
      const ready = Condition.fails("Ready", "NoRegister", REMEDY);
      cluster.applyStatus(greeting, status(greeting, cluster.now(), ready, text));
      return requeueAfter("10s");
    }
    const ready = Condition.holds("Ready", "Applied", "children and entry are applied");
    cluster.applyStatus(greeting, status(greeting, cluster.now(), ready, text));
  },

  /** Takes the entry off the register. Kubernetes collects the children. */
  finalize(greeting, cluster) {
    cluster.delete(entryName(greeting));
    return done;
  },
};

/**
 * What was observed.
 * @param {Greeting} greeting
 * @param {string} now
 * @param {Condition} ready
 * @param {string} [text]
 */
function status(greeting, now, ready, text) {
  const { generation } = greeting.metadata;
  const condition = ready.observed(generation).since(greeting.status?.conditions, now);
  return { observedGeneration: generation, conditions: [condition], text };
}

export const plugin = controller(greeter);
