// The hello plugin on StarlingMonkey: one ConfigMap beside each Greeting, by raw bindings.

import { apply, applyStatus, get, delete as remove } from "windlass:plugin/cluster@0.2.0";
import { get as config } from "windlass:plugin/config@0.2.0";
import { log } from "windlass:plugin/log@0.2.0";

const EVERY = ["get", "list", "watch", "create", "patch", "delete"];

const rule = (group, resource, verbs) => ({
  apiGroups: [group],
  resources: [resource],
  resourceNames: [],
  verbs,
  fields: [],
});

export const controller = {
  describe: () => ({
    name: "hello",
    version: "0.1.0",
    primaries: [
      {
        apiVersion: "examples.windlass.dev/v1",
        kind: "Greeting",
        trigger: "any-change",
        finalizes: "always",
        onLeave: "forget",
        fields: [],
      },
    ],
    needs: [
      rule("examples.windlass.dev", "greetings", ["get", "list", "watch", "patch"]),
      rule("examples.windlass.dev", "greetings/status", ["patch"]),
      rule("", "configmaps", EVERY),
    ],
    origins: [],
    crds: [],
  }),

  reconcile(request) {
    const { apiVersion, kind, metadata, spec } = JSON.parse(request.object);
    const { name, namespace, uid } = metadata;
    if (!spec.name) throw { tag: "terminal", val: "spec.name is empty" };
    const { word = "Hello" } = JSON.parse(config());
    if (!word) return { tag: "await-change" };
    const text = `${word}, ${spec.name}!`;
    let before = "None";
    try {
      before = JSON.parse(get(child(metadata), undefined, "stored")).data.text;
    } catch (error) {
      if (error.payload?.tag !== "not-found") throw error;
    }
    log("info", "read", [{ key: "before", value: before }]);
    const ownerReferences = [{ apiVersion, kind, name, uid }];
    const hello = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `${name}-hello`, namespace, ownerReferences },
      data: { text },
    };
    apply(JSON.stringify(hello));
    const status = { apiVersion, kind, metadata: { name, namespace }, status: { text } };
    applyStatus(JSON.stringify(status));
    return { tag: "await-change" };
  },

  finalize(request) {
    remove(child(JSON.parse(request.object).metadata), {});
    return { tag: "done" };
  },
};

function child({ name, namespace }) {
  return { apiVersion: "v1", kind: "ConfigMap", namespace, name: `${name}-hello` };
}
