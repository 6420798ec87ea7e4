// Write a Kubernetes controller as a Windlass plugin: the words that plugins use.

export {
  awaitChange,
  done,
  Failure,
  pending,
  requeueAfter,
  terminal,
  transient,
} from "./answer.js";
export { Cluster } from "./cluster.js";
export { Condition } from "./condition.js";
export { controller } from "./controller.js";
export { ClusterError, SetError } from "./failed.js";
export { manage, need, plural, read } from "./needs.js";
export {
  child,
  generateName,
  inNamespace,
  manifest,
  objectRef,
  ownerReference,
  reference,
  title,
} from "./object.js";
export { LabelSelector } from "./selector.js";
