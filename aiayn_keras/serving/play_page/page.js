/** The page: what the reader types goes to the model, and what the model says to the views. */

import { element, percent, says, saysProblem, signed } from "./dom.js";
import { openEngine } from "./engine.js";
import { facts } from "./facts.js";
import { FileTranslation } from "./file_translation.js";
import { MAX_FILES, readFolder } from "./folder.js";
import { Frame } from "./frame.js";
import { NextPiece } from "./next_piece.js";
import { OwnTranslation } from "./own_translation.js";
import { Switches } from "./switches.js";
import { offerThemes } from "./theme.js";
import { Tour } from "./tour.js";
import { TranslationView } from "./translation_view.js";

const EXAMPLES = [
  "The old man bought a red car last week.",
  "Tom had his wallet stolen on the train.", // one beam: Tom steals it
  "I would like a cup of coffee, please.", // divisor 1: café café café
  "I can't thank you enough for what you did for me.", // α 1.5: lo suficiente
  "My sister works in a hospital and her husband is a teacher.",
  "She didn't take the train because it was too late.",
];
const WAIT = 250; // milliseconds after the last key
const OPENING = "Opening your model …";
const BUSY = 1000; // milliseconds until a busy engine is asked again
const PLACEABLE = /\.{3}|…|\p{Extended_Pictographic}|\w:\/\/|\bwww\.|@\w|#\p{L}|[a-z0-9]\.[a-z]{2,4}\b|\{[^{}]*\}|%[sd]|<\/?\w[^<>]*>/u; // what `aiayn-keras translate` keeps as it is
const VIEWS = facts.views; // the tabs, in their order
const MAX_BEAMS = Math.max(5, facts.num_beams ?? 0);
const MAX_ALPHA = Math.max(1.5, facts.length_penalty ?? 0);

const engine = await openEngine();
const state = { text: "", beams: facts.num_beams, alpha: facts.length_penalty, format: "int8", view: VIEWS[0], isOwnModel: false };
let loading = null; // the model that is loaded or on its way
let loadedFormat = null;
let numLoaded = 0; // models so far
const formatsUsed = new Set(); // of the site's model
let looked = null; // what the views look into, see `TranslationView`
let timer = 0;

const translation = new TranslationView(() => look());
const switches = new Switches(() => translate());

/** Asks for something of what is looked into, by the model with the switches that it was made with. */
const ask = (request, values = {}, changed = {}) => engine.ask(request, {
  text: looked.source, switches: looked.switches && { ...looked.switches, ...changed }, ...values,
});
const views = {
  attention: new Frame("explorer", "Attention explorer", "explorer.txt", ({ sentence, result }) => [sentence, result], () =>
    ask("explore", { target: looked.text, ids: looked.ids })),
  search: new Frame("steps", "Beam search, step by step", "decoding_steps.txt", ({ sentence }) => [sentence], () =>
    ask("record", { numBeams: looked.beams, alpha: looked.alpha })),
  // A piece is written after those before it, whatever the mask would let it see.
  next: new NextPiece((ids, count) => ask("next", { ids, count }, { causal: true })),
  own: new OwnTranslation((text) => ask("score", { translation: text, alpha: looked.alpha })),
};

// ---- The model ----

/** Loads the site's model, once for each format. */
function load() {
  if (state.isOwnModel || loadedFormat === state.format) return loading;
  const [format, before] = [state.format, { loading, loadedFormat }];
  loadedFormat = format;
  say("Loading the model …");
  loading = engine.ask("load", { format }, ({ bytes }) => say("Loading the model …", `${(bytes / 1e6).toFixed(1)} MB`))
    .then((model) => {
      numLoaded += 1;
      switches.offer(model);
      formatsUsed.add(format);
      keepWeights();
    }, (error) => {
      if (loadedFormat !== format) return; // another one was chosen meanwhile
      ({ loading, loadedFormat } = before);
      setFormat(before.loadedFormat ?? "int8");
      throw new Error(`The model cannot be loaded: ${error.message}${before.loadedFormat ? " The one before is used." : format === "int8" ? "" : " 8 bits are chosen instead; press Ctrl+Enter to try them."}`);
    });
  return loading;
}

