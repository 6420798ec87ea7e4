// The types of @windlass/sdk/testing.

import type {
  Code,
  Declaration,
  HttpRequest,
  HttpResponse,
  Plugin,
  DeleteOptions,
  Event,
  KubernetesObject,
  ListQuery,
  ObjectRef,
} from "@windlass/sdk";

/** A change that was made through the verbs. */
export interface Write {
  verb: "apply" | "applyStatus" | "create" | "patch" | "delete";
  /** `ConfigMap/default/ada`. */
  target: string;
  /** What was applied, created or patched with, as it was sent; null for a delete. */
  object: any;
}

/** What a plugin answered, as fixtures write it but for waits, which are milliseconds. */
export type Answer =
  | "notCalled"
  | "awaitChange"
  | "done"
  | { requeueAfter?: number; pending?: number; transient?: string; terminal?: string };

/** What a pass did. */
export interface Pass {
  answer: Answer;
  /** When it wants to be called again, if it said so. */
  wakeAt?: string;
  writes: Write[];
  events: Event[];
  /** The lines that it logged: `info: message key=value`. */
  logs: string[];
  /** Its metrics: `add mails_sent,of=x 1`. */
  metrics: string[];
  /** The HTTP requests that it sent. */
  requests: HttpRequest[];
}

/** One call of a fixture, with what comes before and after it. */
export interface Step {
  given?: {
    config?: Record<string, unknown>;
    objects?: KubernetesObject[];
    /** JSON merge patches, by the object: `ConfigMap/default/ada`. */
    edits?: Record<string, object>;
    /** `ConfigMap/default/ada`. */
    removals?: string[];
  };
  /** Either `reconcile` or `finalize`: `Greeting/default/ada`. */
  when: { reconcile?: string; finalize?: string; clock?: string; attempt?: number };
  then: {
    answer:
      string | { requeueAfter?: string; pending?: string; transient?: string; terminal?: string };
    /** When the plugin wants to be called again, by `wakeAt`. */
    wakeAt?: string;
    /** All writes but those of the primary's status, in order: whole, or by name. */
    writes?: { [verb in Write["verb"]]?: string | KubernetesObject }[];
    /** The status that is applied to the primary; absent if it is not written. */
    status?: object;
  };
  /** For `windlass test --chaos` alone. */
  keeps?: string[];
}

/** A cluster in memory, for a plugin's own tests. */
export class FakeCluster {
  constructor();
  /** The operator's configuration. */
  config: Record<string, unknown>;
  /** The time of calls from now on: RFC 3339 in UTC, with milliseconds. */
  clock: string;
  /** How often the primary has failed, as calls are told from now on. */
  attempt: number;
  /** Makes a pass for `ada` or `namespace/ada`, as the host does for an object that stays. */
  reconcile(plugin: Declaration<any>, name: string): Pass;
  /** Makes a pass as the host does for an object that is being deleted. */
  finalize(plugin: Declaration<any>, name: string): Pass;
  /** Makes a pass for any primary. */
  pass(plugin: Declaration<any>, step: "reconcile" | "finalize", target: ObjectRef): Pass;
  get(target: ObjectRef): KubernetesObject;
  list(query: ListQuery): KubernetesObject[];
  /** Applies as `manager`; throws a refusal. */
  apply(manager: string, object: KubernetesObject): KubernetesObject;
  applyStatus(manager: string, object: KubernetesObject): KubernetesObject;
  create(manager: string, object: KubernetesObject): KubernetesObject;
  /** Patches: an array is a JSON patch, an object a merge patch. */
  patch(target: ObjectRef, patch: object | object[]): KubernetesObject;
  delete(target: ObjectRef, options?: DeleteOptions): void;
  /** Puts an object there as somebody else would, whole. */
  put(object: KubernetesObject): void;
  /** Changes `ConfigMap/default/ada` as somebody else would, by a JSON merge patch. */
  edit(name: string, patch: object): void;
  /** The object `ConfigMap/default/ada`; throws if there is none. */
  find(name: string): ObjectRef;
  /** Removes an object as somebody else would: it stays while it has finalizers. */
  remove(target: ObjectRef): void;
  /** What was changed through the verbs since the last time. */
  takeWrites(): Write[];
  /** Lets the `nth` write from now on (1 is the next) fail. */
  failWrite(nth: number, code: Code): void;
  /** Every object, in the order of their names. */
  objects(): KubernetesObject[];
  /** From now on `answer` plays the servers outside the cluster. Without it, each request fails. */
  answerRequests(answer: (request: HttpRequest) => HttpResponse): void;
  /** A copy of the cluster. */
  clone(): this;
}

/** Runs every `*.yaml` in `folder`, each as one `test`, also with each write failing once. */
export function runFixtures(
  plugin: Plugin,
  folder: string,
  test: (name: string, body: () => void) => void,
): void;
/** Runs one fixture file. */
export function runFixture(plugin: Plugin, path: string): void;
/** The steps of a fixture file. */
export function loadFixture(path: string): Step[];
/** The cluster as it is before the first call of a fixture file. */
export function clusterGiven(path: string): FakeCluster;
