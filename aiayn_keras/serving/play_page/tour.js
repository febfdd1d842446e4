/** Eight steps for somebody who has never seen a Transformer; fewer where a view is missing. */

import { element } from "./dom.js";
import { facts } from "./facts.js";

const [ENCODER, DECODER, CROSS] = [0, 1, 2]; // kinds of attention in the explorer
const isBooks = facts.engine === "onnx"; // whose model is known
const STEPS = [
  { title: "Pieces", view: "attention", text: `${isBooks ? "The model was trained on 114,000 English sentences and their Spanish translations. It" : "The model"} has two halves: the encoder reads your sentence, the decoder writes the translation. Both use pieces: a frequent word is one piece, a rare one several, so that ${isBooks ? "8,000" : "a few thousand"} pieces can spell every word. ▁ begins a word, </s> ends the sentence. Below each piece is its place in the vocabulary; to the model it is a list of ${isBooks ? "256 " : ""}numbers, learned in training. Type a sentence of your own, or keep this one.` },
  { title: "Looking around", view: "attention", chosen: { kind: ENCODER, overview: false }, text: "In the encoder every piece looks at all pieces of the sentence and mixes in something of what it finds: this is attention. It happens in several layers, one after the other. Point at a piece in the left column, or tap it: the wider a line, the more it takes from the piece on the right." },
  { title: "Many heads", view: "attention", chosen: { kind: ENCODER, overview: true }, text: "In every layer several heads look at once, each in its own way. Each small map is one head: layers are the rows of maps, heads the columns. Inside a map each row is a piece that looks; the stronger a square, the more it looks at the piece of that column. Choose some: a diagonal means that every piece looks at itself or at a neighbour." },
  { title: "Word order", view: "change", text: "Attention alone sees a bag of words. So the position of every piece is added to its numbers. Press the first two buttons below and compare the translations. Then switch “Positions” off and press them again: now both are the same sentence to the model. The next step puts everything back." },
  { title: "Writing without peeking", view: "attention", chosen: { kind: DECODER, overview: true }, text: "The decoder writes the translation from left to right, from <s> on. In training the whole right translation is there at once. So a mask hides from each piece those that come later: otherwise the model would copy the answer instead of learning to write it. This leaves the upper right of each small map empty, a triangle." },
  { title: "Looking across", view: "attention", chosen: { kind: CROSS, overview: false }, text: `To choose the next piece, the decoder looks at ${isBooks ? "the English" : "your"} sentence: point at a piece of the translation. ${isBooks ? "Spanish puts most adjectives behind the noun: with “a red car”, the lines cross." : "Where the two languages order words differently, the lines cross."}` },
  { title: "One piece at a time", view: "next", text: "The decoder gives every piece of its vocabulary a probability to come next. Take one, even a bad one, and see how the model goes on from there." },
  { title: "Keeping several beginnings", view: "search", text: `The likeliest piece now may lead nowhere good. So beam search keeps several beginnings, the beams, and drops the others at every step. One that goes on with </s> is finished. Press Play, and change the number of beams.${isBooks ? " With “Tom had his wallet stolen on the train.”, one of the examples, a single beam lets Tom be the thief. The lessons build all of this by hand." : ""}` },
].filter(({ view }) => facts.views.includes(view));

const PLACES = { attention: "explorer", search: "steps", next: "next-content", change: "switches" }; // by view

/** Has the browser scroll what is shown or has the focus to below the tour, which stays at the top. */
function keepClear() {
  const { offsetHeight } = element("tour");
  document.documentElement.style.scrollPaddingTop = offsetHeight ? `${offsetHeight + 12}px` : "";
}

export class Tour {
  #page; #place = 0; #tried = null;

  /**
   * @param {object} page - `type(text)`, `choose(view)`, `chooseAttention(chosen)`, `currentText()`, the
   *   `example`, and `restore(text)`, which undoes what a step asks the reader to try.
   */
  constructor(page) {
    this.#page = page;
    element("start-tour").addEventListener("click", () => this.#go(0));
    element("tour-next").addEventListener("click", () => this.#go(this.#place + 1));
    element("tour-back").addEventListener("click", () => this.#go(this.#place - 1));
    element("tour-close").addEventListener("click", () => this.#end());
    element("tour-go").addEventListener("click", () => this.#enter());
    new ResizeObserver(keepClear).observe(element("tour"));
  }

  #go(place) {
    if (place >= STEPS.length) return this.#end();
    if (this.#tried !== null) this.#page.restore(this.#tried);
    this.#place = place;
    if (!this.#page.currentText().trim()) this.#page.type(this.#page.example);
    const { title, text, view, chosen } = STEPS[place];
    this.#tried = view === "change" ? this.#page.currentText() : null;
    const tour = element("tour");
    tour.hidden = false;
    element("tour-title").textContent = `${place + 1} of ${STEPS.length}: ${title}`;
    element("tour-text").textContent = text;
    element("tour-back").disabled = place === 0;
    const isLast = place + 1 === STEPS.length;
    element("tour-next").textContent = isLast ? "Done" : "Next";
    element("tour-close").hidden = isLast;
    element("tour-text").scrollTop = 0;
    element("tour-next").focus({ preventScroll: true });
    if (chosen) this.#page.chooseAttention(chosen);
    this.#page.choose(view);
    keepClear();
    const subject = this.#subject;
    subject.scrollIntoView({ block: "start" });
    if (!subject.offsetHeight) this.#scrollLater(subject);
    return undefined;
  }

  /** The element that the step is about. */
  get #subject() { return element(this.#place ? PLACES[STEPS[this.#place].view] : "ask"); }

  /** Moves the focus to what the step is about: with Tab alone it is far. */
  #enter() {
    const subject = this.#subject;
    subject.tabIndex = -1;
    (subject.querySelector("iframe") ?? subject).focus();
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
    this.#tried = null; // the reader goes on with it
    element("tour").hidden = true;
    element("start-tour").focus();
  }
}
