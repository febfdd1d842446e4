"use strict";

const FAINTEST_LINE = 0.03; // of those drawn when no word is chosen
const LONG = 30; // words, from which on rows are lower
const LISTED = 5; // strongest weights in the sentence above the words

const { title, words, kinds } = JSON.parse(document.getElementById("maps").textContent);
for (const kind of kinds) kind.weights = decode(kind.weights);

// A word is { side: "queries" or "keys", index }. Hovering shows a word, choosing keeps it.
const state = { kind: kinds.length - 1, layer: 0, head: 0, hovered: null, chosen: null };
const element = (id) => document.getElementById(id);
const other = (side) => (side === "queries" ? "keys" : "queries");

// ---- Weights ----

function decode(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Uint16Array(bytes.buffer); // 65535 is a weight of 1
}

/** The weights of one head, or the mean of all if `head` is their number, as rows of queries. */
function weightsOf({ shape: [, heads, rows, columns], weights }, layer, head) {
  const chosen = head < heads ? [head] : [...Array(heads).keys()];
  const mean = (row, column) =>
    chosen.reduce((sum, h) => sum + weights[((layer * heads + h) * rows + row) * columns + column], 0) /
    (chosen.length * 65535);
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => mean(row, column)));
}

/** What a word gives to each word of the other side, or gets from it. */
function weightsAt(matrix, { side, index }) {
  return side === "queries" ? matrix[index] : matrix.map((row) => row[index]);
}

// ---- What stays while the kind stays: choices and words ----

function build() {
  const kind = kinds[state.kind];
  const [layers, heads] = kind.shape;
  state.layer = Math.min(state.layer, layers - 1);
  state.head = Math.min(state.head, heads > 1 ? heads : 0); // the mean of one head is that head
  state.hovered = state.chosen = null;
  choices("kinds", kinds.map(({ name }) => name), state.kind, (index) => { state.kind = index; build(); });
  choices("layers", numbered(layers), state.layer, (index) => { state.layer = index; thumbnails(); draw(); });
  choices("heads", [...numbered(heads), ...(heads > 1 ? ["mean"] : [])], state.head, (index) => { state.head = index; draw(); });
  for (const side of ["queries", "keys"]) {
    element(`${side}-title`).textContent = kind.titles[side];
    element(side).replaceChildren(...words[kind[side]].map((word, index) => wordItem(word, { side, index })));
  }
  const longest = Math.max(kind.shape[2], kind.shape[3]);
  document.body.classList.toggle("long", longest > LONG);
  element("lines").setAttribute("viewBox", `0 0 100 ${longest}`);
  element("lines").style.height = `calc(${longest} * var(--row))`;
  thumbnails();
  draw();
}

const numbered = (count) => Array.from({ length: count }, (_, index) => String(index + 1));

function choices(id, names, checked, choose) {
  const group = element(id);
  const focused = group.contains(document.activeElement);
  group.hidden = names.length < 2;
  const labels = names.map((name, index) => {
    const input = Object.assign(document.createElement("input"), { type: "radio", name: id, checked: index === checked });
    input.addEventListener("change", () => choose(index));
    return node("label", input, node("span", name));
  });
  group.replaceChildren(group.querySelector("legend"), ...labels);
  if (focused) labels[checked].firstChild.focus();
}

/** A small heat map on the button of every head. */
function thumbnails() {
  const kind = kinds[state.kind];
  element("heads").querySelectorAll("label > span").forEach((label, head) => {
    const [, , rows, columns] = kind.shape;
    const canvas = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
    const context = canvas.getContext("2d");
    context.fillStyle = "#3a93cf"; // seen on light and on dark paper
    weightsOf(kind, state.layer, head).forEach((row, y) => row.forEach((weight, x) => {
      context.globalAlpha = weight;
      context.fillRect(x, y, 1, 1);
    }));
    label.replaceChildren(canvas, label.textContent);
  });
}

function wordItem(text, word) {
  const shown = Object.assign(node("span", text), { className: "word", dir: "auto", title: text });
  const button = node("button", shown, Object.assign(node("span"), { className: "number" }));
  button.type = "button";
  button.addEventListener("pointerenter", ({ pointerType }) => {
    if (pointerType === "mouse") set("hovered", word);
  });
  button.addEventListener("pointerleave", () => set("hovered", null));
  button.addEventListener("focus", () => {
    if (button.matches(":focus-visible")) set("chosen", word);
  });
  button.addEventListener("click", () => set("chosen", isSame(state.chosen, word) ? null : word));
  button.addEventListener("keydown", (event) => move(event, word));
  return node("li", button);
}

