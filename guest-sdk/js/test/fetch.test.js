// A fetch that answers at once, and random numbers that come from outside.

import assert from "node:assert/strict";
import { test } from "node:test";
import { makeCrypto } from "../src/web/crypto.js";
import { FetchError } from "../src/web/fetch-error.js";
import { makeFetchSync } from "../src/web/fetch.js";
import { Request } from "../src/web/request.js";

/** @typedef {import("../src/web/fetch.js").Send} Send */

test("a request is sent as the contract has it, and the answer is there at once", async () => {
  /** @type {Parameters<Send>[0][]} */
  const sent = [];
  const fetch = makeFetchSync((request) => {
    sent.push(request);
    const headers = [
      { name: "X-Text", value: "ä€" },
      { name: "set-cookie", value: "a=1" },
      { name: "set-cookie", value: "b=2" },
    ];
    return { status: 201, headers, body: [...new TextEncoder().encode('{"a":"ä"}')] };
  });
  const response = fetch("https://EXAMPLE.com/a b", {
    method: "put",
    headers: { "X-Y": "z" },
    body: "ä",
    timeout: "1.5s",
    credential: "token",
  });
  assert.deepEqual(sent, [
    {
      method: "PUT",
      url: "https://example.com/a%20b",
      headers: [
        { name: "x-y", value: "z" },
        { name: "content-type", value: "text/plain;charset=UTF-8" },
      ],
      body: new Uint8Array([0xc3, 0xa4]),
      timeoutMs: 1500,
      credential: "token",
    },
  ]);
  assert.equal(response.status, 201);
  assert.ok(response.ok);
  assert.equal(response.url, "https://example.com/a%20b");
  assert.equal(response.headers.get("x-text"), "ä€");
  assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
  const copy = response.clone();
  assert.deepEqual(response.json(), { a: "ä" });
  assert.throws(() => response.text(), TypeError);
  // Code that was written for promises does the same.
  assert.equal(await copy.text(), '{"a":"ä"}');
});

test("any status is an answer, and a request without options is a GET", () => {
  for (const status of [100, 204, 304, 404, 599, 999]) {
    const fetch = makeFetchSync((request) => {
      assert.equal(request.method, "GET");
      assert.deepEqual([request.headers, request.body.length], [[], 0]);
      assert.deepEqual([request.timeoutMs, request.credential], [null, null]);
      return { status, headers: [], body: new Uint8Array([120]) };
    });
    const response = fetch(new Request("https://a.b"));
    assert.deepEqual([response.status, response.text()], [status, "x"]);
  }
});

test("bytes are the answer's own", () => {
  const fetch = makeFetchSync(() => ({ status: 200, headers: [], body: new Uint8Array([1, 2]) }));
  assert.deepEqual(fetch("https://a.b").bytes(), new Uint8Array([1, 2]));
  assert.equal(fetch("https://a.b").arrayBuffer().byteLength, 2);
});

test("without an answer, the error says what was tried and why it failed", () => {
  const cases = /** @type {[object, string | RegExp, RegExp][]} */ ([
    [{ tag: "denied" }, "denied", /^cannot GET https:\/\/a\.b\/: the operator does not allow/],
    [{ tag: "timeout" }, "timeout", /too slow; the server may have acted on it$/],
    [{ tag: "unavailable" }, "unavailable", /no connection/],
    [{ tag: "too-large" }, "too-large", /too large$/],
    [{ tag: "invalid", val: "bad header" }, "invalid", /^cannot GET https:\/\/a\.b\/: bad header$/],
    [{ tag: "other", val: "TLS" }, "other", /: TLS$/],
  ]);
  for (const [payload, code, says] of cases) {
    const fetch = makeFetchSync(() => {
      throw Object.assign(new Error("x"), { payload });
    });
    assert.throws(
      () => fetch("https://a.b"),
      (error) => error instanceof FetchError && error.code === code && says.test(error.message),
    );
  }
  const broken = makeFetchSync(() => {
    throw new RangeError("a bug");
  });
  assert.throws(() => broken("https://a.b"), /a bug/);
  assert.throws(() => broken("/a"), /"\/a" is not an absolute URL/);
  assert.throws(() => broken("https://a.b", { timeout: "soon" }), RangeError);
});

test("random bytes fill any array of integers", () => {
  const crypto = makeCrypto((length) => Uint8Array.from({ length }, (_, at) => at + 1));
  assert.deepEqual([...crypto.getRandomValues(new Uint8Array(3))], [1, 2, 3]);
  const whole = new Uint8Array(8);
  const part = new Uint16Array(whole.buffer, 2, 2);
  assert.equal(crypto.getRandomValues(part), part);
  assert.deepEqual([...whole], [0, 0, 1, 2, 3, 4, 0, 0]);
  assert.equal(crypto.getRandomValues(new BigInt64Array(8192)).length, 8192);
  assert.equal(crypto.randomUUID(), "01020304-0506-4708-890a-0b0c0d0e0f10");
  /** @type {any[]} */
  const refused = [new Float64Array(1), new DataView(new ArrayBuffer(1)), new Uint8Array(65_537)];
  for (const array of [...refused, [1], undefined, "a"]) {
    const name = (/** @type {() => void} */ call) => {
      try {
        call();
      } catch (error) {
        return /** @type {Error} */ (error).name;
      }
      return "nothing";
    };
    const want = name(() => globalThis.crypto.getRandomValues(array));
    assert.equal(
      name(() => crypto.getRandomValues(array)),
      want,
      String(array),
    );
  }
});
