/** Eight steps for somebody who has never seen a Transformer; fewer where a view is missing. */

import { element } from "./dom.js";
import { facts } from "./facts.js";

const [ENCODER, DECODER, CROSS] = [0, 1, 2]; // kinds of attention in the explorer
const isBooks = facts.engine === "onnx"; // whose model is known
const STEPS = [
  { title: "Pieces", view: "attention", text: `${isBooks ? "The model has learned from 114,000 English sentences and their Spanish translations. It" : "The model"} does not read words but pieces: a frequent word is one piece, a rare one several. Below each piece is its number in the vocabulary. To the model a piece is a list of ${isBooks ? "256 " : ""}numbers, which were learned in training. ▁ marks the beginning of a word, </s> the end of the sentence. Type a sentence of your own, or keep this one.` },
  { title: "Looking around", view: "attention", chosen: { kind: ENCODER, overview: false }, text: "The encoder lets every piece look at all pieces of the sentence and mix in what it finds there: this is attention. Point at a piece in the left column, or tap it: the lines show where it looks, and the wider a line, the more that piece counts." },
  { title: "Many heads", view: "attention", chosen: { kind: ENCODER, overview: true }, text: "Every layer looks in several ways at once, called heads. Each small map is one of them: layers are its rows, heads its columns; inside a map, each row is a piece that looks, and each dark square a piece that it looks at. Choose some: a diagonal means that every piece looks at itself or at a neighbour." },
  { title: "Word order", view: "change", text: "Attention alone sees a bag of words. So the position of every piece is added to its numbers. Press the buttons of the two sentences below, with and without positions: without them, both are the same sentence to the model. Switch them on again." },
  { title: "Writing without peeking", view: "attention", chosen: { kind: DECODER, overview: false }, text: "The decoder writes the translation from left to right. Each of its pieces looks at itself and at those before it. In training the whole right translation is there at once, so a mask hides what comes later: otherwise the model would copy the answer instead of learning to write it." },
  { title: "Looking across", view: "attention", chosen: { kind: CROSS, overview: false }, text: `To choose the next piece, the decoder looks at the English sentence: point at a piece of the translation. ${isBooks ? "Adjectives show it well: Spanish puts them behind the noun, and the lines cross." : "Where the two languages order words differently, the lines cross."}` },
  { title: "One piece at a time", view: "next", text: "After each piece, every piece of the vocabulary gets a probability to come next. Take one, even a bad one, and see how the model goes on from there." },
  { title: "Keeping several beginnings", view: "search", text: `The likeliest piece now may lead nowhere good. Beam search keeps a few beginnings, the beams, and drops the worst at every step. Press Play, and change the number of beams.${isBooks ? " With “Tom had his wallet stolen on the train.”, one of the examples, a single beam lets Tom be the thief. The lessons build all of this by hand." : ""}` },
].filter(({ view }) => facts.views.includes(view));

const PLACES = { attention: "explorer", search: "steps", next: "next-content", change: "switches" }; // by view

export class Tour {
  #page; #place = 0;

  /**
   * @param {object} page - `type(text)`, `choose(view)`, `chooseAttention(chosen)`, `currentText()` and the `example`.
   */
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
    if (!this.#page.currentText().trim()) this.#page.type(this.#page.example);
    const { title, text, view, chosen } = STEPS[place];
    const tour = element("tour");
    tour.hidden = false;
    element("tour-title").textContent = `${place + 1} of ${STEPS.length}: ${title}`;
    element("tour-text").textContent = text;
    element("tour-back").disabled = place === 0;
    element("tour-next").textContent = place + 1 === STEPS.length ? "Done" : "Next";
    element("tour-next").focus({ preventScroll: true });
    if (chosen) this.#page.chooseAttention(chosen);
    this.#page.choose(view);
    // What the step is about comes just below the tour, which stays at the top.
    const subject = element(place ? PLACES[view] : "ask");
    subject.style.scrollMarginTop = `${tour.offsetHeight + 12}px`;
    subject.scrollIntoView({ block: "start" });
    if (!subject.offsetHeight) this.#scrollLater(subject);
    return undefined;
  }

  /** Scrolls to what the model has not made yet, unless the reader has left the step by then. */
  #scrollLater(subject) {
    const place = this.#place;
    const observer = new ResizeObserver(() => {
      if (!subject.offsetHeight) return;
      observer.disconnect();
      if (place === this.#place && !element("tour").hidden) subject.scrollIntoView({ block: "start" });
    });
    observer.observe(subject);
  }

  #end() {
    element("tour").hidden = true;
    element("start-tour").focus();
  }
}
