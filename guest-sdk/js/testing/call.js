// A call of a plugin, whose imports go to the process that plays the cluster.

import { controllerOf } from "../src/controller.js";
import { refusal, setRefusal } from "../src/failed.js";
import { run } from "../src/run.js";

/** @typedef {import("@windlass/sdk").HostImports} HostImports */
/** @typedef {import("@windlass/sdk").Plugin} Plugin */
/** @typedef {Pick<import("./process.js").Process, "exchange">} Process */
/** @typedef {{ index?: number, code: import("@windlass/sdk").Code, text?: string, status?: { code: number, reason?: string, causes?: string[] } }} RecordedError */

/** What a plugin told people in its calls. */
export class Told {
  /** @type {import("@windlass/sdk").Event[]} */
  events = [];
  /** @type {string[]} */
  logs = [];
  /** @type {string[]} */
  metrics = [];
  /** @type {import("@windlass/sdk").HttpRequest[]} */
  requests = [];
}

/**
 * Says `message`, and has `plugin` answer the calls that follow, until it is done.
 * @param {Process} process
 * @param {Plugin} plugin
 * @param {object} message
 * @param {Told} told
 */
export function answered(process, plugin, message, told) {
  let reply = process.exchange(message);
  while (reply.call) {
    const { function: step } = reply.call;
    let ended = false;
    /** @param {object} message */
    const exchange = (message) => {
      if (!ended) return process.exchange(message);
      throw new Error(
        `${step} has returned: code that waits for a promise runs too late to use the cluster`,
      );
    };
    const returned = make(plugin, reply.call, imports({ exchange }, reply.call, told));
    ended = true;
    reply = process.exchange({ returned });
  }
  if (reply.error !== undefined) throw new Error(reply.error);
  return reply.ok;
}

/** Makes a call; what the plugin answers. @param {Plugin} plugin @param {any} call @param {HostImports} host */
function make(plugin, { function: step, object }, host) {
  try {
    const one = controllerOf(plugin, object);
    if (step === "reconcileGoing" && !one.reconcileGoing) return "awaitChange";
    const { tag, val } = run(one, step, object, host, { root: `${process.cwd()}/` });
    if (tag === "requeue-after") return { requeueAfter: val };
    if (tag === "pending") return { pending: val };
    return tag === "done" ? "done" : "awaitChange";
  } catch (failure) {
    const { tag, val, message } = /** @type {any} */ (failure);
    return tag ? { [tag]: val } : { transient: message };
  }
}

/** What a recorded error is in the form of the bindings. @param {RecordedError} error */
function payload({ code, text = "", status }) {
  if (!["denied", "conflict", "invalid", "other"].includes(code)) return { tag: code };
  const { code: number = 0, reason = "", causes = [] } = status ?? {};
  return { tag: code, val: { code: number, reason, message: text, causes } };
}

/**
 * The imports of a call.
 * @param {Process} process
 * @param {any} call
 * @param {Told} told
 * @returns {HostImports}
 */
