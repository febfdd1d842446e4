/** The translation, its sentences and their other translations, among which the reader chooses what to look into. */

import { element, node, piecesList, signed } from "./dom.js";

const place = element("translation");
const MAX_SHOWN = 100; // characters of a sentence in the list

export class TranslationView {
  #answer = null; #current = 0; #chosen = []; #changed;

  /** @param {Function} changed - Called when the reader has chosen a sentence, or a translation of it. */
  constructor(changed) {
    this.#changed = changed;
    element("sentence").addEventListener("change", ({ target: { value } }) => this.#choose(Number(value)));
    element("copy").addEventListener("click", () => this.#copy());
  }

  /** What is looked into: a sentence of the answer and one of its translations; null if there are none. */
  get looked() {
    const sentence = this.#answer?.sentences[this.#current];
    const chosen = this.#chosen[this.#current];
    const result = sentence?.results[chosen];
    return result ? { ...this.#answer.asked, sentence, source: sentence.source, result, isBest: chosen === 0, text: result.text, ids: result.ids } : null;
  }

  /** Place and number of sentences, to be told. */
  get place() { return [this.#current + 1, this.#answer.sentences.length]; }

  /** Shows an answer of the engine; `asked` holds the settings that it belongs to. */
  show(answer, asked) {
    this.#answer = { ...answer, asked };
    this.#chosen = answer.sentences.map(() => 0);
    this.#current = Math.max(0, Math.min(this.#current, answer.sentences.length - 1));
    const isSeveral = answer.sentences.length > 1;
    place.classList.remove("growing", "stale");
    place.ariaBusy = "false";
    place.classList.toggle("several", isSeveral);
    place.replaceChildren(...this.#parts());
    element("result").hidden = false;
    element("copy").hidden = !answer.text.trim();
    element("choice").hidden = !isSeveral;
    element("sentence").replaceChildren(...answer.sentences.map(({ source }, index) =>
      node("option", { value: index }, `${index + 1}. ${source.slice(0, MAX_SHOWN)}`)));
    this.#showSentence();
  }

  /** Shows what comes before the answer: the source's pieces, and the translation so far. */
  grow({ pieces, growing }) {
    element("result").hidden = false;
    this.wait();
    if (pieces) this.#showPieces("read", "source-pieces", pieces);
    if (growing === undefined) return;
    this.#showPieces("written", "target-pieces", []);
    place.classList.add("growing");
    place.textContent = growing;
  }

  /** Says that a new translation is on its way. */
  wait() { place.ariaBusy = "true"; }

  /** Keeps what is shown although it is not of the newest text. */
  keep() {
    place.ariaBusy = "false";
    place.classList.add("stale");
  }

  clear() {
    this.#answer = null;
    element("result").hidden = true;
    place.ariaBusy = "false";
    place.classList.remove("growing", "stale");
    place.replaceChildren();
    for (const id of ["source-pieces", "target-pieces", "hypotheses"]) element(id).replaceChildren();
  }

  /** Splits the translation into an element for each sentence and the texts between them. */
  #parts() {
    const { text: whole, sentences } = this.#answer;
    const found = [];
    let end = 0;
    sentences.forEach(({ results: [best] }, index) => {
      const start = best ? whole.indexOf(best.text, end) : -1;
      if (start < 0) return;
      const sentence = node("span", { className: "sentence" }, best.text);
      sentence.dataset.index = index;
      sentence.addEventListener("click", () => { if (index !== this.#current) this.#choose(index); });
      found.push(whole.slice(end, start), sentence);
      end = start + best.text.length;
    });
    return [...found, whole.slice(end)];
  }

  #choose(index) {
    this.#current = index;
    this.#showSentence();
    this.#changed();
  }

  #showSentence() {
    const { sentences } = this.#answer;
    if (sentences.length) element("sentence").value = this.#current;
    for (const span of place.querySelectorAll(".sentence")) span.classList.toggle("current", Number(span.dataset.index) === this.#current);
    const results = sentences[this.#current]?.results ?? [];
    element("others").hidden = results.length < 2;
    element("hypotheses").replaceChildren(...results.map((result, index) => this.#choice(result, index)));
    this.#showPieces("read", "source-pieces", sentences[this.#current]?.pieces);
    this.#showPieces("written", "target-pieces", this.looked?.result.pieces);
  }

  #choice({ text, logProb, score }, index) {
    const input = node("input", { type: "radio", name: "hypothesis", checked: index === this.#chosen[this.#current] });
    input.addEventListener("change", () => this.#chooseResult(index));
    const scores = `log-probability ${signed(logProb)}, score ${signed(score)}`;
    return node("label", {}, input, node("span", { className: "text", dir: "auto", lang: place.lang }, text), node("span", { className: "scores" }, scores));
  }

  #chooseResult(index) {
    this.#chosen[this.#current] = index;
    const span = place.querySelector(`[data-index="${this.#current}"]`);
    if (span) span.textContent = this.looked.text;
    this.#showPieces("written", "target-pieces", this.looked.result.pieces);
    this.#changed();
  }

  #showPieces(section, list, pieces) {
    element(section).hidden = !pieces;
    element(list).replaceChildren(...piecesList(pieces ?? []));
  }

  async #copy() {
    const button = element("copy");
    try {
      await navigator.clipboard.writeText(place.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser forbids it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }
}
