// A controller as its author declares it, and what it says about itself with that.

import { EVERY, group, need, plural } from "./needs.js";

/** @typedef {import("@windlass/sdk").Declaration} Declaration */
/** @typedef {import("@windlass/sdk").Plugin} Plugin */

const DEFINITION = "CustomResourceDefinition";

/** Every field that a declaration can have. */
const FIELDS = [
  "watches",
  "plural",
  "labelSelector",
  "fieldSelector",
  "trigger",
  "fields",
  "needs",
  "reconcile",
  "reconcileGoing",
  "finalize",
  "finalizes",
  "onLeave",
  "writesStatus",
  "origins",
  "crds",
];

/**
 * A controller for one kind of object: what it watches, what it needs, and what it does. Every call
 * is made in a new sandbox: no variable survives from one call to the next.
 * @param {Declaration} declaration
 */
export function controller(declaration) {
  const wrong = mistake(declaration);
  if (wrong) throw new TypeError(`controller: ${wrong}`);
  return Object.freeze({ ...declaration });
}

/**
 * All that a controller touches: its primary (`patch` if it finalizes), the primary's status if it
 * writes that, and what it asks for itself.
 * @param {Declaration} plugin
 */
export function allNeeds({ watches, finalize, writesStatus, fields, ...plugin }) {
  const [apiVersion, kind] = watches;
  // The grants say which kinds these are.
  if (kind === EVERY) return plugin.needs ?? [];
  const resource = plugin.plural ?? plural(kind);
  const verbs = ["get", "list", "watch", ...(finalize ? ["patch"] : [])];
  return [
    need(apiVersion, kind, verbs, { plural: resource, fields }),
    ...(writesStatus ? [need(apiVersion, kind, ["patch"], { plural: `${resource}/status` })] : []),
    ...(plugin.needs ?? []),
  ];
}

/**
 * The controllers of a plugin: one, or one for each of its kinds.
 * @param {Plugin} plugin
 * @returns {readonly Declaration[]}
 */
export function controllers(plugin) {
  return isList(plugin) ? plugin : [plugin];
}

/** @param {Plugin} plugin @returns {plugin is readonly Declaration[]} */
function isList(plugin) {
  return Array.isArray(plugin);
}

/**
 * The controller for the kind of an object.
 * @param {Plugin} plugin
 * @param {{ apiVersion?: string, kind?: string }} object
 */
export function controllerOf(plugin, { apiVersion, kind }) {
  const all = controllers(plugin);
  // The host calls a plugin for the kinds that it names alone.
  const [only] = all;
  if (only && all.length === 1) return only;
  const named = all.find(({ watches }) => watches[0] === apiVersion && watches[1] === kind);
  const found = named ?? all.find(({ watches }) => watches[1] === EVERY);
  if (found) return found;
  throw new Error(`the plugin does not reconcile ${kind} of ${apiVersion}`);
}

/** Which objects a controller reconciles, as the contract has it. @param {Declaration} declaration */
function watch({ watches: [apiVersion, kind], ...declaration }) {
  return {
    apiVersion,
    kind,
    labelSelector: declaration.labelSelector ?? null,
    fieldSelector: declaration.fieldSelector ?? null,
    trigger: declaration.trigger ?? "any-change",
    finalizes: declaration.finalize ? (declaration.finalizes ?? "always") : "never",
    onLeave: declaration.onLeave ?? "forget",
    fields: declaration.fields ?? [],
  };
}

/**
 * What a plugin says about itself, as the contract has it.
 * @param {Plugin} plugin
 * @param {{ name: string, version: string }} about
 */
export function describe(plugin, { name, version }) {
  const all = controllers(plugin);
  return {
    name,
    version,
    primaries: all.map(watch),
    needs: all.flatMap(allNeeds).map((rule) => ({
      apiGroups: rule.apiGroups,
      resources: rule.resources,
      resourceNames: rule.resourceNames ?? [],
      verbs: rule.verbs,
      fields: rule.fields ?? [],
    })),
    origins: [...new Set(all.flatMap(({ origins }) => origins ?? []))],
    crds: all.flatMap(({ crds }) => crds ?? []).map((crd) => JSON.stringify(crd)),
  };
}

/**
 * The first thing that is wrong with a declaration.
 * @param {Partial<Declaration>} declaration
 */
function mistake(declaration) {
  const unknown = Object.keys(declaration).find((field) => !FIELDS.includes(field));
  if (unknown) return `there is no ${unknown}; there are ${FIELDS.join(", ")}`;
  const { watches, trigger, needs, reconcile, finalize, writesStatus, crds } = declaration;
  const { reconcileGoing, finalizes, onLeave, origins } = declaration;
  const isKind = Array.isArray(watches) && watches.length === 2;
  if (!isKind || !watches.every((word) => typeof word === "string" && word)) {
    return 'watches must be an API version and a kind: ["apps/v1", "Deployment"]';
  }
  if (group(watches[0]) === "" && watches[0].includes(".")) {
    return `${watches[0]} is not an API version: the group's version is missing, as in example.dev/v1`;
  }
  if (trigger !== undefined && trigger !== "any-change" && trigger !== "spec-change") {
    return 'trigger must be "any-change" or "spec-change"';
  }
  if (needs !== undefined && !Array.isArray(needs)) return "needs must be a list";
  if (typeof reconcile !== "function") return "reconcile must be a function";
  if (reconcileGoing !== undefined && typeof reconcileGoing !== "function") {
    return "reconcileGoing must be a function";
  }
  if (finalize !== undefined && typeof finalize !== "function") {
    return "finalize must be a function";
  }
  if (finalizes !== undefined && !(finalize && ["always", "on-request"].includes(finalizes))) {
    return 'finalizes must be "always" or "on-request", and needs finalize';
  }
  if (onLeave !== undefined && !(finalize && ["forget", "finalize"].includes(onLeave))) {
    return 'onLeave must be "forget" or "finalize", and needs finalize';
  }
  if (origins !== undefined && !isTexts(origins)) {
    return 'origins must be a list of texts: ["https://api.example.com"]';
  }
  if (writesStatus !== undefined && typeof writesStatus !== "boolean") {
    return "writesStatus must be true or false";
  }
  if (writesStatus && watches[1] === EVERY) {
    return "writesStatus is for kinds that watches names, and not for *";
  }
  /** @param {unknown} crd */
  const isDefinition = (crd) =>
    typeof crd === "object" && crd !== null && "kind" in crd && crd.kind === DEFINITION;
  if (crds !== undefined && !(Array.isArray(crds) && crds.every(isDefinition))) {
    return `crds must be a list of objects of kind ${DEFINITION}`;
  }
  return undefined;
}

/** @param {unknown} list */
function isTexts(list) {
  return Array.isArray(list) && list.every((word) => typeof word === "string" && word);
}
