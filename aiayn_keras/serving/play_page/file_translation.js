/** A file that is translated and offered beside it: `notes.md` becomes `notes.es.md`. */

import { element, node } from "./dom.js";
import { facts } from "./facts.js";

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

export class FileTranslation {
  #ask; #download = null;

  /** @param {Function} ask - Promise of a file's translation, a `Blob`; null if a newer file was given. */
  constructor(ask) {
    this.#ask = ask;
    element("document").hidden = false;
    element("file").addEventListener("change", ({ target: { files } }) => { if (files.length) this.translate(files[0]); });
  }

  async translate(file) {
    const status = element("document-status");
    if (file.size > facts.max_document_bytes) {
      status.textContent = `${file.name} has ${megabytes(file.size)}; this page takes files of up to ${megabytes(facts.max_document_bytes)}.`;
      return;
    }
    status.textContent = `Translating ${file.name} …`;
    try {
      const translated = await this.#ask(file);
      if (translated === null) return;
      const [, stem, ending] = /^(.*?)(\.[^.]*)?$/s.exec(file.name);
      const name = `${stem}.${facts.languages?.[1] ?? "translated"}${ending ?? ""}`;
      URL.revokeObjectURL(this.#download);
      this.#download = URL.createObjectURL(translated);
      const link = node("a", { href: this.#download, download: name }, name);
      status.replaceChildren(`${file.name} is translated: `, link);
      link.click();
    } catch (error) {
      status.textContent = error.message;
    }
  }
}
