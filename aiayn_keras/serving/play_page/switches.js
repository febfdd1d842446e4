/** The view in which parts of the model are switched off. */

import { element, node } from "./dom.js";

const SIDES = [
  { name: "Encoder", layers: "encoderLayers", kinds: [["encoder", "self-attention"]] },
  { name: "Decoder", layers: "decoderLayers", kinds: [["decoder", "self-attention"], ["cross", "cross-attention"]] },
];
const WAIT = 200; // milliseconds after the last change

export class Switches {
  #change; #sizes = null; #keyDim = 1; #timer = 0; #boxes = new Map();

  /** @param {Function} change - Called when a switch was changed. */
  constructor(change) {
    this.#change = change;
    for (const id of ["score-scale", "positions", "causal"]) element(id).addEventListener("input", () => this.#later());
    element("all-on").addEventListener("click", () => this.allOn());
  }

  /** Offers the switches of a model that has been loaded; all are on unless the model before had the same ones. */
  offer({ switches, keyDim }) {
    const isSame = JSON.stringify([switches, keyDim]) === JSON.stringify([this.#sizes, this.#keyDim]);
    element("switches").hidden = !switches;
    element("no-switches").hidden = Boolean(switches);
    element("no-switches").textContent = "The graphs of your folder have no switches.";
    if (isSame) return; // such as 32 instead of 8 bits: what is off stays off
    this.#sizes = switches;
    this.#keyDim = keyDim;
    if (!switches) return;
    this.#boxes.clear();
    element("layers-and-heads").replaceChildren(...SIDES.map((side) => this.#table(side)));
    for (const id of ["positions", "causal"]) element(id).checked = true;
    element("score-scale").value = 0;
    this.#describe();
  }

  get areAllOn() {
    if (!this.#sizes) return true;
    const boxes = [...this.#boxes.values(), element("positions"), element("causal")];
    return boxes.every(({ checked }) => checked) && Number(element("score-scale").value) === 0;
  }

  /** Puts everything on again. */
  allOn() {
    if (this.areAllOn) return;
    for (const box of this.#boxes.values()) box.checked = true;
    for (const id of ["positions", "causal"]) element(id).checked = true;
    element("score-scale").value = 0;
    this.#later();
  }

  #later() {
    this.#describe();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#change, WAIT);
  }

  #box(key, label, name) {
    const box = node("input", { type: "checkbox", checked: true, ariaLabel: name });
    box.addEventListener("input", () => this.#later());
    this.#boxes.set(key, box);
    return node("label", { className: "check" }, box, label);
  }

  #table({ name, layers, kinds }) {
    const { heads } = this.#sizes;
    const rows = Array.from({ length: this.#sizes[layers] }, (_, layer) => {
      const cells = kinds.map(([kind, title]) => node("td", {}, ...Array.from({ length: heads }, (_head, head) =>
        this.#box(`${kind} ${layer * heads + head}`, String(head + 1), `${name} layer ${layer + 1}, ${title}, head ${head + 1}`))));
      return node("tr", {}, node("th", { scope: "row" }, this.#box(`${layers} ${layer}`, String(layer + 1), `${name} layer ${layer + 1}`)), ...cells);
    });
    const titles = ["layer", ...kinds.map(([, title]) => `heads of ${title}`)].map((title) => node("th", { scope: "col" }, title));
    return node("div", { className: "wide" }, node("table", {}, node("caption", {}, name), node("thead", {}, node("tr", {}, ...titles)), node("tbody", {}, ...rows)));
  }

  /** The factor of the scores: from all of √d_k taken back, on the left, to the double divisor. */
  #scoreScale() {
    const place = Number(element("score-scale").value);
    return place < 0 ? Math.sqrt(this.#keyDim) ** (-place / 20) : 2 ** (-place / 20);
  }

  #describe() {
    const divisor = Math.sqrt(this.#keyDim) / this.#scoreScale();
    const place = Number(element("score-scale").value);
    const written = place === -20 ? "1 (none)" : place === 0 ? `${divisor.toFixed(1)} = √${this.#keyDim}` : divisor.toFixed(1);
    element("score-scale-value").value = written;
    element("score-scale").setAttribute("aria-valuetext", written);
  }

  /** The switches' values, see `Graphs.set`; null for a model that has none. */
  get values() {
    if (!this.#sizes) return null;
    const isOn = (kind, count) => Array.from({ length: count }, (_, index) => this.#boxes.get(`${kind} ${index}`).checked);
    const { encoderLayers, decoderLayers, heads } = this.#sizes;
    const factors = (kind, layers) => isOn(kind, layers * heads).map(Number);
    return {
      scoreScale: this.#scoreScale(), positionScale: Number(element("positions").checked), causal: element("causal").checked,
      encoderLayers: isOn("encoderLayers", encoderLayers), decoderLayers: isOn("decoderLayers", decoderLayers),
      encoder: factors("encoder", encoderLayers), decoder: factors("decoder", decoderLayers), cross: factors("cross", decoderLayers),
    };
  }
}
