// The host's imports, as the bindings of componentize-qjs give them.

declare module "windlass:plugin/clock@0.2.0" {
  const clock: { now(): string; wakeAt(time: string): void };
  export default clock;
}
declare module "windlass:plugin/http@0.2.0" {
  const http: {
    fetch(request: import("@windlass/sdk").HttpRequest): import("@windlass/sdk").HttpResponse;
  };
  export default http;
}
declare module "windlass:plugin/config@0.2.0" {
  const config: { get(): string };
  export default config;
}
declare module "windlass:plugin/cluster@0.2.0" {
  interface Ref {
    apiVersion: string;
    kind: string;
    namespace: string | null;
    name: string;
  }
  type Answer<T> = import("@windlass/sdk").Answer<T>;
  interface Conditions {
    uid: string | null;
    resourceVersion: string | null;
    propagation: string | null;
    gracePeriodSeconds: number | null;
  }
  interface Query {
    apiVersion: string;
    kind: string;
    namespace: string | null;
    labelSelector: string | null;
    fieldSelector: string | null;
    limit: number | null;
    consistency: string;
  }
  const cluster: {
    get(target: Ref, subresource: string | null, consistency: string): string;
    list(query: Query): string[];
    select(query: Query, paths: string[]): string;
    listChildren(query: {
      apiVersion: string;
      kind: string;
      namespace: string | null;
      owner: string | null;
      orphans: boolean;
      metadataOnly: boolean;
    }): string[];
    kinds(): import("@windlass/sdk").Served[];
    unchangedFor(target: Ref): number;
    adopt(target: Ref, uid: string, owner: Ref | null, finalizer: string | null): string;
    disown(target: Ref, uid: string, owners: string[], finalizer: string | null): void;
    hold(target: Ref, uid: string, finalizer: string): string;
    release(target: Ref, uid: string, finalizer: string): void;
    releaseMany(targets: [Ref, string][], finalizer: string): Answer<void>[];
    protect(): void;
    apply(object: string): string;
    applyStatus(object: string): string;
    applySet(children: string[]): string[];
    create(object: string): string;
    createMany(objects: string[]): Answer<string>[];
    createSubresource(parent: Ref, subresource: string, object: string): string;
    updateSubresource(target: Ref, subresource: string, object: string): string;
    patch(target: Ref, subresource: string | null, patchType: string, patch: string): string;
    delete(target: Ref, options: Conditions): void;
    deleteMany(targets: [Ref, Conditions][]): Answer<void>[];
    deleteAll(query: Query, options: Conditions): void;
  };
  export default cluster;
}
declare module "windlass:plugin/events@0.2.0" {
  const events: {
    publish(event: {
      regarding: object | null;
      related: object | null;
      severity: string;
      reason: string;
      action: string;
      note: string;
    }): void;
  };
  export default events;
}
declare module "windlass:plugin/memory@0.2.0" {
  const memory: {
    recall(): Uint8Array | number[] | undefined;
    keep(what: Uint8Array): void;
  };
  export default memory;
}
declare module "windlass:plugin/rates@0.2.0" {
  const rates: { take(bucket: string, perHour: number, burst: number): number | undefined };
  export default rates;
}
declare module "windlass:plugin/metrics@0.2.0" {
  type Labels = { name: string; value: string }[];
  const metrics: {
    add(name: string, labels: Labels, by: number): void;
    set(name: string, labels: Labels, to: number): void;
    observe(name: string, labels: Labels, value: number): void;
  };
  export default metrics;
}
declare module "windlass:plugin/log@0.2.0" {
  const log: {
    log(level: string, message: string, fields: { key: string; value: string }[]): void;
  };
  export default log;
}
declare module "wasi:random/random@0.2.0" {
  const random: { getRandomBytes(length: number): Uint8Array | number[] };
  export default random;
}
