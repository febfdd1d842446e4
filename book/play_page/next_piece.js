/** The view of the next piece: its distribution, shaped and drawn from. */

import { element, node, percent } from "./dom.js";

/**
 * Probabilities after temperature, top-k and top-p; 0 for pieces that are left out.
 * @param {Array} best - `{ logProb }` of the most probable pieces, best first.
 */
export function shaped(best, temperature, topK, topP) {
  const powers = best.map(({ logProb }) => Math.exp((logProb - best[0].logProb) / temperature));
  const kept = powers.map((power, rank) => (rank < topK ? power : 0));
  const total = kept.reduce((a, b) => a + b, 0);
  let before = 0;
  const left = kept.map((power) => {
    const isLeft = before < topP * total - 1e-12;
    before += power;
    return isLeft ? power : 0;
  });
  const sum = left.reduce((a, b) => a + b, 0);
  return left.map((power) => power / sum);
}

export class NextPiece {
  #ask; #ids = []; #found = null; #translated = null;

  /** @param {Function} ask - Promise of the next pieces after a list of ids. */
  constructor(ask) {
    this.#ask = ask;
    for (const name of ["temperature", "top-k", "top-p"]) element(name).addEventListener("input", () => this.#draw());
    element("next-restart").addEventListener("click", () => this.#write([]));
    element("next-back").addEventListener("click", () => this.#write(this.#ids.slice(0, -1)));
    element("next-draw").addEventListener("click", () => this.#take(this.#drawn()));
    this.#draw();
  }

  clear() {
    this.#translated = this.#found = null;
    this.#ids = [];
    this.#draw();
  }

  async show(translated) {
    if (this.#translated === translated) return;
    this.#translated = translated;
    await this.#write([]);
  }

  async #write(ids) {
    this.#ids = ids;
    const found = await this.#ask(ids);
    if (ids !== this.#ids) return;
    this.#found = found;
    this.#draw();
  }

  #take(index) {
    const { id, isEnd } = this.#found.best[index];
    if (isEnd) return this.#draw(true);
    return this.#write([...this.#ids, id]);
  }

  #probabilities() {
    const [temperature, topK, topP] = ["temperature", "top-k", "top-p"].map((name) => Number(element(name).value));
    return shaped(this.#found.best, temperature, topK, topP);
  }

  #drawn() {
    let left = Math.random();
    const probabilities = this.#probabilities();
    const index = probabilities.findIndex((probability) => (left -= probability) < 0);
    return index < 0 ? 0 : index;
  }

  #draw(isOver = false) {
    element("temperature-value").value = Number(element("temperature").value).toFixed(1);
    element("top-k-value").value = element("top-k").value;
    element("top-p-value").value = Number(element("top-p").value).toFixed(2);
    element("next-written").textContent = this.#found ? `${this.#found.written || "…"}${isOver ? " (the end)" : ""}` : "";
    element("next-draw").disabled = !this.#found || isOver;
    element("next-back").disabled = !this.#ids.length;
    if (!this.#found) return element("next-pieces").replaceChildren();
    const probabilities = this.#probabilities();
    const items = this.#found.best.map(({ piece, isEnd }, index) => {
      const bar = node("span", { className: "bar" });
      bar.style.setProperty("--share", probabilities[index]);
      const button = node("button", { type: "button", disabled: isOver || !probabilities[index] },
        isEnd ? node("i", {}, "the end") : node("bdi", { lang: "es" }, piece),
        node("span", { className: "number" }, percent(probabilities[index])), bar);
      button.addEventListener("click", () => this.#take(index));
      return node("li", {}, button);
    });
    return element("next-pieces").replaceChildren(...items);
  }
}
