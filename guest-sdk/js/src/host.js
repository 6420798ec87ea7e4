// The real cluster: the host's imports. Only within a component can this be loaded.

import clock from "windlass:plugin/clock@0.2.0";
import cluster from "windlass:plugin/cluster@0.2.0";
import config from "windlass:plugin/config@0.2.0";
import events from "windlass:plugin/events@0.2.0";
import http from "windlass:plugin/http@0.2.0";
import log from "windlass:plugin/log@0.2.0";
import memory from "windlass:plugin/memory@0.2.0";
import metrics from "windlass:plugin/metrics@0.2.0";
import rates from "windlass:plugin/rates@0.2.0";

/** @typedef {import("@windlass/sdk").ObjectRef} ObjectRef */

/** All but what the request of each call says. @type {Omit<import("@windlass/sdk").HostImports, "attempt">} */
export const host = {
  get(target, subresource, consistency) {
    return JSON.parse(cluster.get(named(target), subresource ?? null, consistency));
  },

  list(query) {
    const found = cluster.list(asked(query));
    return found.map((/** @type {string} */ object) => JSON.parse(object));
  },

  select(query, paths) {
    return JSON.parse(cluster.select(asked(query), paths));
  },

  listChildren({ apiVersion, kind, namespace, owner, orphans, metadataOnly }) {
    const found = cluster.listChildren({
      apiVersion,
      kind,
      namespace: namespace ?? null,
      owner: owner ?? null,
      orphans: orphans ?? false,
      metadataOnly: metadataOnly ?? false,
    });
    return found.map((/** @type {string} */ object) => JSON.parse(object));
  },

  kinds: () => cluster.kinds(),
  unchangedFor: (target) => cluster.unchangedFor(named(target)),

  adopt(target, uid, owner, finalizer) {
    const by = owner ? named(owner) : null;
    return JSON.parse(cluster.adopt(named(target), uid, by, finalizer ?? null));
  },

  disown(target, uid, owners, finalizer) {
    cluster.disown(named(target), uid, owners, finalizer ?? null);
  },

  hold(target, uid, finalizer) {
    return JSON.parse(cluster.hold(named(target), uid, finalizer));
  },

  release(target, uid, finalizer) {
    cluster.release(named(target), uid, finalizer);
  },

  releaseMany(targets, finalizer) {
    return cluster.releaseMany(
      targets.map(({ target, uid }) => [named(target), uid]),
      finalizer,
    );
  },

  protect() {
    cluster.protect();
  },

  fetch(request) {
    return http.fetch(request);
  },

  apply(object) {
    return JSON.parse(cluster.apply(JSON.stringify(object)));
  },

  applyStatus(object) {
    cluster.applyStatus(JSON.stringify(object));
  },

  applySet(children) {
    const kept = cluster.applySet(children.map((child) => JSON.stringify(child)));
    return kept.map((/** @type {string} */ object) => JSON.parse(object));
  },

  create(object) {
    return JSON.parse(cluster.create(JSON.stringify(object)));
  },

  createMany(objects) {
    const created = cluster.createMany(objects.map((object) => JSON.stringify(object)));
    return created.map((answer) =>
      answer.tag === "ok" ? { tag: "ok", val: JSON.parse(answer.val) } : answer,
    );
  },

  createSubresource(parent, subresource, object) {
    const answer = cluster.createSubresource(named(parent), subresource, JSON.stringify(object));
    return JSON.parse(answer);
  },

  updateSubresource(target, subresource, object) {
    const answer = cluster.updateSubresource(named(target), subresource, JSON.stringify(object));
    return JSON.parse(answer);
  },

  patch(target, subresource, patch) {
    const kind = Array.isArray(patch) ? "json" : "merge";
    const answer = cluster.patch(named(target), subresource ?? null, kind, JSON.stringify(patch));
    return JSON.parse(answer);
  },

  delete(target, options) {
    cluster.delete(named(target), conditions(options));
  },

  deleteMany(targets) {
    return cluster.deleteMany(
      targets.map(({ target, options }) => [named(target), conditions(options)]),
    );
  },

  deleteAll(query, options) {
    cluster.deleteAll(asked(query), conditions(options));
  },

  event({ regarding, related, severity, reason, action, note }) {
    events.publish({
      regarding: regarding ? named(regarding) : null,
      related: related ? named(related) : null,
      severity,
      reason,
      action,
      note,
    });
  },

  recall: () => {
    const kept = memory.recall();
    return kept && Uint8Array.from(kept);
  },
  keep: (what) => memory.keep(what),
  takeToken: (bucket, perHour, burst) => rates.take(bucket, perHour, burst) ?? undefined,
  metric: (measure, name, labels, value) => metrics[measure](name, labels, value),
  log: (level, message, fields) => log.log(level, message, fields),
  config: () => JSON.parse(config.get()),
  now: () => clock.now(),
  wakeAt: (time) => clock.wakeAt(time),
};

/** @param {import("@windlass/sdk").ListQuery} query */
function asked({ apiVersion, kind, consistency, ...query }) {
  return {
    apiVersion,
    kind,
    namespace: query.namespace ?? null,
    labelSelector: query.labelSelector?.toString() ?? null,
    fieldSelector: query.fieldSelector ?? null,
    limit: query.limit ?? null,
    consistency: consistency ?? "stored",
  };
}

/** @param {ObjectRef} target */
function named({ apiVersion, kind, namespace, name }) {
  return { apiVersion, kind, namespace: namespace ?? null, name };
}

/** @param {import("@windlass/sdk").DeleteOptions} options */
function conditions({ uid, resourceVersion, propagation, gracePeriodSeconds }) {
  return {
    uid: uid ?? null,
    resourceVersion: resourceVersion ?? null,
    propagation: propagation ?? null,
    gracePeriodSeconds: gracePeriodSeconds ?? null,
  };
}
