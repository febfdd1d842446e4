/** The page: what the reader types goes to the model, and what the model says to the views. */

import { Engine } from "./engine.js";
import { Frame } from "./frame.js";
import { NextPiece } from "./next_piece.js";
import { OwnTranslation } from "./own_translation.js";
import { readFolder } from "./folder.js";
import { element, piecesList, saysProblem, signed } from "./dom.js";
import { Switches } from "./switches.js";
import { Tour } from "./tour.js";

const EXAMPLES = [
  "The old man bought a red car last week.",
  "Tom had his wallet stolen on the train.", // one beam: Tom steals it
  "I would like a cup of coffee, please.", // divisor 1: café café café
  "I can't thank you enough for what you did for me.", // α 1.5: lo suficiente
  "My sister works in a hospital and her husband is a teacher.",
  "She didn't take the train because it was too late.",
];
const WAIT = 250; // milliseconds after the last key
const VIEWS = ["attention", "search", "next", "own", "change", "folder"]; // the tabs, in their order

const engine = new Engine();
const state = { text: "", beams: 4, alpha: 0.6, format: "int8", view: "attention", isOwnModel: false };
let loading = null; // the model that is loaded or on its way
let loadedFormat = null;
let numLoaded = 0; // models so far
let translated = null; // the newest answer, with the text and the switches that it belongs to
let timer = 0;

const switches = new Switches(() => translate());

/** Asks for something of the newest translation, by the model with the switches that it was made with. */
const ask = (request, values = {}, changed = {}) => engine.ask(request, {
  text: translated.source, switches: translated.switches && { ...translated.switches, ...changed }, ...values,
});
const views = {
  attention: new Frame("explorer", "Attention explorer", "explorer.txt", () =>
    ask("explore", { ids: translated.ids, title: `${translated.source} → ${translated.text}` })),
  search: new Frame("steps", "Beam search, step by step", "decoding_steps.txt", () =>
    ask("record", { numBeams: translated.beams, alpha: translated.alpha })),
  // A piece is written after those before it, whatever the mask would let it see.
  next: new NextPiece((ids, count) => ask("next", { ids, count }, { causal: true })),
  own: new OwnTranslation((translation) => ask("score", { translation, alpha: translated.alpha })),
};

// ---- The model ----

/** Loads the site's model, once for each format. */
function load() {
  if (state.isOwnModel || loadedFormat === state.format) return loading;
  const [format, before] = [state.format, { loading, loadedFormat }];
  loadedFormat = format;
  say("Loading the model …");
  loading = engine.ask("load", { format }, ({ bytes }) => say(`Loading the model: ${(bytes / 1e6).toFixed(1)} MB …`))
    .then((facts) => {
      numLoaded += 1;
      switches.offer(facts);
    }, (error) => {
      if (loadedFormat !== format) return; // another one was chosen meanwhile
      ({ loading, loadedFormat } = before);
      setFormat(before.loadedFormat ?? "int8");
      throw new Error(`The model cannot be loaded: ${error.message}${before.loadedFormat ? " The one before is used." : ""}`);
    });
  return loading;
}

function setFormat(format) {
  state.format = format;
  document.querySelector(`[name="format"][value="${format}"]`).checked = true;
}

async function open(files) {
  problem(null);
  say("Opening your model …");
  const before = { loading, isOwnModel: state.isOwnModel };
  state.isOwnModel = true;
  loading = engine.ask("open", { files });
  try {
    const facts = await loading;
    const { hasAttention, vocabularySize, maxLength } = facts;
    numLoaded += 1;
    useOwnModel(true);
    switches.offer(facts);
    element("own-model-facts").textContent = `Your model is in use: ${vocabularySize.toLocaleString("en")} pieces, texts of up to ${maxLength} pieces` +
      `${hasAttention ? "." : "; it was exported without --attention, so it has no attention and no search to show."}`;
  } catch (error) {
    loading = before.loading;
    state.isOwnModel = before.isOwnModel;
    say("");
    return problem(error);
  }
  return translate();
}

function useOwnModel(isOwn) {
  state.isOwnModel = isOwn;
  element("formats").hidden = isOwn;
  element("own-model").hidden = !isOwn;
}

function useSiteModel() {
  useOwnModel(false);
  loadedFormat = null;
  translate();
}

// ---- Translating ----

async function translate() {
  const { text, beams, alpha } = state;
  keepLink();
  problem(null);
  if (!text.trim()) return clear();
  try {
    await load();
    if (text !== state.text) return;
    const used = switches.values;
    const isChanged = !switches.areAllOn;
    const values = { text, numBeams: beams, alpha, switches: used, replaces: true };
    const answer = await engine.ask("translate", values, ({ pieces, growing }) => {
      if (text !== state.text) return;
      say("Translating …");
      element("result").hidden = false;
      if (pieces) element("source-pieces").replaceChildren(...piecesList(pieces));
      if (growing === undefined) return;
      element("target-pieces").replaceChildren();
      showTranslation(growing, true);
    });
    if (answer === null || text !== state.text) return; // a newer one is on its way, or none is wanted
    translated = { ...answer, source: text, beams, alpha, switches: used, model: numLoaded };
    showTranslation(answer.text, false);
    element("target-pieces").replaceChildren(...piecesList(answer.targetPieces ?? []));
    element("written").hidden = !answer.results.length;
    const [best] = answer.results;
    say(best
      ? `Log-probability ${signed(best.logProb)} (0 would be certainty), score ${signed(best.score)}, ${Math.round(answer.milliseconds)} ms.${isChanged ? " Parts of the model are changed." : ""}`
      : "A text without words or letters is its own translation: the model is not asked.");
    if (!best) for (const view of Object.values(views)) view.clear();
    await show();
  } catch (error) {
    clear();
    problem(error);
  }
}