/** An element with children; a string becomes text, never markup. */
function node(name, ...children) {
  const created = document.createElement(name);
  created.append(...children);
  return created;
}

// ---- What changes with every word ----

const isSame = (a, b) => a !== null && b !== null && a.side === b.side && a.index === b.index;

function set(name, word) {
  state[name] = word;
  draw();
}

function move(event, { side, index }) {
  const count = element(side).children.length;
  const weights = weightsAt(weightsOf(kinds[state.kind], state.layer, state.head), { side, index });
  const across = { side: other(side), index: weights.indexOf(Math.max(...weights)) };
  const goal = {
    ArrowUp: { side, index: Math.max(index - 1, 0) },
    ArrowDown: { side, index: Math.min(index + 1, count - 1) },
    Home: { side, index: 0 },
    End: { side, index: count - 1 },
    ArrowRight: side === "queries" ? across : null,
    ArrowLeft: side === "keys" ? across : null,
  }[event.key];
  if (!goal) return;
  event.preventDefault();
  buttonsOf(goal.side)[goal.index].focus();
}

const buttonsOf = (side) => [...element(side).querySelectorAll("button")];

function draw() {
  const matrix = weightsOf(kinds[state.kind], state.layer, state.head);
  const word = state.hovered ?? state.chosen;
  const weights = word && weightsAt(matrix, word);
  document.body.classList.toggle("incoming", word?.side === "keys");
  for (const side of ["queries", "keys"]) {
    const reached = word && side !== word.side;
    buttonsOf(side).forEach((button, index) => {
      const weight = reached ? weights[index] : null;
      const chosen = isSame(word, { side, index });
      button.querySelector(".number").textContent = reached ? weight.toFixed(3) : "";
      button.style.setProperty("--weight", weight ?? 0);
      button.classList.toggle("chosen", chosen);
      button.classList.toggle("faint", reached && weight < FAINTEST_LINE);
      button.setAttribute("aria-pressed", isSame(state.chosen, { side, index }));
      // One word of a column is reached with Tab, the others with arrow keys.
      button.tabIndex = index === (state.chosen?.side === side ? state.chosen.index : 0) ? 0 : -1;
    });
  }
  drawLines(matrix, word);
  element("status").replaceChildren(...sentence(word, weights));
}

function drawLines(matrix, word) {
  const lines = [];
  matrix.forEach((row, query) => row.forEach((weight, key) => {
    const touches = word && word.index === (word.side === "queries" ? query : key);
    if (word ? !touches || weight < 0.0005 : weight < FAINTEST_LINE) return;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const [from, to] = [query + 0.5, key + 0.5];
    line.setAttribute("d", `M0,${from} C50,${from} 50,${to} 100,${to}`);
    line.style.strokeWidth = `${0.75 + 7 * weight}px`;
    line.style.opacity = (word ? 0.25 : 0.1) + 0.75 * weight;
    lines.push(line);
  }));
  element("lines").replaceChildren(...lines);
}

/** The chosen word and its strongest weights, in words. */
function sentence(word, weights) {
  const kind = kinds[state.kind];
  if (!word) return [`${kind.note} Point at a word, tap it, or go to it with Tab, to see its weights.`];
  const quoted = (side, index) => node("bdi", words[kind[side]][index]);
  const strongest = weights
    .map((weight, index) => ({ weight, index }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, LISTED)
    .filter(({ weight }) => weight >= 0.0005);
  const list = strongest.flatMap(({ weight, index }, place) =>
    [place ? ", " : "", quoted(other(word.side), index), `\u00a0${weight.toFixed(3)}`]);
  const verb = word.side === "queries" ? " looks at " : " is looked at by ";
  return [quoted(word.side, word.index), verb, ...(list.length ? list : ["nothing"]), "."];
}

document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") { state.hovered = state.chosen = null; draw(); }
});
// A page around this one can give its frame the height that is needed; two pixels are its border.
if (parent !== window) {
  const tell = () => parent.postMessage({ height: Math.ceil(document.body.getBoundingClientRect().height) + 2 }, "*");
  new ResizeObserver(tell).observe(document.body);
}
if (title) document.title = element("title").textContent = title;
state.layer = kinds[state.kind].shape[0] - 1;
state.head = kinds[state.kind].shape[1];
build();