/** Has the service worker keep the weights in use, which it has not seen if they were loaded before it was there. */
async function keepWeights() {
  if (facts.engine === "python" || !("serviceWorker" in navigator)) return;
  const { active } = await navigator.serviceWorker.ready;
  for (const uses of formatsUsed) active.postMessage({ uses });
}

/** Asks a newer service worker to replace the older one. It does so by itself once it is installed, but Chromium now and then leaves it waiting. */
async function replaceOlder(registration) {
  while (registration.installing || registration.waiting) {
    registration.waiting?.postMessage({ replaces: true });
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function keepFiles() {
  navigator.serviceWorker.addEventListener("controllerchange", keepWeights); // a newer one begins with an empty store
  const registration = await navigator.serviceWorker.register("./service_worker.js");
  registration.addEventListener("updatefound", () => replaceOlder(registration));
  replaceOlder(registration);
}

function setFormat(format) {
  state.format = format;
  for (const input of document.querySelectorAll('[name="format"]')) input.checked = input.value === format;
}

async function open(files) {
  problem(null);
  const said = element("status").textContent;
  say(OPENING);
  const before = { loading, isOwnModel: state.isOwnModel };
  state.isOwnModel = true;
  loading = engine.ask("open", { files });
  try {
    const model = await loading;
    const { hasAttention, vocabularySize, maxLength } = model;
    numLoaded += 1;
    useOwnModel(true);
    switches.offer(model);
    element("own-model-facts").textContent = `Your model is in use: ${vocabularySize.toLocaleString("en")} pieces, texts of up to ${maxLength} pieces` +
      `${hasAttention ? "." : "; it was exported without --attention, so it has no attention and no search to show."}`;
  } catch (error) {
    loading = before.loading;
    state.isOwnModel = before.isOwnModel;
    if (element("status").textContent === OPENING) say(said); // else an answer has come meanwhile
    return problem(new Error(`${error.message.replace(/\.?$/, ".")}${numLoaded ? " The model before is still in use." : ""}`));
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
  element("folder").focus(); // the button that was pressed is hidden
  loadedFormat = null;
  translate();
}

// ---- Translating ----

async function translate() {
  clearTimeout(timer);
  const { text, beams, alpha } = state;
  problem(null);
  element("clear").hidden = !text;
  const hasAcronym = /\p{Lu}{2}/u.test(text) && /\p{Ll}/u.test(text);
  element("bare").hidden = !hasAcronym && !PLACEABLE.test(text);
  if (text.length > facts.max_characters) {
    clear();
    const [length, most] = [text.length, facts.max_characters].map((number) => number.toLocaleString("en"));
    return problem(new Error(`The text has ${length} characters; this page takes at most ${most} at once.`));
  }
  keepLink();
  if (!text.trim()) return clear();
  try {
    await load();
    if (text !== state.text) return;
    say("Translating …");
    translation.wait();
    const used = switches.values;
    const isChanged = !switches.areAllOn;
    const values = { text, numBeams: beams, alpha, switches: used, replaces: true };
    const answer = await engine.ask("translate", values, (news) => {
      if (text !== state.text) return;
      say("Translating …"); // after what was said of loading
      translation.grow(news);
      if (news.growing !== undefined) element("change-translation").textContent = news.growing;
    });
    if (answer === null || text !== state.text) return; // a newer one is on its way, or none is wanted
    problem(null);
    element("change-translation").textContent = answer.text;
    element("long").hidden = !answer.exceeds;
    element("learned").textContent = answer.exceeds ?? "";
    translation.show(answer, { beams, alpha, switches: used, isChanged, milliseconds: answer.milliseconds, model: numLoaded });
    await look();
  } catch (error) {
    if (error.kind) {
      translation.keep();
      say("");
    } else clear();
    problem(error);
    if (error.kind === "busy") later(BUSY);
  }
}

/** Looks into the sentence and the translation that the reader has chosen. */
async function look() {
  looked = translation.looked;
  if (looked) {
    const [number, count] = translation.place;
    const which = count > 1 ? ` Sentence ${number} of ${count}.` : "";
    const { logProb, score } = looked.result;
    say(`Probability ${percent(Math.exp(logProb))}, log-probability ${signed(logProb)}, score ${signed(score)}, ${Math.round(looked.milliseconds)} ms.${which}${looked.isChanged ? " Parts of the model are changed." : ""}`);
  } else {
    say("A text without words or letters is its own translation: the model is not asked.");
    for (const view of Object.values(views)) view.clear();
  }
  await show();
}

function clear() {
  engine.ask("cancel", { replaces: true }).catch(() => {}); // nothing to end in an engine that cannot be started
  looked = null;
  translation.clear();
  element("change-translation").textContent = "";
  for (const view of Object.values(views)) view.clear();
  say("");
  showNothing();
}

/** Says why a view is empty, if it is. */
function showNothing(reason = null) {
  const needsOne = state.view in views;
  const isHidden = state.view === "attention" && looked && !looked.isBest && !facts.explores_any;
  const why = isHidden ? "A kit only shows the attention of the best translation."
    : looked ? reason
    : !element("result").hidden ? "There is nothing to look into: the model was not asked."
    : state.text.trim() ? "The translation is on its way." : "Type a sentence to see something here.";
  const isWrong = !element("problem").hidden;
  element("nothing").hidden = !needsOne || !why || (isWrong && !looked);
  says(element("nothing"), why ?? "");
  element("views").classList.toggle("empty", needsOne && Boolean(why));
  return needsOne && looked && !isHidden;
}

/** Fills the chosen view. */
async function show() {
  const [view, shown] = [state.view, looked];
  if (!showNothing()) return;
  const slow = setTimeout(() => {
    element("nothing").hidden = false;
    says(element("nothing"), "The model is at work …");
  }, WAIT);
  try {
    await views[view].show(shown);
    if (view === state.view && shown === looked) showNothing();
  } catch (error) {
    if (view !== state.view || shown !== looked) return;
    views[view].clear();
    showNothing(error.message);
    if (error.kind === "busy") setTimeout(() => { if (view === state.view && shown === looked) show(); }, BUSY);
  } finally {
    clearTimeout(slow);
  }
}

// ---- What the reader does ----

function later(wait = WAIT) {
  clearTimeout(timer);
  timer = setTimeout(translate, wait);
}

function type(text) {
  state.text = text.toWellFormed();
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
  if (state.text.length > facts.max_characters) return;
  const { text, beams, alpha, format, view } = state;
  const values = { text, beams, alpha, model: facts.engine === "onnx" ? format : null, view };
  const kept = Object.entries(values).filter(([, value]) => value !== null);
  history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
}

/** @param {string} hash - The end of an address, from `#` on. */
function readLink(hash) {
  const values = new URLSearchParams(hash.slice(1));
  const within = (name, least, most, otherwise, step) => {
    if (otherwise === null || !values.get(name)?.trim()) return otherwise;
    const number = Math.round(Number(values.get(name)) / step) * step;
    return number >= least && number <= most ? Number(number.toFixed(2)) : otherwise;
  };
  state.text = (values.get("text") ?? "").slice(0, facts.max_characters).toWellFormed();
  state.beams = within("beams", 1, MAX_BEAMS, facts.num_beams, 1);
  state.alpha = within("alpha", 0, MAX_ALPHA, facts.length_penalty, 0.01);
  state.format = values.get("model") === "float32" ? "float32" : "int8";
  state.view = VIEWS.includes(values.get("view")) ? values.get("view") : VIEWS[0];
}

/** Says what goes on; screen readers do not read out `progress`, which changes many times a second. */
function say(text, progress = "") {
  says(element("status"), text);
  element("progress").textContent = progress;
}

function problem(error) {
  saysProblem(element("problem"), error);
  showNothing();
}

function listen() {
  element("source").addEventListener("input", () => type(element("source").value));
  element("source").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    translate();
  });
  element("clear").addEventListener("click", () => {
    type("");
    translate();
    element("source").focus();
  });
  element("show-words").addEventListener("click", () => {
    element("words").open = true;
    element("words").querySelector("summary").focus();
    element("words").scrollIntoView({ block: "start" });
  });
  element("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address stays a link to what is seen
    element(`tab-${state.view}`).focus();
  });
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
  if (facts.takes_documents) {
    const files = new FileTranslation((file) => engine.ask("document", { file }));
    listenForDrops(async ({ files: [file] }) => { if (file) await files.translate(file); });
  } else if (VIEWS.includes("folder")) {
    listenForDrops(async ({ items }) => {
      const files = await readFolder(items).catch(() => []); // such as those that the reader may not read
      if (files.length && files.length <= MAX_FILES) return open(files);
      const found = files.length ? `more than ${MAX_FILES} files` : "no files that can be read";
      return problem(new Error(`What was dropped has ${found}: drop the folder that aiayn-keras export onnx wrote.`));
    });
  }
  addEventListener("hashchange", ({ newURL }) => {
    const { hash } = new URL(newURL); // an answer that came meanwhile has put the old one back into the page's address
    if (hash.includes("=")) start(hash); // not for a place on the page
  });
}

