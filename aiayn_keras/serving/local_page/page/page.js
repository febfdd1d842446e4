"use strict";

const PAUSE = 200; // milliseconds without a keystroke after which a text is translated
const MAX_HEIGHT = 1200; // pixels of the explorer, which scrolls beyond them
const facts = JSON.parse(document.getElementById("facts").textContent);
const element = (id) => document.getElementById(id);
const [source, target] = [element("source"), element("target")];

// `chosen` holds the index of each sentence's chosen hypothesis, `current` the index of the current sentence;
// `view` is the button whose view of it is open, "explore" or "watch", or null; `download` the URL of the newest
// translated file.
const state = { sentences: [], chosen: [], current: 0, view: null, download: null };
const running = { translation: null, exploration: null, document: null }; // an AbortController while a request is running
let timer = 0;

/** Creates an element with children; a string becomes text, never markup. */
function node(name, properties, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

// ---- Asking the server ----

class Problem extends Error {}
class BusyProblem extends Problem {}

/** Sends JSON, or a file as it is, and returns the answer; a new request for the same thing aborts the previous one. */
async function ask(thing, path, content) {
  running[thing]?.abort();
  const controller = running[thing] = new AbortController();
  const isFile = content instanceof Blob;
  const headers = { "Content-Type": isFile ? "application/octet-stream" : "application/json" };
  const options = { method: "POST", headers, body: isFile ? content : JSON.stringify(content) };
  try {
    const response = await fetch(path, { ...options, signal: controller.signal });
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
    if (response.ok) return await (isFile ? response.blob() : response.json());
    const reason = isJson ? (await response.json()).error : `The server answered: ${response.status} ${response.statusText}.`;
    throw response.status === 503 ? new BusyProblem(reason) : new Problem(reason);
  } catch (error) {
    if (error instanceof Problem || error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Is `aiayn-keras serve` still running?");
  } finally {
    if (running[thing] === controller) running[thing] = null;
  }
}

function stop(thing) {
  running[thing]?.abort();
  running[thing] = null;
}

// ---- Translating ----

function translateSoon(pause = PAUSE) {
  clearTimeout(timer);
  timer = setTimeout(translate, pause);
}

async function translate() {
  clearTimeout(timer);
  const text = source.value.toWellFormed();
  remember(sessionStorage, "text", text);
  element("clear").hidden = !text;
  if (!text.trim() || text.length > facts.max_characters) {
    stop("translation");
    showTranslation({ translation: "", sentences: [] });
    const [length, maximum] = [text.length, facts.max_characters].map((number) => number.toLocaleString("en"));
    if (text.trim()) showProblem(`The text has ${length} characters; this page takes at most ${maximum} at once.`);
    return;
  }
  showBusy(true);
  try {
    const answer = await ask("translation", "/translate", { text, num_hypotheses: facts.max_hypotheses });
    showTranslation(answer);
    element("timing").textContent = `${answer.seconds.toFixed(2)} s`;
  } catch (error) {
    if (error.name === "AbortError") return; // a newer request is running, or none is needed any more
    target.classList.add("stale");
    showProblem(error.message);
    if (error instanceof BusyProblem) translateSoon(1000);
  }
  showBusy(false);
}

function showBusy(busy) {
  element("timing").classList.toggle("busy", busy);
  target.setAttribute("aria-busy", busy);
}

function showProblem(message) {
  element("problem").textContent = message;
}

function showTranslation({ translation, sentences }) {
  showProblem("");
  showBusy(false);
  element("timing").textContent = "";
  target.classList.remove("stale");
  target.replaceChildren(...pieces(translation, sentences));
  target.classList.toggle("several", sentences.length > 1);
  element("copy").hidden = !translation.trim();
  element("closer").hidden = !sentences.length;
  Object.assign(state, { sentences, chosen: sentences.map(() => 0) });
  element("choice").hidden = sentences.length < 2;
  element("sentence").replaceChildren(...sentences.map(({ source }, index) =>
    node("option", { value: index }, `${index + 1}. ${source.slice(0, 100)}`)));
  chooseSentence(Math.max(0, Math.min(state.current, sentences.length - 1)));
}

/** Splits a translation into an element for each sentence and the texts between them. */
function pieces(translation, sentences) {
  const found = [];
  let end = 0;
  sentences.forEach(({ hypotheses: [{ text }] }, index) => {
    const start = translation.indexOf(text, end);
    if (start < 0) return;
    const sentence = node("span", { className: "sentence" }, text);
    sentence.dataset.index = index;
    sentence.addEventListener("click", () => chooseSentence(index));
    found.push(translation.slice(end, start), sentence);
    end = start + text.length;
  });
  return [...found, translation.slice(end)];
}

// ---- A closer look at one sentence ----

function chooseSentence(index) {
  state.current = index;
  element("sentence").value = index;
  for (const span of target.querySelectorAll(".sentence")) {
    span.classList.toggle("current", Number(span.dataset.index) === index);
  }
  const hypotheses = state.sentences[index]?.hypotheses ?? [];
  element("hypotheses").replaceChildren(...hypotheses.map(hypothesisChoice));
  explore();
}

function hypothesisChoice({ text, score, normalized_score }, index) {
  const input = node("input", { type: "radio", name: "hypothesis", checked: index === state.chosen[state.current] });
  input.addEventListener("change", () => chooseHypothesis(index));
  const [plain, normalized] = [score, normalized_score].map((number) => number.toFixed(2).replace("-", "−"));
  const scores = `score ${plain} · normalised ${normalized}`;
  return node("label", {}, input, node("span", { className: "text", dir: "auto" }, text), node("span", { className: "scores" }, scores));
}

function chooseHypothesis(index) {
  state.chosen[state.current] = index;
  const span = target.querySelector(`[data-index="${state.current}"]`);
  if (span) span.textContent = state.sentences[state.current].hypotheses[index].text;
  if (state.view !== "watch") explore(); // all hypotheses come from the same search
}

const VIEWS = {
  explore: { open: "Explore attention", close: "Close the explorer", title: "Attention explorer" },
  watch: { open: "Watch the search", close: "Close the search", title: "Beam search, step by step" },
};

/** Shows the attention of the chosen translation, or the search for it, if either view is open. */
async function explore() {
  const sentence = state.sentences[state.current];
  const hypothesis = state.chosen[state.current];
  const isPossible = { explore: sentence && (facts.explores_any || hypothesis === 0), watch: sentence && facts.shows_steps };
  for (const [id, { open, close }] of Object.entries(VIEWS)) {
    element(id).disabled = !isPossible[id];
    element(id).setAttribute("aria-expanded", state.view === id);
    element(id).textContent = state.view === id ? close : open;
  }
  element("reason").textContent = !sentence || isPossible.explore ? "" : "A kit only shows the attention of the best translation.";
  element("explorer").hidden = !isPossible[state.view];
  stop("exploration");
  if (element("explorer").hidden) return element("explorer").replaceChildren();
  const content = { source: sentence.source };
  if (state.view === "explore") content.target = sentence.hypotheses[hypothesis].text;
  else element("reason").textContent = "Searching with several numbers of beams …";
  try {
    showExplorer(await ask("exploration", state.view === "explore" ? "/explore" : "/steps", content));
    if (state.view === "watch") element("reason").textContent = "";
  } catch (error) {
    if (error.name === "AbortError") return;
    element("explorer").replaceChildren();
    element("reason").textContent = error.message;
    if (error instanceof BusyProblem) setTimeout(() => { if (!running.exploration) explore(); }, 1000);
  }
}

/** Puts the explorer into a frame of its own, which may run scripts and do nothing else. */
function showExplorer({ page, height }) {
  const frame = node("iframe", { title: VIEWS[state.view].title, srcdoc: page });
  frame.sandbox = "allow-scripts";
  setHeight(frame, height);
  element("explorer").replaceChildren(frame);
}

const setHeight = (frame, height) => frame.style.setProperty("--height", `${Math.min(height, MAX_HEIGHT)}px`);

/** The explorer reports the height it needs, which depends on the width of the page. */
function fitHeight({ source: sender, data }) {
  const frame = element("explorer").querySelector("iframe");
  if (frame && sender === frame.contentWindow && data?.height > 0) setHeight(frame, data.height);
}

// ---- A file ----

/** Translates a file, and offers the result as a file beside it: `notes.md` becomes `notes.es.md`. */
async function translateFile(file) {
  const status = element("document-status");
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  if (file.size > facts.max_document_bytes) {
    status.textContent = `${file.name} has ${megabytes(file.size)}; this page takes files of up to ${megabytes(facts.max_document_bytes)}.`;
    return;
  }
  status.textContent = `Translating ${file.name} …`;
  try {
    const translated = await ask("document", `/document?${new URLSearchParams({ name: file.name })}`, file);
    const [, stem, ending] = /^(.*?)(\.[^.]*)?$/s.exec(file.name);
    const name = `${stem}.${facts.languages?.[1] ?? "translated"}${ending ?? ""}`;
    URL.revokeObjectURL(state.download);
    state.download = URL.createObjectURL(translated);
    const link = node("a", { href: state.download, download: name }, name);
    status.replaceChildren(`${file.name} is translated: `, link);
    link.click();
  } catch (error) {
    if (error.name !== "AbortError") status.textContent = error.message;
  }
}

function listenForFiles() {
  element("document").hidden = false;
  element("file").addEventListener("change", ({ target: { files } }) => { if (files.length) translateFile(files[0]); });
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    translateFile(event.dataTransfer.files[0]);
  });
}