function imports(process, { config, now, attempt }, told) {
  /** @param {string} name @param {object} given */
  const ask = (name, given) => {
    const { ok, errors, error } = process.exchange({ import: { name, arguments: given } });
    if (error !== undefined) throw new Error(error);
    return { ok, errors };
  };
  /** Calls an import that has one answer. @param {string} name @param {object} given */
  const one = (name, given) => {
    const { ok, errors } = ask(name, given);
    if (!errors) return ok;
    const { tag, val } = payload(errors[0]);
    throw refusal(tag, val);
  };
  /** Calls an import that has an answer for each object. @param {string} name @param {object} given */
  const many = (name, given) => {
    const items = one(name, given);
    return items.map((/** @type {{ ok?: any, error?: RecordedError }} */ { ok, error }) =>
      error ? { tag: "err", val: payload(error) } : { tag: "ok", val: ok },
    );
  };
  return {
    get: (target, subresource, consistency) => one("get", { target, subresource, consistency }),
    list: (query) => one("list", asked(query)),
    select: (query, paths) => one("select", { query: asked(query), paths }),
    listChildren: (query) =>
      one("list-children", { orphans: false, metadataOnly: false, ...query }),
    kinds: () => one("kinds", {}),
    unchangedFor: (target) => one("unchanged-for", { target }),
    adopt: (target, uid, owner, finalizer) => one("adopt", { target, uid, owner, finalizer }),
    disown: (target, uid, owners, finalizer) => one("disown", { target, uid, owners, finalizer }),
    hold: (target, uid, finalizer) => one("hold", { target, uid, finalizer }),
    release: (target, uid, finalizer) => one("release", { target, uid, finalizer }),
    releaseMany: (targets, finalizer) => many("release-many", { targets, finalizer }),
    protect: () => one("protect", {}),
    apply: (object) => one("apply", { object }),
    applyStatus: (object) => one("apply-status", { object }),
    applySet(children) {
      const { ok, errors } = ask("apply-set", { children });
      if (!errors) return ok;
      throw setRefusal(
        errors.map((/** @type {RecordedError} */ error) => ({
          index: error.index,
          error: payload(error),
        })),
      );
    },
    create: (object) => one("create", { object }),
    createMany: (objects) => many("create-many", { objects }),
    createSubresource: (parent, subresource, object) =>
      one("create-subresource", { parent, subresource, object }),
    updateSubresource: (target, subresource, object) =>
      one("update-subresource", { target, subresource, object }),
    patch: (target, subresource, patch) =>
      one("patch", {
        target,
        subresource,
        patchType: Array.isArray(patch) ? "json" : "merge",
        patch,
      }),
    delete: (target, options) => one("delete", { target, ...options }),
    deleteMany: (targets) =>
      many("delete-many", {
        targets: targets.map(({ target, options }) => ({ target, ...options })),
      }),
    deleteAll: (query, options) => one("delete-all", { query: asked(query), ...options }),
    recall() {
      const hint = one("recall", {});
      if (!hint) return undefined;
      const { text, base64 } = hint;
      return text === undefined
        ? new Uint8Array(Buffer.from(base64, "base64"))
        : new TextEncoder().encode(text);
    },
    keep: (what) => void process.exchange({ keep: Buffer.from(what).toString("base64") }),
    takeToken: (bucket, perHour, burst) => one("take", { bucket, perHour, burst }) ?? undefined,
    fetch(request) {
      told.requests.push(request);
      const { headers, body, ...rest } = request;
      const pairs = headers.map(({ name, value }) => [name, value]);
      const bodyBase64 = Buffer.from(body).toString("base64");
      const answer = one("fetch", { ...rest, headers: pairs, bodyBase64 });
      return {
        status: answer.status,
        headers: (answer.headers ?? []).map((/** @type {string[]} */ [name, value]) => ({
          name,
          value,
        })),
        body: answer.bodyBase64
          ? new Uint8Array(Buffer.from(answer.bodyBase64, "base64"))
          : new TextEncoder().encode(answer.body ?? ""),
      };
    },
    event(event) {
      told.events.push(event);
      ask("publish", event);
    },
    log(level, message, fields) {
      const words = fields.map(({ key, value }) => ` ${key}=${value}`);
      told.logs.push(`${level}: ${message}${words.join("")}`);
    },
    metric(measure, name, labels, value) {
      const words = labels.map((label) => `,${label.name}=${label.value}`);
      told.metrics.push(`${measure} ${name}${words.join("")} ${value}`);
    },
    config: () => config,
    now: () => now,
    wakeAt: (time) => void process.exchange({ wakeAt: time }),
    attempt: () => attempt,
  };
}

/** @param {import("@windlass/sdk").ListQuery} query */
function asked({ labelSelector, consistency, ...query }) {
  return {
    ...query,
    labelSelector: labelSelector?.toString(),
    consistency: consistency ?? "stored",
  };
}
