// The types of @windlass/sdk/testing.

import type { Event, HttpRequest, KubernetesObject, ObjectRef, Plugin } from "@windlass/sdk";

/** A change that a plugin made in the cluster. */
export interface Write {
  verb: "apply" | "applyStatus" | "create" | "patch" | "update" | "delete";
  /** `ConfigMap/default/ada`. */
  target: string;
  /** What was applied, created, patched or updated with, as the plugin gave it; null for a delete. */
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
  /** What the host logged. */
  hostLog: string;
}

/**
 * A cluster in memory, which `windlass fake` plays, for a plugin's own tests. Objects have names such as
 * `ConfigMap/default/ada`.
 */
export class FakeCluster {
  /** A cluster with the namespace `default`, for the project of `folder` (the current one), or of a folder above it. */
  constructor(folder?: string);
  /** The operator's configuration. */
  config: Record<string, unknown>;
  /** Sets the time of calls from now on: RFC 3339. At first it is `2026-11-21T09:30:00Z`. */
  set clock(time: string);
  /** How often the primary has failed, as calls are told from now on. */
  attempt: number;
  /** Changes the cluster to what the first step of a fixture file gives. */
  given(path: string): void;
  /** Makes a pass for `ada` or `namespace/ada`, as the host does for an object that stays. */
  reconcile(plugin: Plugin, name: string): Pass;
  /** Makes a pass for an object that is being deleted and waits for something else, if there is `reconcileGoing`. */
  reconcileGoing(plugin: Plugin, name: string): Pass;
  /** Makes a pass for an object that is being deleted and has the plugin's finalizer. */
  finalize(plugin: Plugin, name: string): Pass;
  /** Puts an object there as somebody else would, whole, and its namespace. */
  put(object: KubernetesObject): void;
  /** Changes an object as somebody else would, by a JSON merge patch. */
  edit(object: string | ObjectRef, patch: object): void;
  /** Deletes an object as somebody else would: it stays while it has finalizers. */
  remove(object: string | ObjectRef): void;
  /** Sets who answers HTTP requests: the rows of `given.http` of a fixture. */
  setHttp(rows: object[]): void;
  /**
   * Lets each write to the object fail in the next pass with `unavailable`. If it is `done`, it is carried out
   * nevertheless, and only the answer is lost.
   */
  failWrites(object: string | ObjectRef, options?: { done?: boolean }): void;
  /** An object; undefined if it is absent. */
  get(object: string | ObjectRef): any;
  /** Every object. */
  objects(): KubernetesObject[];
}

/** Runs every `*.yaml` in `folder`, each as one `test`, also with each write and HTTP request failing once. */
export function runFixtures(
  plugin: Plugin,
  folder: string,
  test: (name: string, body: () => void) => void,
): void;
/** Runs one fixture file. */
export function runFixture(plugin: Plugin, path: string): void;
/** The cluster as it is before the first call of a fixture file. */
export function clusterGiven(path: string): FakeCluster;