function showTranslation(text, isGrowing) {
  for (const id of ["translation", "change-translation"]) element(id).textContent = text;
  element("translation").classList.toggle("growing", isGrowing);
}

function clear() {
  engine.ask("cancel", { replaces: true });
  translated = null;
  element("result").hidden = true;
  showTranslation("", false);
  for (const id of ["source-pieces", "target-pieces"]) element(id).replaceChildren();
  for (const view of Object.values(views)) view.clear();
  say("");
  showNothing();
}

/** Says why a view is empty. */
function showNothing() {
  const needsOne = state.view in views && !translated?.results.length;
  const isWrong = !element("problem").hidden;
  element("nothing").hidden = !needsOne || isWrong;
  element("nothing").textContent = translated ? "There is nothing to look into: the model was not asked."
    : state.text.trim() ? "The translation is on its way." : "Type a sentence to see something here.";
  element("views").classList.toggle("empty", needsOne);
}

/** Fills the chosen view with the newest translation. */
async function show() {
  showNothing();
  if (!translated?.results.length) return;
  try {
    await views[state.view]?.show(translated);
  } catch (error) {
    views[state.view].clear();
    problem(error);
  }
}

// ---- What the reader does ----

function later() {
  clearTimeout(timer);
  timer = setTimeout(translate, WAIT);
}

function type(text) {
  state.text = text;
  if (element("source").value !== text) element("source").value = text;
  later();
}

function choose(view) {
  state.view = view;
  for (const each of VIEWS) {
    const isChosen = each === view;
    element(`view-${each}`).hidden = !isChosen;
    element(`tab-${each}`).setAttribute("aria-selected", isChosen);
    element(`tab-${each}`).tabIndex = isChosen ? 0 : -1;
  }
  keepLink();
  return show();
}

/** Sentence and settings are in the address, so that a link leads to what is seen. */
function keepLink() {
  const { text, beams, alpha, format, view } = state;
  const values = new URLSearchParams({ text, beams, alpha, model: format, view });
  history.replaceState(null, "", `#${values}`);
}

function readLink() {
  const values = new URLSearchParams(location.hash.slice(1));
  const within = (name, least, most, otherwise) => {
    const number = Number(values.get(name) || otherwise);
    return number >= least && number <= most ? number : otherwise;
  };
  state.text = (values.get("text") ?? "").slice(0, 2000);
  state.beams = Math.round(within("beams", 1, 5, 4));
  state.alpha = Math.round(within("alpha", 0, 1.5, 0.6) * 10) / 10;
  state.format = values.get("model") === "float32" ? "float32" : "int8";
  state.view = VIEWS.includes(values.get("view")) ? values.get("view") : "attention";
}

function say(text) {
  element("status").textContent = text;
}

function problem(error) {
  saysProblem(element("problem"), error);
  showNothing();
}

function listen() {
  element("source").addEventListener("input", () => type(element("source").value));
  element("ask").addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["beams", "alpha"]) {
    element(name).addEventListener("input", () => {
      state[name] = Number(element(name).value);
      element(`${name}-value`).value = element(name).value;
      later();
    });
  }
  for (const input of document.querySelectorAll('[name="format"]')) {
    input.addEventListener("change", () => { setFormat(input.value); later(); });
  }
  element("example").addEventListener("click", () => type(EXAMPLES[(EXAMPLES.indexOf(state.text) + 1) % EXAMPLES.length]));
  for (const view of VIEWS) element(`tab-${view}`).addEventListener("click", () => choose(view));
  element("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(VIEWS[(VIEWS.indexOf(state.view) + step + VIEWS.length) % VIEWS.length]);
    element(`tab-${state.view}`).focus();
  });
  element("folder").addEventListener("change", ({ target }) => {
    const files = [...target.files].map((file) => [file.webkitRelativePath || file.name, file]);
    target.value = ""; // so that the same folder can be chosen again once it is mended
    if (files.length) open(files);
  });
  element("site-model").addEventListener("click", useSiteModel);
  for (const button of document.querySelectorAll("#sentences button")) button.addEventListener("click", () => type(button.textContent));
  const hasFiles = ({ dataTransfer }) => dataTransfer.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", async (event) => {
    document.body.classList.remove("dropping");
    if (!hasFiles(event)) return; // text that is dragged into a box
    event.preventDefault();
    const files = await readFolder(event.dataTransfer.items);
    if (files.length) await open(files);
  });
  addEventListener("hashchange", () => { if (location.hash.includes("=")) start(); }); // not for a place on the page
}

function start() {
  readLink();
  element("source").value = state.text;
  for (const name of ["beams", "alpha"]) {
    element(name).value = state[name];
    element(`${name}-value`).value = state[name];
  }
  setFormat(state.format);
  choose(state.view);
  translate();
}

element("not-served").remove();
listen();
start();
new Tour({ type, choose, chooseAttention: (chosen) => views.attention.choose(chosen), currentText: () => state.text, example: EXAMPLES[0] });
if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register("./service_worker.js").catch((error) => console.info(`Not kept for use without a network: ${error.message}`));
}
