/** The view of the next piece: its distribution, shaped and drawn from. */

import { element, node, percent, says } from "./dom.js";

const NUM_SHOWN = 12;
const ALL = NUM_SHOWN + 1; // the last place of the slider for top-k

/**
 * Probabilities of all pieces after temperature, top-k and top-p; 0 for pieces that are left out.
 *
 * @param {Float32Array} logits - Of all pieces.
 * @param {Uint8Array} mayBeChosen - 0 for pieces that are never written; their probability is not given to the others
 *   unless pieces are left out.
 * @param {number} topK - Infinity to keep all.
 */
export function shaped(logits, mayBeChosen, temperature, topK, topP) {
  let most = -Infinity;
  for (const logit of logits) most = Math.max(most, logit);
  const powers = Float64Array.from(logits, (logit) => Math.exp((logit - most) / temperature));
  const total = powers.reduce((a, b) => a + b, 0);
  const order = [...powers.keys()].filter((id) => mayBeChosen[id]).sort((a, b) => powers[b] - powers[a]);
  const best = order.slice(0, topK);
  const wanted = topP * best.reduce((sum, id) => sum + powers[id], 0) - 1e-12;
  const kept = new Float64Array(logits.length);
  let sum = 0;
  for (const id of best) {
    if (topP < 1 && sum >= wanted && sum > 0) break; // 1 leaves nothing out, however improbable
    kept[id] = powers[id];
    sum += powers[id];
  }
  const isWhole = topK >= order.length && topP === 1;
  return kept.map((power) => power / (isWhole ? total : sum));
}

export class NextPiece {
  #ask; #ids = []; #found = null; #key = null; #isOver = false; #asked = 0; #isWaiting = false;

  /** @param {Function} ask - Promise of the next pieces after a list of ids, see `engine.js`. */
  constructor(ask) {
    this.#ask = ask;
    Object.assign(element("top-k"), { min: 1, max: ALL, value: ALL });
    for (const name of ["temperature", "top-k", "top-p"]) element(name).addEventListener("input", () => this.#draw());
    element("next-restart").addEventListener("click", () => this.#choose([]));
    element("next-back").addEventListener("click", () => this.#choose(this.#isOver ? this.#ids : this.#ids.slice(0, -1)));
    element("next-draw").addEventListener("click", () => { if (this.#found) this.#take(this.#drawn()); });
    this.#draw();
  }

  clear() {
    this.#asked += 1;
    this.#isWaiting = false;
    this.#found = this.#key = null;
    this.#ids = [];
    this.#isOver = false;
    this.#draw();
  }

  /** Begins with a new source or a changed model; what was written for the same one stays. */
  async show({ source, switches, model }) {
    const key = JSON.stringify([source, switches, model]);
    if (this.#key === key) return;
    if (await this.#write([])) this.#key = key;
  }

  /** Shows what may follow ids; false if the answer is no longer wanted. */
  async #write(ids) {
    this.#asked += 1;
    const asked = this.#asked;
    this.#isWaiting = true; // what is shown belongs to other ids: nothing can be taken until the answer is here
    let found;
    try {
      found = await this.#ask(ids, NUM_SHOWN);
    } catch (error) {
      if (asked === this.#asked) throw error;
    } finally {
      if (asked === this.#asked) this.#isWaiting = false;
    }
    if (asked !== this.#asked) return false;
    if (found === null) {
      this.#found = this.#key = null; // a newer translation has ended this: what it shows begins anew
      return false;
    }
    const hadFocus = element("next-pieces").contains(document.activeElement) || document.activeElement === document.body;
    [this.#ids, this.#found, this.#isOver] = [ids, found, false];
    this.#draw();
    if (hadFocus && ids.length) element("next-pieces").querySelector("button:enabled")?.focus({ preventScroll: true });
    return true;
  }

  /** Writes what the reader has chosen; says why if the engine cannot. */
  async #choose(ids) {
    try {
      await this.#write(ids);
    } catch (error) {
      element("next-limit").textContent = error.message;
    }
  }

  #take(id) {
    if (!this.#found || this.#isOver || this.#isWaiting) return;
    if (id !== this.#found.endId) {
      this.#choose([...this.#ids, id]);
      return;
    }
    this.#isOver = true;
    this.#draw();
  }

  #probabilities() {
    const [temperature, topK, topP] = ["temperature", "top-k", "top-p"].map((name) => Number(element(name).value));
    return shaped(this.#found.logits, this.#found.mayBeChosen, temperature, topK === ALL ? Infinity : topK, topP);
  }

  #drawn() {
    const probabilities = this.#probabilities();
    let left = Math.random() * probabilities.reduce((a, b) => a + b, 0);
    const id = probabilities.findIndex((probability) => (left -= probability) < 0);
    return id < 0 ? this.#found.best[0].id : id;
  }

  #draw() {
    element("temperature-value").value = Number(element("temperature").value).toFixed(1);
    element("top-k-value").value = Number(element("top-k").value) === ALL ? "all" : element("top-k").value;
    element("top-k").setAttribute("aria-valuetext", element("top-k-value").value);
    element("top-p-value").value = Number(element("top-p").value).toFixed(2);
    const hadFocus = element("next-content").contains(document.activeElement);
    element("next-draw").disabled = !this.#found || this.#isOver;
    element("next-back").disabled = !this.#ids.length;
    if (!this.#found) return element("next-pieces").replaceChildren();
    says(element("next-written"), `${this.#found.written || "nothing yet"}${this.#isOver ? " (the end)" : ""}`);
    says(element("next-limit"), this.#found.limit ? `A translation of this sentence has at most ${this.#found.limit} pieces: only the end is left.` : "");
    const probabilities = this.#probabilities();
    const items = this.#found.best.map(({ id, piece }) => {
      const bar = node("span", { className: "bar" });
      bar.style.setProperty("--share", probabilities[id]);
      const name = id === this.#found.endId ? node("i", {}, "</s>, the end") : node("bdi", { lang: element("own").lang }, piece);
      const button = node("button", { type: "button", disabled: this.#isOver || !probabilities[id] },
        name, node("span", { className: "number" }, percent(probabilities[id])), bar);
      button.addEventListener("click", () => this.#take(id));
      return node("li", {}, button);
    });
    element("next-pieces").replaceChildren(...items);
    if (hadFocus && (document.activeElement === document.body || document.activeElement.disabled)) element("next-restart").focus({ preventScroll: true });
    return undefined;
  }
}
