// Greets the person that a `Greeting` names.

import { child, controller, manage } from "@windlass/sdk";

export const plugin = controller({
  watches: ["greeter.example.dev/v1", "Greeting"],
  // What else it touches; plugin.yaml grants it.
  needs: [manage("v1", "ConfigMap")],
  writesStatus: true,

  // Called when the Greeting changes, or anything that an earlier call has read or written.
  reconcile(greeting, cluster) {
    const text = `Hello, ${greeting.spec.name}!`;
    const name = `${greeting.metadata.name}-greeting`;
    cluster.applySet([child(greeting, "v1", "ConfigMap", name, { data: { text } })]);
    cluster.applyStatus(greeting, { text });
  },
});
