/**
 * The model, as the page asks it. Two engines have this interface: `onnx/onnx_engine.js`, with the model in the browser,
 * and `python_engine.js`, with the model in the Python program that has sent the page.
 *
 * `ask(request, values, tell)` gives a promise. Requests and their answers:
 *
 * - `load { format }`: `{ switches, keyDim }` of the page's own model; `switches` is null if no part of it can be
 *   switched off.
 * - `translate { text, numBeams, alpha }`: `{ text, sentences, milliseconds, exceeds }`, the last the number of pieces that
 *   the model has learned to read if a sentence has more. A sentence is `{ source, pieces, results }`,
 *   its results, best first, `{ text, ids, pieces, logProb, score }`. Pieces are lists of `{ id, piece }`, null where the
 *   engine does not know them. `tell` is called with `{ pieces }` and with `{ growing }`, the translation so far, by an
 *   engine that knows them before the answer.
 * - `explore { text, target, ids }`: data of the attention explorer for a sentence and a translation of it.
 * - `record { text, numBeams, alpha }`: data of the page that shows a search.
 * - `next { text, ids, count }`: what may follow a beginning of ids, `{ written, limit, endId, logits, mayBeChosen, best }`.
 * - `score { text, translation, alpha }`: the reader's own translation, `{ pieces, logProb, score }`.
 * - `cancel`: ends what is running.
 * - `open { files }`: `load` for the reader's own model, `document { file }`: a file's translation; each of one engine.
 *
 * With `replaces`, what was asked for before is given up and answers null. An error may have a `kind`: "busy" if the same
 * may be asked again in a second, "gone" if the engine does not answer.
 */

import { facts } from "./facts.js";

/** Refuses texts that are too long for a view. */
export function checkLength(maximum, ...texts) {
  const length = Math.max(...texts.map((text) => [...text].length));
  if (length > maximum) throw new Error(`The text has ${length.toLocaleString("en")} characters; this view takes at most ${maximum.toLocaleString("en")}.`);
}

/** Opens the engine that the page was made for. */
export async function openEngine() {
  const { Engine } = await import(facts.engine === "python" ? "./python_engine.js" : "./onnx/onnx_engine.js");
  return new Engine();
}
