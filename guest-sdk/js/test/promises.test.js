// Code with promises runs in a plugin as in Node.js, and no promise is lost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutAsync } from "../build/promises.js";
import { PluginPromise, awaitTop, runAsync, settled } from "../src/web/promise.js";
import { built } from "./built.js";

/** Runs code as the build command leaves it; how it ends. @param {string} source @param {(word: unknown) => void} say */
function inPlugin(source, say) {
  const code = withoutAsync(source, "src/a.js");
  const none = (/** @type {string} */ name) => new TypeError(`${name} is not available`);
  const same = (/** @type {unknown} */ value) => value;
  const given = {
    say,
    Promise: PluginPromise,
    __windlassAsync: runAsync,
    __windlassAwait: same,
    __windlassTop: awaitTop,
    __windlassNone: none,
  };
  new Function(...Object.keys(given), `"use strict"; ${code}`)(...Object.values(given));
  settled("reconcile", () => "src/a.js:1");
}

/** Each says the same words in the same order, here and there. */
const SAME = {
  "await runs what stands behind it later": `
    async function f(a, b = a + 1) { say(a); await null; say(b); return 3; }
    f(1).then(say); say("first");`,
  "loops wait": "(async () => { for (const x of [1, 2]) { say(await x); } say('end') })();",
  "forEach with async": "[1, 2].forEach(async (x) => { say(x); await x; say(-x); }); say(0);",
  "all of a map": `
    Promise.all([1, 2].map(async (x) => { await 0; return x * 2; })).then((all) => say(all.join()));`,
  "allSettled, any, race, and empty lists": `
    Promise.allSettled([1, Promise.reject(new Error("x"))])
      .then(([a, b]) => say(a.status + a.value + b.status + b.reason.message));
    Promise.any([Promise.reject(1), 2]).then(say);
    Promise.any([]).catch((e) => say(e.constructor.name));
    Promise.race([new Promise((r) => r(7)), 8]).then(say);
    Promise.all([]).then((all) => say(all.length));`,
  "what is caught is not lost": `
    async function bad() { throw new Error("no"); }
    (async () => { try { await bad(); } catch (e) { say(e.message); } finally { say("f"); } })();
    bad().catch((e) => say("caught " + e.message));
    const p = Promise.reject(1); p.then(say, (x) => say("late " + x));`,
  finally: `
    Promise.resolve(1).finally(() => say("f")).then(say);
    Promise.reject(2).finally(() => {}).catch(say);`,
  thenables: "(async () => say(await { then(done) { say('then'); done(5); } }))(); say(0);",
  "withResolvers, and a resolution by another promise": `
    let done; const promise = new Promise((r) => (done = r));
    promise.then(say); done(Promise.resolve(9)); done(1);`,
  "this, arguments and super": `
    class A { constructor() { this.n = 1; } async add(x) { await 0; return this.n + x; } get two() { return 2; } }
    class B extends A {
      async add(x) { say(arguments.length); const up = async () => super.add(x + (await super.two)); return (await up()) + super["two"]; }
      plain() { return (async () => super.two + arguments[0])(); }
      static async make() { return new this(); }
      async #own() { return this.n; }
      field = async () => this.#own();
    }
    (async () => { const b = await B.make(); say(await b.add(10)); say(await b.plain(5)); say(await b.field()); })();`,
  "objects with async methods": `
    const o = { async a(x) { return x; }, async: 3, ["b" + 1]: async function () { return this.async; } };
    const p = { async async() { return 4; }, async: undefined, ...{ async async() { return 5; } } };
    (async () => { say(await o.a(1)); say(await o.b1()); say(await p.async()); })();`,
  "destructured parameters, comments and no semicolons": `
    const f = async ({ a }, [b, ...c] = [], /* ( */ ...d) => // a comment
      (a + b + c.length + d.length)
    const g = async x => ({ x })
    async function h() {
      let y = 1
      await y
      say(y)
      if (y) await g(1); else await 0
      return await f({ a: 1 }, [2, 3], 4) + (await g(2)).x * -await 3
    }
    h().then(say)`,
  "nested functions": `
    async function outer() { const inner = async (x) => { await x; return () => x + 1; }; return (await inner(1))(); }
    outer().then(say);`,
  "an error in the executor, and of a default": `
    new Promise(() => { throw new Error("e"); }).catch((e) => say(e.message));
    (async (x = (() => { throw new Error("d"); })()) => x)().catch((e) => say(e.message));`,
};

