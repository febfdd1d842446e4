/** The view in which the model reads the reader's own translation. */

import { element, node, percent, says, signed } from "./dom.js";

const WAIT = 250; // milliseconds after the last key
const SURPRISING = 0.01;

const described = ({ logProb, score }) =>
  `probability ${percent(Math.exp(logProb))}, log-probability ${signed(logProb)}, score ${signed(score)}`;

export class OwnTranslation {
  #ask; #looked = null; #timer = 0; #asked = 0; #isReaders = false;

  /** @param {Function} ask - Promise of the pieces and scores of a translation. */
  constructor(ask) {
    this.#ask = ask;
    element("own-restore").addEventListener("click", () => this.#restore());
    element("own").addEventListener("input", () => {
      this.#isReaders = Boolean(element("own").value.trim());
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#update(), WAIT);
    });
  }

  #restore() {
    this.#isReaders = false;
    element("own").value = this.#looked?.text ?? "";
    this.#update();
  }

  clear() {
    this.#asked += 1;
    this.#looked = null;
    this.#say("");
  }

  #say(text) {
    says(element("own-score"), text);
    element("own-pieces").tBodies[0].replaceChildren();
    element("own-table").hidden = true;
  }

  async show(looked) {
    if (this.#looked === looked) return;
    if (this.#looked?.source !== looked.source) this.#say(""); // until the answer is there
    this.#looked = looked;
    if (!this.#isReaders) element("own").value = looked.text; // the model's own, until the reader has written one
    await this.#update();
  }

  async #update() {
    if (!this.#looked) return;
    this.#asked += 1;
    const asked = this.#asked;
    const text = element("own").value;
    if (!text.trim()) {
      this.#say("Write a translation.");
      return;
    }
    let found;
    try {
      found = await this.#ask(text);
    } catch (error) {
      if (asked === this.#asked) this.#say(error.message);
      return;
    }
    if (found === null || asked !== this.#asked) return;
    const { result: best, switches } = this.#looked;
    element("own-table").hidden = false;
    says(element("own-score"), `Yours: ${described(found)}. The model's: ${described(best)}.` +
      (switches && !switches.causal ? " The causal mask is off: here every piece sees those after it, which the model has never learned to use; its own translation was written piece by piece." : ""));
    const rows = element("own-pieces").tBodies[0];
    rows.replaceChildren(...found.pieces.map(({ piece, logProb, rank, best: first, bestLogProb }) => {
      const probability = Math.exp(logProb);
      const row = node("tr", { className: probability < SURPRISING ? "surprising" : "" },
        node("td", {}, node("bdi", {}, piece)), node("td", { className: "number" }, percent(probability)), node("td", { className: "number" }, String(rank)),
        node("td", {}, node("bdi", {}, first), ` ${percent(Math.exp(bestLogProb))}`));
      return row;
    }));
  }
}
