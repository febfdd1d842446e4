/** The model in the Python program that has sent this page, asked over HTTP; see `engine.js` for the interface. */

import { checkLength } from "./engine.js";
import { facts } from "./facts.js";

const [UNAVAILABLE, ALTERNATIVES] = [503, 10];

/** An error of a `kind`, see `engine.js`. */
class Problem extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

export class Engine {
  #running = new Map(); // an AbortController by request

  async ask(request, values = {}) {
    if (values.replaces) for (const name of [...this.#running.keys()]) if (name !== "document") this.#stop(name);
    return REQUESTS[request](values, (path, content) => this.#post(request, path, content));
  }

  #stop(name) {
    this.#running.get(name)?.abort();
    this.#running.delete(name);
  }

  /** Posts JSON, or a file as it is; a newer request of the same name takes the older one's place, which answers null. */
  async #post(name, path, content) {
    this.#stop(name);
    const controller = new AbortController();
    this.#running.set(name, controller);
    const isFile = content instanceof Blob;
    const headers = { "Content-Type": isFile ? "application/octet-stream" : "application/json" };
    const body = isFile ? content : JSON.stringify(content);
    try {
      const response = await fetch(path, { method: "POST", headers, body, signal: controller.signal });
      if (response.ok) return await (isFile ? response.blob() : response.json());
      const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
      const reason = isJson ? (await response.json()).error : `The server answered: ${response.status} ${response.statusText}.`;
      throw new Problem(reason, response.status === UNAVAILABLE ? "busy" : null);
    } catch (error) {
      if (error instanceof Problem) throw error;
      if (error.name === "AbortError") return null;
      throw new Problem("The server does not answer. Is `aiayn-keras serve` still running?", "gone");
    } finally {
      if (this.#running.get(name) === controller) this.#running.delete(name);
    }
  }
}

/** Refuses texts as the server would. */
/** Numbers that Python sends as base64, lowest byte first. */
function decoded(base64, type) {
  return new type(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer);
}

const REQUESTS = {
  load: async () => ({ switches: null, keyDim: null }),

  cancel: async () => null,

  async translate({ text, numBeams, alpha }, post) {
    const answer = await post("/translate", { text, num_hypotheses: ALTERNATIVES, num_beams: numBeams, length_penalty: alpha });
    if (answer === null) return null;
    const sentences = answer.sentences.map(({ source, pieces, hypotheses }) => ({
      source, pieces,
      results: hypotheses.map((each) => ({
        text: each.text, logProb: each.score, score: each.normalized_score,
        pieces: each.pieces, ids: each.pieces?.slice(0, -1).map(({ id }) => id) ?? null,
      })),
    }));
    return { text: answer.translation, sentences, milliseconds: 1000 * answer.seconds };
  },

  async explore({ text, target, ids }, post) {
    checkLength(facts.max_explored, text, target);
    return post("/explore", { source: text, target, ids });
  },

  async record({ text, numBeams, alpha }, post) {
    checkLength(facts.max_watched, text);
    return post("/steps", { source: text, num_beams: numBeams, length_penalty: alpha });
  },

  async next({ text, ids, count }, post) {
    checkLength(facts.max_explored, text);
    const found = await post("/next", { source: text, ids, count });
    if (found === null) return null;
    const { written, limit, end_id: endId, best } = found;
    return { written, limit, endId, best, logits: decoded(found.logits, Float32Array), mayBeChosen: decoded(found.may_be_chosen, Uint8Array) };
  },

  async score({ text, translation, alpha }, post) {
    checkLength(facts.max_explored, text, translation);
    const found = await post("/score", { source: text, target: translation, length_penalty: alpha });
    if (found === null) return null;
    const pieces = found.pieces.map(({ id, piece, log_prob: logProb, rank, best, best_log_prob: bestLogProb }) =>
      ({ id, piece, logProb, rank, best, bestLogProb }));
    return { pieces, logProb: found.log_prob, score: found.score };
  },

  document: ({ file }, post) => post(`/document?${new URLSearchParams({ name: file.name })}`, file),
};
