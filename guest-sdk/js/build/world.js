// The contract as a WIT package for componentize-qjs, which imports a whole world.

import { cpSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A world of the contract and random numbers, which every host has in its WASI. @param {string} world */
const withImport = (world) => `package windlass:javascript;

world ${world} {
  include windlass:plugin/${world}@0.2.0;
  import wasi:random/random@0.2.0;
}
`;
const RANDOM = `package wasi:random@0.2.0;

interface random {
  get-random-bytes: func(len: u64) -> list<u8>;
}
`;

/**
 * Calls `make` with the path of a world that also imports random numbers.
 * @template T
 * @param {string} wit the contract's folder
 * @param {string} world of the contract
 * @param {(path: string) => Promise<T>} make
 */
export async function withRandom(wit, world, make) {
  const folder = mkdtempSync(join(tmpdir(), "windlass-world-"));
  try {
    writeFileSync(join(folder, "world.wit"), withImport(world));
    mkdirSync(join(folder, "deps/random"), { recursive: true });
    writeFileSync(join(folder, "deps/random/random.wit"), RANDOM);
    cpSync(wit, join(folder, "deps/windlass"), { recursive: true });
    return await make(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
