// What TypeScript knows of the globals of a plugin.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeCrypto } from "../src/web/crypto.js";
import { Headers } from "../src/web/headers.js";
import { Request } from "../src/web/request.js";
import { Response } from "../src/web/response.js";
import { structuredClone } from "../src/web/structured-clone.js";
import { TextDecoder } from "../src/web/text-decoder.js";
import { TextEncoder } from "../src/web/text-encoder.js";
import { URL as WebURL, URLSearchParams } from "../src/web/url.js";
import { SDK } from "./built.js";

const TSC = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));

test("the types say what the code does", () => {
  /** @typedef {typeof import("../types/web.js")} Web */
  /** @type {Omit<Web, "Body" | "URL" | "URLSearchParams" | "Headers" | "Request" | "Response">} */
  const typed = { TextDecoder, TextEncoder, structuredClone };
  assert.equal(Object.keys(typed).length, 3);
  /** @type {import("../types/web.js").Crypto} */
  const crypto = /** @type {any} */ (makeCrypto((length) => new Uint8Array(length)));
  assert.equal(crypto.randomUUID().length, 36);
  /** @type {[object, object][]} */
  const pairs = [
    [new WebURL("a:b"), ["href", "origin", "searchParams", "toJSON"]],
    [new URLSearchParams(), ["size", "append", "getAll", "sort", "entries"]],
    [new Headers(), ["append", "delete", "get", "getSetCookie", "has", "set", "forEach", "keys"]],
    [new Request("a:b"), ["bodyUsed", "text", "json", "bytes", "arrayBuffer", "method", "clone"]],
    [new Response(), ["bodyUsed", "text", "json", "bytes", "arrayBuffer", "status", "ok", "clone"]],
  ];
  for (const [value, names] of pairs) {
    for (const name of Object.values(names)) assert.ok(name in value, String(name));
  }
});

/** What tsc says of `source` without lib dom and @types/node. @param {string} source */
function checked(source) {
  const folder = mkdtempSync(join(tmpdir(), "windlass-types-"));
  try {
    mkdirSync(join(folder, "node_modules/@windlass"), { recursive: true });
    symlinkSync(SDK, join(folder, "node_modules/@windlass/sdk"));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: "es2023",
      lib: ["es2023"],
      module: "nodenext",
      types: ["@windlass/sdk/globals"],
    };
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
    writeFileSync(join(folder, "a.ts"), source);
    const { stdout } = spawnSync(TSC, ["--project", folder], { encoding: "utf8" });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a plugin in TypeScript needs neither lib dom nor @types/node", () => {
  const right = `
    import { controller } from "@windlass/sdk";
    const url: URL = new URL("https://a.b");
    url.searchParams.set("a", "b");
    const text: string = new Response("x", { headers: { a: "b" } }).text();
    const bytes: Uint8Array = new TextEncoder().encode(text + btoa("a"));
    const copy: { a: number } = structuredClone({ a: 1 });
    const id: string = crypto.randomUUID() + crypto.getRandomValues(new Uint8Array(4)).length;
    for (const [name, value] of new Headers([["a", "b"]])) console.info(name, value, bytes, copy, id);
    export const request: Request = new Request(url, { method: "POST", body: new URLSearchParams() });
  `;
  assert.equal(checked(right), "");
  const wrong =
    "setTimeout(() => {}, 1); fetch('https://a.b'); process.exit(); const t: Promise<string> = new Response().text();";
  const said = checked(wrong);
  for (const name of ["setTimeout", "fetch", "process"]) {
    assert.match(said, new RegExp(`Cannot find name '${name}'`));
  }
  assert.match(said, /'string' is not assignable to type 'Promise<string>'/);
});
