// The globals of the web do what those of Node.js do: in Node.js, and in QuickJS while a component is built.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Headers } from "../src/web/headers.js";
import { Request } from "../src/web/request.js";
import { Response } from "../src/web/response.js";
import { structuredClone } from "../src/web/structured-clone.js";
import { TextDecoder } from "../src/web/text-decoder.js";
import { TextEncoder } from "../src/web/text-encoder.js";
import { URL, URLSearchParams } from "../src/web/url.js";
import { built } from "./built.js";
import { saying } from "./web/says.js";
import * as tables from "./web/tables.js";

const OURS = {
  Headers,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  URL,
  URLSearchParams,
  structuredClone,
};
const NAMES = Object.keys(OURS).join(", ");
const { AWAITED, QUICKJS, ...SYNC } = tables;

/** @param {string[]} expressions @param {object} globals @returns {any} */
function said(expressions, globals, word = "") {
  const run = (0, eval)(saying(expressions, NAMES, word));
  return run(...Object.keys(OURS).map((name) => /** @type {any} */ (globals)[name]));
}

/** @param {string[]} expressions @param {string[]} ours @param {string[]} theirs */
function same(expressions, ours, theirs) {
  const rows = expressions.map((expression, at) => ({
    expression,
    ours: ours[at],
    theirs: theirs[at],
  }));
  assert.deepEqual(
    rows.filter((row) => row.ours !== row.theirs),
    [],
  );
}

for (const [name, expressions] of Object.entries(SYNC)) {
  test(`${name}: the same as in Node.js`, () => {
    same(expressions, said(expressions, OURS), said(expressions, globalThis));
  });
}

test("AWAITED: the same as in Node.js", async () => {
  same(AWAITED, await said(AWAITED, OURS, "async"), await said(AWAITED, globalThis, "async"));
});

test("in QuickJS too", async () => {
  const sync = [...Object.values(SYNC).flat(), ...QUICKJS];
  const { stderr } = built(`
    const said = ${saying(sync, "")}();
    said.push(...await ${saying(AWAITED, "", "async")}());
    throw new Error("SAID" + JSON.stringify(said) + "END");
    export const plugin = undefined;
  `);
  const [, text] = /SAID(.*)END/s.exec(stderr) ?? [];
  assert.ok(text, stderr);
  const theirs = [...said(sync, globalThis), ...(await said(AWAITED, globalThis, "async"))];
  same([...sync, ...AWAITED], JSON.parse(text), theirs);
});

test("windows-1252 is decoded as the standard has it, unlike in Node.js 20", () => {
  const bytes = new Uint8Array([0x41, 0x80, 0x81, 0x9f, 0xa0, 0xff]);
  for (const label of ["latin1", "ascii", "windows-1252"]) {
    assert.equal(new TextDecoder(label).decode(bytes), "A\u20ac\x81\u0178\xa0\xff");
  }
  const fatal = new TextDecoder("latin1", { fatal: true });
  assert.equal(fatal.decode(bytes, { stream: true }) + fatal.decode(), "A\u20ac\x81\u0178\xa0\xff");
});
