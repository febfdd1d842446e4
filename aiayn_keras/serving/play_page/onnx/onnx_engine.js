/** The model in a worker of the browser, by ONNX Runtime Web; see `engine.js` for the interface. */

import { checkLength } from "../engine.js";
import { facts } from "../facts.js";

const SIMD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11]; // a program of it

/** What this browser lacks to run the model; null if it has everything. */
function missing() {
  if (typeof WebAssembly !== "object") return "WebAssembly, which strict security settings such as Lockdown Mode switch off";
  return WebAssembly.validate(Uint8Array.from(SIMD)) ? null : "SIMD instructions in WebAssembly";
}

export class Engine {
  #missing = missing();
  #worker = null; // null if it could not be started: the next request starts another one
  #waiting = new Map();
  #last = 0;

  constructor() { this.#start(); } // so that its program is there when the reader types

  #start() {
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data: { id, news, answer, error, isLast } }) => {
      if (isLast) return this.#end(error);
      const { resolve, reject, tell } = this.#waiting.get(id);
      if (news !== undefined) return tell?.(news);
      this.#waiting.delete(id);
      return error === undefined ? resolve(answer) : reject(new Error(error));
    });
    this.#worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.#end(`The model's program cannot be started: ${event.message ?? "its files cannot be fetched; is the network there, and the server of this page?"}`);
    });
  }

  /** Gives up a worker that will answer nothing else. */
  #end(message) {
    this.#worker.terminate();
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(new Error(message));
    this.#waiting.clear();
  }

  /**
   * Asks the worker.
   * @param {string} request - Name of a request in `worker.js`.
   * @param {object} values - Its values; with `replaces`, older searches are given up and answer null.
   * @param {Function} tell - Called with what comes before the answer.
   */
  async ask(request, values = {}, tell = null) {
    if (request === "record") checkLength(facts.max_watched, values.text); // or its searches take a minute
    if (this.#missing && request !== "cancel") throw new Error(`this browser lacks ${this.#missing}.`);
    if (!this.#worker) this.#start();
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, tell });
      this.#worker.postMessage({ id, request, ...values });
    });
  }
}
