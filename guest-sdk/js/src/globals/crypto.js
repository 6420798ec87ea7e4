// Makes `crypto` global, in a component only.
//
// A component is a snapshot, taken when its modules were loaded. What was drawn by then would be the
// same in each call, so that nothing may be drawn before.

import random from "wasi:random/random@0.2.0";
import { makeCrypto } from "../web/crypto.js";

let ready = false;

/** The build's entry calls it when all modules are loaded. */
export function loaded() {
  ready = true;
}

const crypto = makeCrypto((length) => {
  if (!ready) throw new Error("crypto works in a call only, not while modules are loaded");
  return Uint8Array.from(random.getRandomBytes(length));
});

Object.assign(globalThis, { crypto });
