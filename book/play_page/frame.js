/** A view in a frame of its own: a page of `aiayn_keras.plotting`, filled here with the model's data. */

import { element } from "./dom.js";

const DATA = '"@data@"'; // where the page's data goes
const MAX_HEIGHT = 4000;

export class Frame {
  #frame; #file; #getData; #template = null; #shown = null; #asked = 0;

  /**
   * @param {string} id - Id of the iframe.
   * @param {string} file - The page, with a place for its data.
   * @param {Function} getData - Promise of the data of the newest translation; null if there are none.
   */
  constructor(id, file, getData) {
    this.#frame = element(id);
    this.#file = file;
    this.#getData = getData;
    addEventListener("message", ({ source, data }) => {
      const height = Number(data?.height);
      if (source === this.#frame.contentWindow && height > 0) this.#frame.style.height = `${Math.min(height, MAX_HEIGHT)}px`;
    });
  }

  clear() {
    this.#shown = null;
    this.#frame.hidden = true;
  }

  async show(translated) {
    if (this.#shown === translated) return;
    this.#asked += 1;
    const asked = this.#asked;
    this.#template ??= await (await fetch(this.#file)).text();
    const data = await this.#getData();
    if (data === null || asked !== this.#asked) return;
    // Only "<" could begin a comment or a tag that ends the element with the data.
    const json = JSON.stringify(data).replaceAll("<", "\\u003c");
    this.#frame.srcdoc = this.#template.replace(DATA, () => json);
    this.#frame.hidden = false;
    this.#shown = translated;
  }
}