// ---- Kept across reloads ----

/** Stores a string, unless the browser forbids it or has no room. */
function remember(storage, name, value) {
  try { storage.setItem(`aiayn-keras ${name}`, value); } catch { /* a reload forgets it */ }
}

function recall(storage, name) {
  try { return storage.getItem(`aiayn-keras ${name}`); } catch { return null; }
}

const systemTheme = matchMedia("(prefers-color-scheme: dark)");
const themeInUse = () => document.documentElement.dataset.theme ?? (systemTheme.matches ? "dark" : "light");

function showTheme() {
  element("theme").textContent = themeInUse() === "dark" ? "Light theme" : "Dark theme";
}

function switchTheme() {
  document.documentElement.dataset.theme = themeInUse() === "dark" ? "light" : "dark";
  remember(localStorage, "theme", themeInUse());
  showTheme();
}

// ---- Start ----

function showFacts() {
  document.title = `${facts.name} – translate`;
  element("name").textContent = facts.name;
  element("deploy").textContent = facts.deploy;
  element("watch").hidden = !facts.shows_steps;
  if (!facts.languages) return;
  const names = new Intl.DisplayNames(["en"], { type: "language" });
  const [from, to] = facts.languages.map((code) => {
    try { return names.of(code); } catch { return code; } // not a valid language code
  });
  element("languages").textContent = `${from} → ${to}`;
  element("source-label").textContent = from;
  element("target-label").textContent = to;
  [source.lang, target.lang] = facts.languages;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(target.textContent);
  } catch {
    return showProblem("The browser does not allow the page to copy. Select the translation and copy it yourself.");
  }
  element("copy").textContent = "Copied";
  setTimeout(() => { element("copy").textContent = "Copy"; }, 1500);
}

source.addEventListener("input", () => translateSoon());
source.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  translate();
});
element("clear").addEventListener("click", () => { source.value = ""; translate(); source.focus(); });
element("copy").addEventListener("click", copy);
element("sentence").addEventListener("change", ({ target: { value } }) => chooseSentence(Number(value)));
for (const id of Object.keys(VIEWS)) {
  element(id).addEventListener("click", () => { state.view = state.view === id ? null : id; explore(); });
}
element("theme").addEventListener("click", switchTheme);
systemTheme.addEventListener("change", showTheme);
addEventListener("message", fitHeight);

const theme = recall(localStorage, "theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
showTheme();
showFacts();
if (facts.takes_documents) listenForFiles();
source.value = recall(sessionStorage, "text") ?? "";
translate();
