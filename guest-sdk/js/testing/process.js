// A process that plays the cluster, and the lines that it is sent. Each waits for its answer.

import { MessageChannel, Worker, receiveMessageOnPort } from "node:worker_threads";

const PROTOCOL = "windlass.dev/fake/v1";

/** @type {Worker | undefined} */
let worker;
let started = 0;

/** Those that nobody uses any more are ended. */
const unused = new FinalizationRegistry((/** @type {number} */ id) => worker?.postMessage({ id }));

/** A `windlass fake` that runs. */
export class Process {
  #id = (started += 1);

  constructor() {
    worker ??= begin();
    unused.register(this, this.#id);
    this.done({ protocol: PROTOCOL });
  }

  /**
   * Says `message`, and waits for the answer.
   * @param {object} message
   * @returns {any}
   */
  exchange(message) {
    const { port1, port2 } = new MessageChannel();
    const signal = new Int32Array(new SharedArrayBuffer(4));
    const ask = { id: this.#id, line: JSON.stringify(message), port: port2, signal };
    worker?.postMessage(ask, [port2]);
    Atomics.wait(signal, 0, 0);
    const said = receiveMessageOnPort(port1)?.message;
    port1.close();
    if (!said || said.problem) throw new Error(said?.problem ?? "there is no answer");
    return JSON.parse(said.line);
  }

  /**
   * Says `message`, which leads to no call, and waits until it is done.
   * @param {object} message
   */
  done(message) {
    const { ok, error } = this.exchange(message);
    if (error !== undefined) throw new Error(error);
    return ok;
  }

  /** Ends it. */
  close() {
    worker?.postMessage({ id: this.#id });
  }
}

function begin() {
  // The flags of the test, such as `-e`, are not for it.
  const worker = new Worker(new URL("./worker.js", import.meta.url), { execArgv: [] });
  // A test ends without it.
  worker.unref();
  return worker;
}