/** @param {Function} take - Called with the files that are dropped, a `DataTransfer`. */
function listenForDrops(take) {
  const hasFiles = ({ dataTransfer }) => dataTransfer.types.includes("Files");
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!hasFiles(event)) return; // text that is dragged into a box
    event.preventDefault();
    take(event.dataTransfer);
  });
}

// ---- The beginning ----

/** Leaves on the page what this engine and this model can do. */
function arrange() {
  for (const each of document.querySelectorAll("[data-engine]")) {
    if (each.dataset.engine === facts.engine) each.removeAttribute("data-engine");
    else each.remove();
  }
  for (const tab of element("tabs").children) tab.hidden = !VIEWS.includes(tab.id.slice("tab-".length));
  for (const each of document.querySelectorAll("[data-search]")) each.hidden = facts.num_beams === null;
  element("heads").hidden = !facts.explores_any; // a kit has their mean
  element("beams").max = MAX_BEAMS;
  Object.assign(element("alpha"), { max: MAX_ALPHA, step: Number.isInteger(Number((10 * facts.length_penalty).toFixed(6))) ? 0.1 : 0.01 });
  const [from, to] = facts.languages ?? ["", ""];
  element("source").lang = from;
  for (const id of ["translation", "change-translation", "next-written", "own"]) element(id).lang = to;
  element("example").hidden = from !== "en";
  element("start-tour").hidden = from !== "en" || !VIEWS.includes("search");
  if (facts.engine === "python") describe(from, to);
}

