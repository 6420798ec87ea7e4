// The thread that starts the processes and waits for their answers, so that the thread of the test can wait for it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { parentPort } from "node:worker_threads";

/** @typedef {{ id: number, line?: string, port: import("node:worker_threads").MessagePort, signal: Int32Array }} Ask */
/** @typedef {{ line: string } | { problem: string }} Said */
/** @typedef {{ child: import("node:child_process").ChildProcess, answer?: (said: Said) => void, ended?: string }} Process */

/** @type {Map<number, Process>} */
const processes = new Map();

parentPort?.on("message", (/** @type {Ask} */ { id, line, port, signal }) => {
  if (line === undefined) {
    processes.get(id)?.child.kill();
    processes.delete(id);
    return;
  }
  const process = processes.get(id) ?? start(id);
  const answer = (/** @type {Said} */ said) => {
    process.answer = undefined;
    port.postMessage(said);
    Atomics.store(signal, 0, 1);
    Atomics.notify(signal, 0);
    port.close();
  };
  if (process.ended) return answer({ problem: process.ended });
  process.answer = answer;
  process.child.stdin?.write(`${line}\n`);
});

/** @param {number} id @returns {Process} */
function start(id) {
  const program = globalThis.process.env.WINDLASS || "windlass";
  const child = spawn(program, ["fake"], { stdio: ["pipe", "pipe", "inherit"] });
  /** @type {Process} */
  const process = { child };
  processes.set(id, process);
  const ends = (/** @type {string} */ why) => {
    process.ended ??= why;
    process.answer?.({ problem: process.ended });
  };
  child.on("error", ({ message }) =>
    ends(
      `cannot start \`${program} fake\`, which plays the cluster: ${message}. Put the command windlass into a folder of PATH, or name it: WINDLASS=/path/to/windlass`,
    ),
  );
  const lines = createInterface({
    input: /** @type {import("node:stream").Readable} */ (child.stdout),
  });
  lines.on("line", (line) => process.answer?.({ line }));
  lines.on("close", () =>
    ends(`\`${program} fake\` has ended. Is it a windlass of the version of this SDK?`),
  );
  // It has ended: that is said where its answer is waited for.
  child.stdin?.on("error", () => undefined);
  return process;
}
