// The types of @windlass/sdk, for editors and tsc; a plugin needs none of them to start.

/** Names one object. */
export interface ObjectRef {
  /** `apps/v1`, or `v1` for the core group. */
  apiVersion: string;
  /** `ConfigMap`, not `configmaps`. */
  kind: string;
  /** Absent if the kind is cluster-scoped, and only then. */
  namespace?: string;
  /** `metadata.name`. */
  name: string;
}

/** Names an owner of an object. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** What every object has. */
export interface Metadata {
  name: string;
  /** Only for `create`, which generates a name that begins with this. */
  generateName?: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/** An object of any kind, as plain JSON. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: any;
}

/** One need, in the form of an RBAC rule. */
export interface Need {
  /** `apps`, or `""` for the core group. */
  apiGroups: string[];
  /** Plural and lower case, subresources after a slash. */
  resources: string[];
  /** Empty means any name. */
  resourceNames?: string[];
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`. */
  verbs: string[];
  /** The parts that the plugin reads, as simple JSONPaths. Empty means all. */
  fields?: string[];
  /** The kind that it was written for, if for one. */
  kind?: string;
}

/** Narrows a need. */
export interface NeedOptions {
  /** The resource's plural, if it does not follow Kubernetes' rule: `gateways`. */
  plural?: string;
  /** Only objects with these names. */
  named?: string[];
  /** Reads only these parts: `.data`, `.spec.replicas`. This takes less memory and leads to fewer calls. */
  fields?: string[];
}

/** Reads, applies and deletes objects of a kind. */
export function manage(apiVersion: string, kind: string, options?: NeedOptions): Need;
/** Reads objects of a kind. */
export function read(apiVersion: string, kind: string, options?: NeedOptions): Need;
/** Access to objects of a kind by `verbs`. */
export function need(
  apiVersion: string,
  kind: string,
  verbs: string[],
  options?: NeedOptions,
): Need;
/** The resource of a kind by Kubernetes' rule; wrong for a few kinds (`Gateway`). */
export function plural(kind: string): string;

/** A time to wait: `"500ms"`, `"10s"`, `"5m"`, `"1h"`, or milliseconds. */
export type Wait = string | number;

/** When to call again if nothing changes first. A change of something that was read leads to an earlier call. */
export type Action = { tag: "await-change" } | { tag: "requeue-after"; val: number };
/** How far the clean-up has come. */
export type Progress = { tag: "done" } | { tag: "pending"; val: number };

/** Call again only when something changes. To return nothing means the same. */
export const awaitChange: { readonly tag: "await-change" };
/** Call again after this long at the latest. */
export function requeueAfter(wait: Wait): { tag: "requeue-after"; val: number };
/** Nothing is left to undo. */
export const done: { readonly tag: "done" };
/** Waiting for something else: call again after this long, or when something read changes. */
export function pending(wait: Wait): { tag: "pending"; val: number };

/** A failure that the reconciler reports, with a text for people. */
export class Failure extends Error {
  constructor(kind: "transient" | "terminal", text: string);
  readonly kind: "transient" | "terminal";
}
/** A failure that may go away by itself: `throw transient("...")`. */
export function transient(text: string): Failure;
/** A failure that stays until somebody changes something: `throw terminal("...")`. */
export function terminal(text: string): Failure;

/** Who refused a call, and why: for conditions, and for the few cases in which a plugin must know more than the code. */
export interface Status {
  /** The HTTP status code of the API server: 403, 409, 422. It is 0 if the host refused the call. */
  code: number;
  /** The API server's reason, in CamelCase: `AlreadyExists`. It can be empty. */
  reason: string;
  /** What is wrong, for people: the API server's message, or the host's. */
  message: string;
  /** What the API server names as causes: fields such as `spec.replicas`, or words such as `NamespaceTerminating`. */
  causes: string[];
}

/** Why a call failed, as far as a plugin can act on it. */
export type Code =
  "not-found" | "denied" | "conflict" | "invalid" | "gone" | "unavailable" | "other";

/** A call to the cluster that was not carried out. */
export class ClusterError extends Error {
  constructor(code: Code, call: string, why?: string | Status);
  /** What to decide by. */
  readonly code: Code;
  /** What was tried, for people: `apply ConfigMap/default/ada`. */
  readonly call: string;
  /** Who refused the call, and why: for `denied`, `conflict`, `invalid` and `other`. */
  readonly status?: Status;
  /** Whether there is no such object, namespace or kind. */
  get isNotFound(): boolean;
}

/** One answer of a call for many objects, in the contract's own form. */
export type Answer<T> =
  { tag: "ok"; val: T } | { tag: "err"; val: { tag: Code; val?: string | Status } };

/** One answer of `createMany`: the object, or why it was not created. */
export type Created =
  { object: KubernetesObject; error?: undefined } | { object?: undefined; error: ClusterError };

/** What went wrong in a set. */
export interface SetFailure {
  /** Which of the given children; absent for the set as a whole, or for a delete that failed. */
  index?: number | undefined;
  /** What was wrong with it. */
  error: ClusterError;
}

/** A set that failed in part: every child that is not named here was applied. */
export class SetError extends Error {
  constructor(failures: SetFailure[]);
  readonly failures: SetFailure[];
}

/** How important a log line is, least first. */
export type Level = "trace" | "debug" | "info" | "warn" | "error";

/** An Event: something about an object, for people who look at it. */
export interface Event {
  /** What it is about. Absent is the primary. */
  regarding?: ObjectRef;
  /** A second object that plays a part in it. */
  related?: ObjectRef;
  /** How it is shown. */
  severity: "normal" | "warning";
  /** Why, in CamelCase and from a small fixed set: `QuotaExceeded`. */
  reason: string;
  /** What was done or tried, also in CamelCase: `CreateChild`. */
  action: string;
  /** A sentence for people. */
  note: string;
}

/** Where a read is answered: `stored` by the host's store, and tracked; `latest` by the API server. */
export type Consistency = "stored" | "latest";

/** Whose children to list, and which part of them. */
export interface ChildrenQuery {
  /** `apps/v1`, or `v1` for the core group. */
  apiVersion: string;
  /** `Pod`, not `pods`. */
  kind: string;
  /** Absent lists every namespace. */
  namespace?: string;
  /** The UID of the owner; absent is the primary. */
  owner?: string;
  /** List the objects as well that no object controls. */
  orphans?: boolean;
  /** Give `apiVersion`, `kind` and `metadata` only. */
  metadataOnly?: boolean;
}

/** Which objects to list: all of a kind, narrowed by the rest. */
export interface ListQuery {
  apiVersion: string;
  kind: string;
  /** Absent lists every namespace. */
  namespace?: string;
  /** A text, or a `LabelSelector`. */
  labelSelector?: string | LabelSelector;
  fieldSelector?: string;
  limit?: number;
  consistency?: Consistency;
}

/** A kind that the cluster serves, and a grant names. */
export interface Served {
  /** `apps/v1`: the first version that has the kind, in the order that the API server prefers. */
  apiVersion: string;
  /** `Deployment`. */
  kind: string;
  /** The resource: `deployments`. */
  plural: string;
  /** Whether its objects are in namespaces. */
  namespaced: boolean;
  /** What can be done to its objects, of that what the grants name. */
  verbs: string[];
}

/** Conditions and options of a delete. */
export interface DeleteOptions {
  /** Only the object with this UID. Absent means the object that this call read. */
  uid?: string;
  /** Only this version. */
  resourceVersion?: string;
  /** What happens to the objects that it owns. Absent is `background`: they are deleted after it. */
  propagation?: "background" | "foreground" | "orphan";
  gracePeriodSeconds?: number;
}

/** Everything that a reconciler can do beyond computing. */
export class Cluster {
  constructor(imports: HostImports);
  /** Reads one object, or a subresource of it; throws if it is not there. */
  get(
    target: ObjectRef | KubernetesObject,
    options?: { subresource?: string; consistency?: Consistency },
  ): KubernetesObject;
  /** Reads one object that may be absent. */
  find(target: ObjectRef | KubernetesObject): KubernetesObject | undefined;
  /** Reads the objects that match, in no particular order. */
  list(query: ListQuery): KubernetesObject[];
  /**
   * As `list`, but gives only these fields of each object: a row with a value for each path, in the given order. Paths are
   * simple JSONPaths: `.spec.nodeName`, `.metadata.labels['app']`, `.spec.containers[*].image`. A value is null if the field
   * is absent, or the plugin did not declare it. For many objects, this costs much less than `list`.
   */
  select(query: ListQuery, paths: string[]): any[][];
  /** Reads the objects that have this owner, whatever their labels. */
  listChildren(query: ChildrenQuery): KubernetesObject[];
  /**
   * The kinds that the cluster serves, of those that the grants name. It is tracked: if one comes or goes, the primary runs
   * again.
   */
  kinds(): Served[];
  /**
   * For how many milliseconds this host has seen the object in its present version, by its own clock. It is tracked, and
   * needs `watch`. After a restart, and on another host, it begins at 0.
   */
  unchangedFor(target: ObjectRef | KubernetesObject): number;
  /**
   * Makes the primary the controlling owner of an object that was read, or `owner`, which the primary controls. The grant
   * must say `adopt: true`.
   */
  adopt(
    object: KubernetesObject,
    options?: { owner?: ObjectRef | KubernetesObject; finalizer?: string },
  ): KubernetesObject;
  /** Removes owners of an object that was read, by their UIDs; without them, the primary. */
  disown(object: KubernetesObject, options?: { owners?: string[]; finalizer?: string }): void;
  /** Adds a finalizer that a grant names to an object that was read. */
  hold(object: KubernetesObject, finalizer: string): KubernetesObject;
  /** Removes a finalizer that a grant names from an object that was read. `conflict` if somebody has changed it since then. */
  release(object: KubernetesObject, finalizer: string): void;
  /** As `release`, for many objects that were read. The calls are made as in `createMany`, but a conflict does not stop them. */
  releaseMany(objects: KubernetesObject[], finalizer: string): { error?: ClusterError }[];
  /**
   * Adds the plugin's finalizer to the primary, of a controller with `finalizes: "on-request"`. Call it before the first
   * side effect that `finalize` undoes.
   */
  protect(): void;
  /** Sends a request in the contract's own form: use `fetch` of `@windlass/sdk/http`. */
  send(request: HttpRequest): HttpResponse;
  /** Sets the named fields, and removes fields that are no longer named. */
  apply(object: KubernetesObject): KubernetesObject;
  /** Sets the status of `object`. */
  applyStatus(object: KubernetesObject, status: object): void;
  /**
   * Applies these children with the primary as their owner, and then deletes the objects of an earlier set that this set
   * does not name. Throws a `SetError`. A call may apply one set. If the object of somebody else has the name of a child,
   * the child is a `conflict`.
   */
  applySet(children: KubernetesObject[]): KubernetesObject[];
  /** Creates an object; throws if it is there already. */
  create(object: KubernetesObject): KubernetesObject;
  /**
   * Creates many objects that are alike, at most 1,000. The host creates one, then two, four and so on at a time, and at
   * most 32. It stops after the batch in which one failed. There is an answer for each object that was tried, in the given
   * order. Objects at the end that were not tried have none.
   */
  createMany(objects: KubernetesObject[]): Created[];
  /** Posts to a subresource of an object: an `Eviction` or `Binding` of a pod. */
  createSubresource(
    parent: ObjectRef | KubernetesObject,
    subresource: string,
    object: object,
  ): Record<string, any>;
  /**
   * Replaces a subresource of an object: a whole `status`, a `Scale`, or `finalize` of a Namespace. `object` carries a
   * `metadata.resourceVersion`, the version that it was made from; all other metadata stays as it is. If the object has
   * another version by now, it throws a conflict.
   */
  updateSubresource(
    target: ObjectRef | KubernetesObject,
    subresource: string,
    object: object,
  ): Record<string, any>;
  /** Changes part of an object: an array is a JSON patch, an object a merge patch. */
  patch(
    target: ObjectRef | KubernetesObject,
    patch: object | object[],
    options?: { subresource?: string },
  ): KubernetesObject;
  /** Deletes an object. If it is gone already, this is a success. */
  delete(target: ObjectRef | KubernetesObject): void;
  /** Deletes an object; throws if it is gone already. */
  deleteWith(target: ObjectRef | KubernetesObject, options: DeleteOptions): void;
  /** Deletes many objects. The calls are made as in `createMany`. If one is gone already, this is a success. */
  deleteMany(
    targets: (ObjectRef | KubernetesObject)[],
    options?: DeleteOptions,
  ): { error?: ClusterError }[];
  /**
   * Deletes all objects that match, in one request. It needs the verb `deletecollection`. A namespaced kind needs a
   * namespace, and there is no limit. On an error, some of the objects may be deleted.
   */
  deleteAll(query: ListQuery, options?: DeleteOptions): void;
  /**
   * What this call has kept, or else the last call over this primary that succeeded; undefined if there is nothing. It is a
   * hint, never a state: the host may forget it at any time, and `windlass test` does so at random.
   */
  recall(): any;
  /**
   * Keeps a value for the next call over this primary, if this one succeeds; undefined forgets what was kept. The host drops
   * more than 16 KiB of JSON.
   */
  keep(what: unknown): void;
  /**
   * Takes a token of a bucket that the calls over all primaries share. Returns undefined if there was one: go on. Otherwise
   * returns after how many milliseconds there will be one, for `requeueAfter`. A bucket is full at first, holds `burst`
   * tokens, and gets `perHour` tokens each hour.
   */
  takeToken(bucket: string, rate: { perHour: number; burst: number }): number | undefined;
  /** Records an Event. */
  event(event: Event): void;
  /** Writes one line into the host's log. */
  log(level: Level, message: string, fields?: Record<string, unknown>): void;
  /** Writes one line for the operator of the plugin. */
  info(message: string, fields?: Record<string, unknown>): void;
  /** Adds to a counter of the plugin, on `/metrics` of the host. */
  count(name: string, labels?: Record<string, unknown>, by?: number): void;
  /** Sets a gauge of the plugin. */
  gauge(name: string, to: number, labels?: Record<string, unknown>): void;
  /** Counts a value in a histogram of the plugin, for example seconds. */
  observe(name: string, value: number, labels?: Record<string, unknown>): void;
  /** The operator's configuration; empty if there is none. */
  get config(): Record<string, any>;
  /** When this call began: RFC 3339 in UTC, with milliseconds. */
  now(): string;
  /** Calls for this object again at this time, if nothing does before: never earlier. */
  wakeAt(time: string | Date): void;
  /** How often this object has failed since it last succeeded or its generation changed. */
  get attempt(): number;
  /** An object to apply that belongs to `owner`; as the function `child`. */
  child: typeof child;
}

/** One entry of `status.conditions`, as Kubernetes' own `metav1.Condition`. */
export class Condition {
  constructor(type: string, status: "True" | "False" | "Unknown", reason: string, message: string);
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration: number;
  /** A condition that is true. Complete each of these three with `since`. */
  static holds(type: string, reason: string, message: string): Condition;
  /** A condition that is false. */
  static fails(type: string, reason: string, message: string): Condition;
  /** A condition whose status is unknown. */
  static unknown(type: string, reason: string, message: string): Condition;
  /** The same, as seen at a generation of the object. */
  observed(generation: number | undefined): Condition;
  /** Dates the condition: as before if `before` has one of this type with the same status. */
  since(
    before: readonly { type: string; status: string; lastTransitionTime?: string }[] | undefined,
    now: string,
  ): Condition;
}

/** What a plugin is. */
export interface Declaration<T extends KubernetesObject = KubernetesObject> {
  /**
   * The API version and kind whose objects are reconciled. `["*", "*"]` stands for every kind that the cluster serves and a
   * grant lets the plugin watch, but for Events. The plugin gets only the metadata of such objects. It writes no status,
   * and can have a finalizer only with `finalizes: "on-request"`.
   */
  watches: readonly [apiVersion: string, kind: string];
  /** The resource's plural, if it does not follow Kubernetes' rule. */
  plural?: string;
  /** Only objects whose labels match: Kubernetes' own selector text. */
  labelSelector?: string;
  /** Only objects whose fields match: Kubernetes' own selector text. */
  fieldSelector?: string;
  /**
   * Which changes of a primary run it again; `any-change` if absent. With `spec-change`, changes of only the status do
   * not run it, even if the plugin wrote the status.
   */
  trigger?: "any-change" | "spec-change";
  /**
   * Reads only these parts: `.spec`, `.status.conditions`. This takes less memory, and changes of other parts do not
   * run it, even of a status that the plugin wrote.
   */
  fields?: string[];
  /** Everything that it touches beside its primary and the primary's status. */
  needs?: Need[];
  /** Whether it writes the status of its primary. Then it needs a grant for the status. False if absent. */
  writesStatus?: boolean;
  /**
   * The CustomResourceDefinitions that the component carries. `windlass dev`, `render` and `test` of the component alone
   * serve them; a host in a cluster installs none.
   */
  crds?: KubernetesObject[];
  /**
   * The origins that the plugin sends HTTP requests to, with `fetch` of `@windlass/sdk/http`. An operator has to allow each
   * in the document, under `http`.
   */
  origins?: string[];
  /** Brings the cluster toward the state that `object` asks for. It must be safe to repeat. */
  reconcile(object: T, cluster: Cluster): Action | undefined | void;
  /**
   * Brings the cluster toward the state that fits an object which is being deleted and does not wait for this plugin's
   * finalizer, as long as something else keeps it: another finalizer, or its grace period. Without it, the host makes no call
   * for such an object. It is not the place to clean up: the object may be gone before the first call.
   */
  reconcileGoing?(object: T, cluster: Cluster): Action | undefined | void;
  /**
   * Undoes what `reconcile` made outside the object's ownership tree. The host calls it until it answers
   * `done`; must tolerate that `reconcile` never ran, and that everything is gone.
   */
  finalize?(object: T, cluster: Cluster): Progress;
  /**
   * Which objects wait for `finalize`: all, or those for which `reconcile` calls `cluster.protect()`. `always` if absent.
   */
  finalizes?: "always" | "on-request";
  /**
   * What happens to an object with the plugin's finalizer that no longer matches the selectors: it is finalized when it is
   * deleted, or at once. `forget` if absent.
   */
  onLeave?: "forget" | "finalize";
}

/** A plugin: a controller, or one for each of several kinds. */
export type Plugin = Declaration<any> | readonly Declaration<any>[];

/**
 * A controller for one kind of object; export it as `plugin`. Export a list of them for several kinds:
 * `export const plugin = [orders, invoices];`
 */
export function controller<T extends KubernetesObject = KubernetesObject>(
  declaration: Declaration<T>,
): Readonly<Declaration<T>>;

/** Names an object; without a namespace, one of a cluster-scoped kind. */
export function objectRef(
  apiVersion: string,
  kind: string,
  namespace: string | undefined,
  name: string,
): ObjectRef;
/** The reference for reads and deletes. */
export function reference(object: ObjectRef | KubernetesObject): ObjectRef;
/** `ConfigMap/default/ada`. */
export function title(object: ObjectRef | KubernetesObject): string;
/** An object to apply that `owner` owns, in the owner's namespace. */
export function child(
  owner: KubernetesObject,
  apiVersion: string,
  kind: string,
  name: string,
  fields?: Record<string, unknown>,
): KubernetesObject;
/** The same object in a namespace that is not its owner's. */
export function inNamespace(object: KubernetesObject, namespace: string): KubernetesObject;
/** The same object without a name: `create` generates a name that begins with `prefix`. */
export function generateName(object: KubernetesObject, prefix: string): KubernetesObject;
/** An object to apply, without an owner. */
export function manifest(target: ObjectRef, fields?: Record<string, unknown>): KubernetesObject;
/** An owner reference to this object. */
export function ownerReference(owner: KubernetesObject): OwnerReference;

/** A label selector as objects have it: `spec.selector` of a Deployment. */
export interface LabelSelectorFields {
  matchLabels?: Record<string, string | null> | null;
  matchExpressions?:
    | {
        key: string;
        operator: string;
        values?: string[] | null;
      }[]
    | null;
}

/** A label selector, with the same result as in the API server and the host. */
export class LabelSelector {
  /** Plugins use `parse` and `of`. */
  constructor(requirements: { key: string; operator: any; values: string[] }[]);
  /** Reads Kubernetes' own selector text; throws a terminal `Failure` if it is not one. */
  static parse(text: string): LabelSelector;
  /** Reads what objects have in their fields; throws a terminal `Failure` if it is not a selector. */
  static of(fields: LabelSelectorFields): LabelSelector;
  /** Whether an object with these labels is selected. */
  matches(labels: Record<string, string> | undefined): boolean;
  /** Its text, for `labelSelector` of a list. */
  toString(): string;
}

/** A header line of an HTTP request or its answer. */
export interface HttpHeader {
  name: string;
  value: string;
}

/** An HTTP request in the contract's own form; `fetch` of `@windlass/sdk/http` makes it. */
export interface HttpRequest {
  method: string;
  url: string;
  headers: HttpHeader[];
  body: Uint8Array;
  timeoutMs: number | null;
  credential: string | null;
}

/** The answer to an HTTP request in the contract's own form. */
export interface HttpResponse {
  status: number;
  headers: HttpHeader[];
  body: Uint8Array | number[];
}

/** What is behind a `Cluster`: the host, or a `FakeCluster`. Throws refusals. */
export interface HostImports {
  get(target: ObjectRef, subresource: string | undefined, at: Consistency): KubernetesObject;
  list(query: ListQuery): KubernetesObject[];
  select(query: ListQuery, paths: string[]): any[][];
  listChildren(query: ChildrenQuery): KubernetesObject[];
  kinds(): Served[];
  unchangedFor(target: ObjectRef): number;
  adopt(
    target: ObjectRef,
    uid: string,
    owner: ObjectRef | undefined,
    finalizer: string | undefined,
  ): KubernetesObject;
  disown(target: ObjectRef, uid: string, owners: string[], finalizer: string | undefined): void;
  hold(target: ObjectRef, uid: string, finalizer: string): KubernetesObject;
  release(target: ObjectRef, uid: string, finalizer: string): void;
  releaseMany(targets: { target: ObjectRef; uid: string }[], finalizer: string): Answer<void>[];
  protect(): void;
  fetch(request: HttpRequest): HttpResponse;
  apply(object: KubernetesObject): KubernetesObject;
  applyStatus(object: KubernetesObject): void;
  applySet(children: KubernetesObject[]): KubernetesObject[];
  create(object: KubernetesObject): KubernetesObject;
  createMany(objects: KubernetesObject[]): Answer<KubernetesObject>[];
  createSubresource(parent: ObjectRef, subresource: string, object: object): Record<string, any>;
  updateSubresource(target: ObjectRef, subresource: string, object: object): Record<string, any>;
  patch(
    target: ObjectRef,
    subresource: string | undefined,
    patch: object | object[],
  ): KubernetesObject;
  delete(target: ObjectRef, options: DeleteOptions): void;
  deleteMany(targets: { target: ObjectRef; options: DeleteOptions }[]): Answer<void>[];
  deleteAll(query: ListQuery, options: DeleteOptions): void;
  recall(): Uint8Array | undefined;
  keep(what: Uint8Array): void;
  takeToken(bucket: string, perHour: number, burst: number): number | undefined;
  event(event: Event): void;
  log(level: Level, message: string, fields: { key: string; value: string }[]): void;
  metric(
    measure: "add" | "set" | "observe",
    name: string,
    labels: { name: string; value: string }[],
    value: number,
  ): void;
  config(): Record<string, any>;
  now(): string;
  wakeAt(time: string): void;
  attempt(): number;
}
