/** A view in a frame of its own: a page of `aiayn_keras.plotting`, filled here with the model's data. */

import { element, node } from "./dom.js";

const DATA = '"@data@"'; // where the page's data goes
const [MIN_HEIGHT, MAX_HEIGHT] = [100, 4000]; // pixels; a frame that is being drawn may say 0

async function templateOf(file) {
  const response = await fetch(file).catch(() => {
    throw new Error(`${file} cannot be fetched; is the network there, and the server of this page?`);
  });
  if (!response.ok) throw new Error(`${file} cannot be fetched: the server answers ${response.status}.`);
  return response.text();
}

export class Frame {
  #place; #title; #file; #getData; #keyOf; #template = null; #shown = null; #asked = 0; #data = null; #chosen = null;

  /**
   * @param {string} id - Id of the element that takes the frame.
   * @param {string} title - The frame's title.
   * @param {string} file - The page as a text, with a place for its data.
   * @param {Function} keyOf - List of the objects that the data depend on.
   * @param {Function} getData - Promise of the data of what is looked into; null if there are none.
   */
  constructor(id, title, file, keyOf, getData) {
    this.#keyOf = keyOf;
    this.#place = element(id);
    this.#title = title;
    this.#file = file;
    this.#getData = getData;
    addEventListener("message", ({ source, data }) => {
      const frame = this.#place.firstChild;
      if (!frame || source !== frame.contentWindow) return;
      if (data?.height > MIN_HEIGHT) frame.style.height = `${Math.min(data.height, MAX_HEIGHT)}px`;
      if (data?.chosen) this.#chosen = data.chosen; // the next sentence is shown in the same way
    });
  }

  clear() {
    this.#asked += 1;
    this.#shown = this.#data = null;
    this.#place.replaceChildren();
  }

  /** Shows the page with a choice of its own, such as a kind of attention. */
  choose(chosen) {
    this.#chosen = chosen;
    if (this.#data) this.#fill();
  }

  async show(looked) {
    const key = this.#keyOf(looked);
    if (this.#shown?.every((each, place) => each === key[place])) return;
    this.#asked += 1;
    const asked = this.#asked;
    const data = await this.#getData(); // first, as it says why if the server is gone
    this.#template ??= await templateOf(this.#file);
    if (data === null || asked !== this.#asked) return;
    this.#data = data;
    this.#shown = key;
    this.#fill();
  }

  /** Puts a new frame in place of the old one: a new document in the same frame would be a step of the history. */
  #fill() {
    const data = { ...this.#data, isTitled: false, ...(this.#chosen && { chosen: this.#chosen }) }; // the page around it has the text
    // Only "<" could begin a comment or a tag that ends the element with the data.
    const json = JSON.stringify(data).replaceAll("<", "\\u003c");
    const frame = node("iframe", { title: this.#title, srcdoc: this.#template.replace(DATA, () => json) });
    frame.sandbox = "allow-scripts";
    const height = this.#place.firstChild?.style.height;
    if (height) frame.style.height = height; // so that the page does not jump
    this.#place.replaceChildren(frame);
  }
}
