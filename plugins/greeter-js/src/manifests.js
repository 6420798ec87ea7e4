// What the greeter applies: a Greeting's children, and its entry in the register.

import { child, manifest, objectRef, title } from "@windlass/sdk";

/**
 * The kind of greeting.crd.yaml, which also gives the defaults.
 * @typedef {import("@windlass/sdk").KubernetesObject & {
 *   spec: { name: string, greeting: string, replicas: number },
 *   status?: { conditions?: import("@windlass/sdk").Condition[] },
 * }} Greeting
 */

/** Where the register is. */
const REGISTER = "greetings";

/**
 * The text, for the pods to serve.
 * @param {Greeting} greeting
 * @param {string} text
 */
export function configMap(greeting, text) {
  return child(greeting, "v1", "ConfigMap", childName(greeting), { data: { "index.html": text } });
}

/**
 * The pods that serve the text.
 * @param {Greeting} greeting
 * @param {string} image
 */
export function deployment(greeting, image) {
  const labels = { "examples.windlass.dev/greeting": greeting.metadata.name };
  const web = {
    name: "web",
    image,
    command: ["httpd", "-f", "-p", "8080", "-h", "/www"],
    ports: [{ containerPort: 8080 }],
    volumeMounts: [{ name: "www", mountPath: "/www" }],
  };
  const www = { name: "www", configMap: { name: childName(greeting) } };
  return child(greeting, "apps/v1", "Deployment", childName(greeting), {
    spec: {
      replicas: greeting.spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [web], volumes: [www] } },
    },
  });
}

/**
 * What both children are called.
 * @param {Greeting} greeting
 */
const childName = (greeting) => `${greeting.metadata.name}-greeting`;

/**
 * The entry in the register.
 * @param {Greeting} greeting
 * @param {string} text
 */
export function entry(greeting, text) {
  return manifest(entryName(greeting), { data: { of: title(greeting), text } });
}

/**
 * The entry's name: by UID, so that two Greetings of one name in turn never share an entry.
 * @param {Greeting} greeting
 */
export function entryName(greeting) {
  return objectRef("v1", "ConfigMap", REGISTER, `greeting-${greeting.metadata.uid}`);
}