/** Says which model this is. */
function describe(from, to) {
  document.title = `${facts.name} – translate`;
  element("name").textContent = facts.name;
  element("source-label").textContent = "Text"; // of several sentences, if the reader likes
  element("deployment").hidden = !facts.deploy;
  element("deploy").textContent = facts.deploy;
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  const named = (code) => {
    try { return names.of(code); } catch { return code; } // not a valid language code
  };
  if (facts.languages) element("languages").textContent = `${named(from)} → ${named(to)}.`;
}

function start(hash) {
  readLink(hash);
  element("source").value = state.text;
  for (const name of ["beams", "alpha"]) {
    if (state[name] === null) continue;
    element(name).value = state[name];
    element(`${name}-value`).value = state[name];
  }
  setFormat(state.format);
  choose(state.view);
  translate();
}

arrange();
offerThemes();
listen();
start(location.hash);
element("not-served").remove(); // it stays where the browser lacks what the lines above need
new Tour({
  type, choose, chooseAttention: (chosen) => views.attention.choose(chosen), currentText: () => state.text, example: EXAMPLES[0],
  restore(text) {
    switches.allOn();
    if ([...document.querySelectorAll("#sentences button")].some(({ textContent }) => textContent === state.text)) type(text);
  },
});
if (facts.engine === "python") element("source").focus();
else if ("serviceWorker" in navigator) keepFiles().catch((error) => console.info(`Not kept for use without a network: ${error.message}`));
