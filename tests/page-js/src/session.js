// A session of `windlass dev` on the example plugin: a child process, its project, and what it tells.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const TARGET = join(ROOT, "target");
const COMPONENT = join(TARGET, "guests/wasm32-wasip2/guest/greeter.wasm");
const DOCUMENTS = ["plugin.yaml", "greeting.crd.yaml", "example.yaml", "namespace.yaml"];

/** How long anything may take, in milliseconds. */
export const DEADLINE = 60_000;

/** What a plugin fails on for good: a name that is there and says nothing. */
export const BLANK = " ";

/** @typedef {{ event: string, page?: string }} News */

/**
 * Makes a project of the example plugin and one Greeting, `ada`, in a temporary folder.
 * @returns {string}
 */
function project() {
  const folder = mkdtempSync(join(tmpdir(), "windlass-page-"));
  for (const file of DOCUMENTS) {
    copyFileSync(join(ROOT, "plugins/greeter", file), join(folder, file));
  }
  copyFileSync(COMPONENT, join(folder, "greeter.wasm"));
  return folder;
}

export class Session {
  #folder = project();
  /** @type {import("node:child_process").ChildProcess | undefined} */
  #host;
  /** The address of the overview. */
  url = "";

  /**
   * Starts a host, which is ready when this returns.
   * @param {Record<string, string>} greetings the names to greet, by the name of the Greeting
   */
  static async start(greetings = {}) {
    const session = new Session();
    for (const [name, whom] of Object.entries(greetings)) session.greet(name, whom);
    await session.run("127.0.0.1:0");
    return session;
  }

  /**
   * Runs a host whose status is served at `address`, until it is ready.
   * @param {string} address
   */
  async run(address) {
    const args = ["dev", "--output", "json", "--admin-bind-address", address];
    const host = spawn(join(TARGET, "debug/windlass"), args, {
      cwd: this.#folder,
      env: { ...process.env, WINDLASS_CODE_CACHE: join(TARGET, "page-js/code") },
      stdio: ["ignore", "pipe", "inherit"],
      // Should nobody end it.
      timeout: 5 * DEADLINE,
    });
    this.#host = host;
    const lines = createInterface({ input: host.stdout });
    const ready = await new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        const news = /** @type {News} */ (JSON.parse(line));
        if (news.event === "ready") resolve(news);
      });
      host.once("error", reject);
      host.once("exit", (code) => reject(new Error(`the host ended with ${code}`)));
    });
    this.url = `${ready.page}/`;
  }

  /**
   * Writes a Greeting into the project, where the host finds and applies it.
   * @param {string} name
   * @param {string} whom
   * @param {Record<string, string>} annotations
   */
  greet(name, whom, annotations = {}) {
    const greeting = {
      apiVersion: "examples.windlass.dev/v1",
      kind: "Greeting",
      metadata: { name, namespace: "default", annotations },
      spec: { name: whom },
    };
    // JSON is YAML.
    writeFileSync(join(this.#folder, `${name}.yaml`), JSON.stringify(greeting));
  }

  /** Ends the host. */
  async end() {
    const host = this.#host;
    this.#host = undefined;
    if (!host || host.exitCode !== null || host.signalCode !== null) return;
    host.kill();
    await once(host, "exit");
  }

  /** Ends the host, and takes its project away. */
  async close() {
    await this.end();
    rmSync(this.#folder, { recursive: true });
  }
}
