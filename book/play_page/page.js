/** The page: what the reader types goes to the model, and what the model says to the views. */

import { Engine } from "./engine.js";
import { Frame } from "./frame.js";
import { NextPiece } from "./next_piece.js";
import { OwnTranslation } from "./own_translation.js";
import { readFolder } from "./folder.js";
import { element, node, piecesList, saysProblem } from "./dom.js";
import { Switches } from "./switches.js";
import { Tour } from "./tour.js";

const EXAMPLES = [
  "The old man bought a red car last week.",
  "My sister works in a hospital and her husband is a teacher.",
  "I would like a cup of coffee, please.",
  "The bank was closed, so she sat down on the bank of the river.",
  "She didn't take the train because it was too late.",
];
const WAIT = 250; // milliseconds after the last key
const VIEWS = ["attention", "search", "next", "own", "change", "folder"];

const engine = new Engine();
const state = { text: "", beams: 4, alpha: 0.6, format: "int8", view: "attention", isOwnModel: false };
let loading = null; // the model that is loaded or on its way
let loadedFormat = null;
let translated = null; // the newest answer, with the text that it belongs to
let timer = 0;

const views = {
  attention: new Frame("explorer", "explorer.html", () =>
    engine.ask("explore", { text: translated.source, ids: translated.ids, title: `${translated.source} → ${translated.text}` })),
  search: new Frame("steps", "decoding_steps.html", () => engine.ask("record", { text: translated.source, alpha: state.alpha })),
  next: new NextPiece((ids) => engine.ask("next", { text: translated.source, ids })),
  own: new OwnTranslation((translation) => engine.ask("score", { text: translated.source, translation, alpha: state.alpha })),
  change: { clear() {}, async show() {} },
  folder: { clear() {}, async show() {} },
};
const switches = new Switches(async (values) => {
  await engine.ask("set", { switches: values });
  await translate();
});

// ---- The model ----

/** Loads the site's model, once for each format. */
function load() {
  if (state.isOwnModel || loadedFormat === state.format) return loading;
  loadedFormat = state.format;
  say("Loading the model …");
  loading = engine.ask("load", { format: state.format }, ({ bytes }) => say(`Loading the model: ${(bytes / 1e6).toFixed(1)} MB …`));
  loading.then((facts) => switches.offer(facts), () => { loadedFormat = null; });
  return loading;
}

async function open(files) {
  problem(null);
  say("Opening your model …");
  try {
    const facts = await engine.ask("open", { files });
    const { hasAttention, vocabularySize, maxLength } = facts;
    state.isOwnModel = true;
    loading = Promise.resolve(facts);
    switches.offer(facts);
    element("formats").hidden = true;
    await translate();
    say(`Your model: ${vocabularySize.toLocaleString("en")} pieces, texts of up to ${maxLength} pieces` +
      `${hasAttention ? "" : "; exported without --attention, so the views of attention and search are empty"}.`);
  } catch (error) {
    problem(error);
  }
}

// ---- Translating ----

async function translate() {
  const { text, beams: numBeams, alpha } = state;
  keepLink();
  if (!text.trim()) return clear();
  problem(null);
  try {
    await load();
    const answer = await engine.ask("translate", { text, numBeams, alpha, replaces: true }, ({ pieces, growing }) => {
      if (text !== state.text) return;
      if (pieces) element("source-pieces").replaceChildren(...piecesList(pieces));
      if (growing !== undefined) showTranslation(growing, true);
    });
    if (answer === null) return; // a newer one is on its way
    translated = { ...answer, source: text };
    showTranslation(answer.text, false);
    element("target-pieces").replaceChildren(...piecesList(answer.targetPieces ?? []));
    const [best] = answer.results;
    say(best
      ? `Log-probability ${best.logProb.toFixed(3).replace("-", "−")}, score ${best.score.toFixed(3).replace("-", "−")}, ${Math.round(answer.milliseconds)} ms.${switches.areAllOn ? "" : " Parts of the model are changed."}`
      : "A text without words or letters is its own translation: the model is not asked.");
    for (const view of Object.values(views)) view.clear();
    await show();
  } catch (error) {
    problem(error);
  }
}

function showTranslation(text, isGrowing) {
  element("translation").textContent = text;
  element("translation").classList.toggle("growing", isGrowing);
}

function clear() {
  translated = null;
  showTranslation("", false);
  for (const id of ["source-pieces", "target-pieces"]) element(id).replaceChildren();
  for (const view of Object.values(views)) view.clear();
  say("");
}

/** Fills the chosen view with the newest translation. */
async function show() {
  if (!translated?.results.length) return;
  try {
    await views[state.view].show(translated);
  } catch (error) {
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
    const number = Number(values.get(name) ?? otherwise);
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
  if (error) say("");
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
    input.addEventListener("change", () => { state.format = input.value; later(); });
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
  element("folder").addEventListener("change", ({ target }) => open([...target.files].map((file) => [file.webkitRelativePath || file.name, file])));
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", async (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    const files = await readFolder(event.dataTransfer.items);
    if (files.length) await open(files);
  });
  addEventListener("hashchange", start);
}

function start() {
  readLink();
  element("source").value = state.text;
  for (const name of ["beams", "alpha"]) {
    element(name).value = state[name];
    element(`${name}-value`).value = state[name];
  }
  document.querySelector(`[name="format"][value="${state.format}"]`).checked = true;
  choose(state.view);
  if (state.text) translate();
}

element("not-served").remove();
listen();
start();
new Tour({ type, choose, currentText: () => state.text, example: EXAMPLES[0] });
if ("serviceWorker" in navigator) {
  navigator.serviceWorker.register("./service_worker.js").catch((error) => console.info(`Not kept for use without a network: ${error.message}`));
}
