// Builds the hello plugin on StarlingMonkey: node build.js OUT.wasm

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { componentize } from "@bytecodealliance/componentize-js";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

const { component } = await componentize({
  sourcePath: path("hello.js"),
  witPath: path("../../../wit"),
  worldName: "plugin",
  disableFeatures: ["random", "stdio", "clocks", "http", "fetch-event"],
});
writeFileSync(process.argv[2], component);