for (const [name, source] of Object.entries(SAME)) {
  test(name, async () => {
    /** @type {unknown[]} */
    const native = [];
    new Function("say", `"use strict"; ${source}`)((/** @type {unknown} */ word) =>
      native.push(word),
    );
    await new Promise((done) => setImmediate(done));
    /** @type {unknown[]} */
    const words = [];
    inPlugin(source, (word) => words.push(word));
    assert.ok(native.length > 0);
    assert.deepEqual(words, native);
  });
}

test("a promise that was rejected, or is pending, at the end of a call is thrown", () => {
  const pending = "a promise is still pending at the end of reconcile: it was made at src/a.js:";
  const cases = /** @type {const} */ ([
    ["async function f() { throw new Error('no'); } f();", /^no$/],
    ["async function f() { await 0; throw new Error('later'); } f();", /^later$/],
    ["[1].forEach(async () => { throw new Error('each'); });", /^each$/],
    ["Promise.resolve(1).then(() => { throw new Error('then'); });", /^then$/],
    ["Promise.all([1].map(async () => { throw new Error('all'); }));", /^all$/],
    ["Promise.reject(new Error('made'));", /^made$/],
    ["Promise.reject(new Error('passed on')).finally(() => {});", /^passed on$/],
    ["\nasync function f() { await new Promise(() => {}); } f();", `${pending}`],
    ["\n\nPromise.withResolvers();", `${pending}`],
    ["(async () => { for await (const x of []) x; })();", /^for await is not available$/],
    ["async function* f() {} f();", /^an async generator is not available$/],
    ["import('x');", /^import\(\) is not available$/],
  ]);
  for (const [source, message] of cases) {
    assert.throws(
      () => inPlugin(source, () => {}),
      (/** @type {Error} */ error) =>
        typeof message === "string"
          ? error.message.startsWith(message)
          : message.test(error.message),
      source,
    );
    // The failure was of that call only.
    settled("reconcile", () => "");
  }
});

test("each line stays where it is", () => {
  const source = `
async function
  f(a,
    b) {
  await
    a;
  for await (const x of b) {
    x();
  }
}
class A extends B {
  async
  m() { await super
    .m(
      1); }
  async *g() {
    yield 1;
  }
}
export const h = async (a,
  b) =>
  // A comment (
  ({ a,
    b });
await import(
  "x");
throw new Error();
`.replace("async\n  m", "async m");
  const lines = withoutAsync(source, "src/a.js").split("\n");
  assert.equal(lines.length, source.split("\n").length);
  assert.equal(lines.at(-2), "throw new Error();");
  const at = source.split("\n").indexOf("await import(");
  assert.ok(lines[at]?.includes(`"src/a.js:${at + 1}"`));
});

test("an error about a module names the file of the project, and not that of the copy", () => {
  const { stderr } = built('import "nope"; async function f() {} export const plugin = f;');
  assert.match(stderr, /Error resolving module 'nope' from 'src\/a\.js'/);
  assert.doesNotMatch(stderr, /windlass-build-[^ ]*src/);
});

test("a promise that modules leave behind when they load is an error of the build", () => {
  const plugin = `
    import { controller } from "@windlass/sdk";
    export const plugin = controller({ watches: ["x.dev/v1", "X"], reconcile() {} });
  `;
  const { stderr } = built(`${plugin} async function f() { throw new Error("at load"); } f();`);
  assert.match(stderr, /at load\n.*src\/a\.js:4/);
  assert.match(
    built(`${plugin} new Promise(() => {});`).stderr,
    /pending at the end of the loading.*src\/a\.js:4/,
  );
  assert.equal(
    built(`${plugin} const x = await (async () => 3)(); if (x !== 3) throw x;`).stderr,
    "",
  );
});
