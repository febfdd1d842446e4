/** The view in which the model reads the reader's own translation. */

import { element, node, percent } from "./dom.js";

const WAIT = 250; // milliseconds after the last key
const SURPRISING = 0.01;

export class OwnTranslation {
  #ask; #translated = null; #timer = 0; #asked = 0;

  /** @param {Function} ask - Promise of the pieces and scores of a translation. */
  constructor(ask) {
    this.#ask = ask;
    element("own").addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#update(), WAIT);
    });
  }

  clear() {
    this.#translated = null;
    element("own-score").textContent = "";
    element("own-pieces").tBodies[0].replaceChildren();
  }

  async show(translated) {
    if (this.#translated === translated) return;
    this.#translated = translated;
    if (!element("own").value.trim()) element("own").value = translated.text;
    await this.#update();
  }

  async #update() {
    if (!this.#translated) return;
    this.#asked += 1;
    const asked = this.#asked;
    const rows = element("own-pieces").tBodies[0];
    let found;
    try {
      found = await this.#ask(element("own").value);
    } catch (error) {
      rows.replaceChildren();
      element("own-score").textContent = error.message;
      return;
    }
    if (found === null || asked !== this.#asked) return;
    const [best] = this.#translated.results;
    const number = (value) => value.toFixed(3).replace("-", "−");
    element("own-score").textContent =
      `Log-probability ${number(found.logProb)}, score ${number(found.score)}; the model's own: ${number(best.logProb)}, score ${number(best.score)}.`;
    rows.replaceChildren(...found.pieces.map(({ piece, logProb, rank, best: first, bestLogProb }) => {
      const probability = Math.exp(logProb);
      const row = node("tr", { className: probability < SURPRISING ? "surprising" : "" },
        node("td", {}, node("bdi", {}, piece)), node("td", { className: "number" }, percent(probability)), node("td", { className: "number" }, String(rank)),
        node("td", {}, node("bdi", {}, first), ` ${percent(Math.exp(bestLogProb))}`));
      return row;
    }));
  }
}
