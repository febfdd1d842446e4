/** Eight steps for somebody who has never seen a Transformer. */

import { element } from "./dom.js";

const STEPS = [
  ["A sentence", "The model has learned from 114,000 English sentences and their Spanish translations. It knows no grammar and no dictionary: only numbers that were adjusted until its translations came close. Type a sentence of your own, or keep this one.", "attention"],
  ["Pieces", "It does not read words but pieces: frequent words are one piece, rare ones several. Each piece has a number, the small one below it, and each number stands for a list of 256 numbers that the model has learned. ▁ marks a space.", "attention"],
  ["Looking around", "The encoder lets every piece look at all pieces of the sentence and mix in what it finds: this is attention. Choose “Encoder self-attention” and point at a word. The lines show where it looks, and wider ones count more.", "attention"],
  ["Many heads", "Every layer looks in several ways at once, called heads. Choose one of the small maps: some heads look at the neighbour, others at the same word, others at what belongs together.", "attention"],
  ["Writing without peeking", "The decoder writes the translation from left to right. Choose “Decoder self-attention”: each word looks at itself and at those before it, never ahead, for there is nothing there yet. In training the same rule is a mask.", "attention"],
  ["Looking across", "To choose the next word, the decoder looks at the English sentence: choose “Cross-attention” and point at a Spanish word. Adjectives show it well: Spanish puts them behind the noun, and the lines cross.", "attention"],
  ["One piece at a time", "After each piece, every piece of the vocabulary gets a probability to come next. Take one yourself, even a bad one, and see how the model goes on. Temperature, top-k and top-p shape what is drawn.", "next"],
  ["Keeping several beginnings", "The likeliest piece now may lead nowhere good. Beam search keeps a few beginnings and drops the worst at every step. Press Play, then change the beams and α. That was the whole model: the lessons build each part by hand.", "search"],
];

export class Tour {
  #page; #place = 0;

  /** @param {object} page - `type(text)`, `choose(view)`, `currentText()` and the `example`. */
  constructor(page) {
    this.#page = page;
    element("start-tour").addEventListener("click", () => this.#go(0));
    element("tour-next").addEventListener("click", () => this.#go(this.#place + 1));
    element("tour-back").addEventListener("click", () => this.#go(this.#place - 1));
    element("tour-close").addEventListener("click", () => this.#end());
  }

  #go(place) {
    if (place >= STEPS.length) return this.#end();
    this.#place = place;
    if (!this.#page.currentText()) this.#page.type(this.#page.example);
    const [title, text, view] = STEPS[place];
    element("tour").hidden = false;
    element("tour-title").textContent = `${place + 1} of ${STEPS.length}: ${title}`;
    element("tour-text").textContent = text;
    element("tour-back").disabled = place === 0;
    element("tour-next").textContent = place + 1 === STEPS.length ? "Done" : "Next";
    element("tour-next").focus({ preventScroll: true });
    return this.#page.choose(view);
  }

  #end() {
    element("tour").hidden = true;
    element("start-tour").focus();
  }
}
