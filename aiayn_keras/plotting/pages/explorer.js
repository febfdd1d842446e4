
const LONG = 30; // words, from which on rows are lower
const LISTED = 5; // strongest weights in the sentence above the words
const LEAST = 0.0005; // weight that is written other than 0.000
const COLORS = 7; // then they begin anew, and lines are dashed
const APART = 0.12; // rows between the lines of two heads
const UNITS = ["pieces", "words"];

const { title, isTitled = true, words: pieces, kinds, chosen = {} } = readData("maps");
for (const kind of kinds) kind.weights = decode(kind.weights);
const groups = Object.fromEntries(Object.entries(pieces).map(([side, texts]) => [side, wordsOf(texts)]));

// A word is { side: "queries" or "keys", index }. Hovering shows a word, choosing keeps it.
const state = {
  kind: Math.min(chosen.kind ?? Infinity, kinds.length - 1), layer: chosen.layer ?? Infinity, heads: new Set(chosen.heads),
  joined: chosen.joined ?? false, hovered: null, chosen: null,
};
const other = (side) => (side === "queries" ? "keys" : "queries");

// ---- Words ----

/** Groups of the places of pieces that are one word: what begins with a space, special tokens alone. */
function wordsOf(texts) {
  const isSpecial = (text) => /^<.+>$/.test(text);
  const hasSpaces = texts.some((text) => text.startsWith("▁"));
  const found = [];
  texts.forEach((text, index) => {
    const begins = !hasSpaces || text.startsWith("▁") || isSpecial(text) || !index || isSpecial(texts[index - 1]);
    if (begins) found.push([index]);
    else found.at(-1).push(index);
  });
  return found.flatMap((group) => {
    const end = group.length - 1;
    const isMark = end > 0 && /^\p{P}+$/u.test(texts[group[end]]);
    return isMark ? [group.slice(0, end), group.slice(end)] : [group];
  });
}

const groupsOf = (side) => (state.joined ? groups[side] : pieces[side].map((_, index) => [index]));

function textsOf(side) {
  if (!state.joined) return pieces[side];
  return groups[side].map((group) => group.map((index) => pieces[side][index]).join("").replace(/^▁(?=.)/u, ""));
}

// ---- Weights ----

/** The weights of one head of a layer, as rows of queries: summed over keys, averaged over queries. */
function weightsOfHead(kind, layer, head) {
  const { shape: [, heads, rows, columns], weights } = kind;
  const start = (layer * heads + head) * rows * columns;
  const [queries, keys] = [groupsOf(kind.queries), groupsOf(kind.keys)];
  return queries.map((group) => keys.map((those) =>
    sum(group.map((row) => sum(those.map((column) => weights[start + row * columns + column])))) / (group.length * 65535)));
}

/** The chosen heads, all if none is. */
function shownHeads() {
  const all = [...Array(kinds[state.kind].shape[1]).keys()];
  return state.heads.size ? all.filter((head) => state.heads.has(head)) : all;
}

const meanOf = (matrices) => matrices[0].map((row, y) =>
  row.map((_, x) => sum(matrices.map((matrix) => matrix[y][x])) / matrices.length));

/** What a word gives to each word of the other side, or gets from it. */
function weightsAt(matrix, { side, index }) {
  return side === "queries" ? matrix[index] : matrix.map((row) => row[index]);
}

/** Matrices to draw, each with a colour: of every chosen head, or the mean alone. */
function shownMatrices() {
  const matrices = shownHeads().map((head) => weightsOfHead(kinds[state.kind], state.layer, head));
  const mean = meanOf(matrices);
  if (state.heads.size < 2) return { mean, layers: [{ matrix: mean, color: "var(--direction)", dashed: false }] };
  return { mean, layers: shownHeads().map((head, index) => ({ matrix: matrices[index], color: colorOf(head), dashed: head >= COLORS })) };
}

const colorOf = (head) => `var(--head-${head % COLORS})`;

// ---- What stays while the kind stays: choices and words ----

function build() {
  const kind = kinds[state.kind];
  const [layers, heads] = kind.shape;
  state.layer = Math.min(state.layer, layers - 1);
  state.heads = new Set([...state.heads].filter((head) => head < heads));
  state.hovered = state.chosen = null;
  choices("kinds", kinds.map(({ name }) => name), (index) => index === state.kind, (index) => { state.kind = index; build(); });
  const canJoin = [kind.queries, kind.keys].some((side) => groups[side].length < pieces[side].length);
  state.joined &&= canJoin;
  choices("units", canJoin ? UNITS : [], (index) => index === Number(state.joined), (index) => { state.joined = index === 1; build(); });
  element("joined").hidden = !state.joined;
  chooseHeads(state.layer, state.heads);
  for (const side of ["queries", "keys"]) {
    element(`${side}-title`).textContent = kind.titles[side];
    element(side).replaceChildren(...textsOf(kind[side]).map((word, index) => wordItem(word, { side, index })));
  }
  const longest = Math.max(groupsOf(kind.queries).length, groupsOf(kind.keys).length);
  document.body.classList.toggle("long", longest > LONG);
  element("lines").setAttribute("viewBox", `0 0 100 ${longest}`);
  element("lines").style.height = `calc(${longest} * var(--row))`;
  drawOverview();
  draw();
}

/** Chooses a layer, and heads of which none stands for the mean of all. */
function chooseHeads(layer, chosen) {
  const [layers, heads] = kinds[state.kind].shape;
  Object.assign(state, { layer, heads: chosen });
  choices("layers", numbered(layers), (index) => index === state.layer, (index) => { chooseHeads(index, state.heads); draw(); });
  const names = heads > 1 ? [...numbered(heads), "mean"] : [];
  const isChosen = (index) => (index < heads ? chosen.has(index) : !chosen.size);
  choices("heads", names, isChosen, (index, checked) => {
    const next = new Set(index < heads ? chosen : []);
    if (index < heads) next[checked ? "add" : "delete"](index);
    chooseHeads(state.layer, next);
    draw();
  }, "checkbox");
  if (chosen.size > 1) {
    element("heads").querySelectorAll("label > span").forEach((label, head) => {
      if (!chosen.has(head)) return;
      const sample = styled("span", { className: "sample" });
      sample.style.setProperty("--color", colorOf(head));
      label.prepend(sample);
    });
  }
  tell({ chosen: { kind: state.kind, layer, heads: [...chosen], joined: state.joined, overview: element("overview").open } });
  for (const button of element("maps-of-heads").querySelectorAll("button")) {
    const isShown = Number(button.dataset.layer) === layer && (chosen.has(Number(button.dataset.head)) || !chosen.size);
    button.setAttribute("aria-pressed", isShown);
  }
}

/** A small heat map of every layer and head, that chooses it. */
function drawOverview() {
  const kind = kinds[state.kind];
  const [layers, heads] = kind.shape;
  element("overview").hidden = layers * heads === 1;
  const grid = element("maps-of-heads");
  grid.style.setProperty("--heads", heads);
  const label = (text) => styled("span", { className: "label", ariaHidden: "true" }, text);
  const cells = [label(""), ...numbered(heads).map(label)];
  for (let layer = 0; layer < layers; layer += 1) {
    cells.push(label(String(layer + 1)));
    for (let head = 0; head < heads; head += 1) {
      const button = styled("button", { type: "button", ariaLabel: `Layer ${layer + 1}, head ${head + 1}` }, smallMap(weightsOfHead(kind, layer, head)));
      Object.assign(button.dataset, { layer, head });
      button.addEventListener("click", () => { chooseHeads(layer, new Set([head])); draw(); });
      cells.push(button);
    }
  }
  grid.replaceChildren(...cells);
  chooseHeads(state.layer, state.heads);
}

function smallMap(matrix) {
  const canvas = styled("canvas", { width: matrix[0].length, height: matrix.length });
  const context = canvas.getContext("2d");
  context.fillStyle = "#3a93cf"; // seen on light and on dark paper
  matrix.forEach((row, y) => row.forEach((weight, x) => {
    context.globalAlpha = weight;
    context.fillRect(x, y, 1, 1);
  }));
  return canvas;
}

function wordItem(text, word) {
  const shown = styled("span", { className: "word", dir: "auto", title: text }, text);
  const button = styled("button", { type: "button" }, styled("span", { className: "bars" }), shown, styled("span", { className: "number" }));
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

// ---- What changes with every word ----

const isSame = (a, b) => a !== null && b !== null && a.side === b.side && a.index === b.index;

function set(name, word) {
  state[name] = word;
  draw();
}

function move(event, { side, index }) {
  const count = element(side).children.length;
  const weights = weightsAt(shownMatrices().mean, { side, index });
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
const threshold = () => Number(element("threshold").value);

function draw() {
  const { mean, layers } = shownMatrices();
  const word = state.hovered ?? state.chosen;
  const weights = word && weightsAt(mean, word);
  document.body.classList.toggle("incoming", word?.side === "keys");
  element("threshold-value").value = `weight ≥ ${threshold().toFixed(2)}`;
  for (const side of ["queries", "keys"]) {
    const reached = word && side !== word.side;
    const bars = reached ? layers.map(({ matrix, color }) => ({ color, weights: weightsAt(matrix, word) })) : [];
    buttonsOf(side).forEach((button, index) => {
      const chosen = isSame(word, { side, index });
      button.querySelector(".number").textContent = reached ? weights[index].toFixed(3) : "";
      button.querySelector(".bars").replaceChildren(...bars.map((each) => bar(each.weights[index], each.color)));
      button.classList.toggle("chosen", chosen);
      button.classList.toggle("faint", reached && weights[index] < threshold());
      button.setAttribute("aria-pressed", isSame(state.chosen, { side, index }));
      // One word of a column is reached with Tab, the others with arrow keys.
      button.tabIndex = index === (state.chosen?.side === side ? state.chosen.index : 0) ? 0 : -1;
    });
  }
  element("lines").replaceChildren(...layers.flatMap((layer, index) => lines(layer, word, APART * (index - (layers.length - 1) / 2))));
  element("status").replaceChildren(...sentence(word, weights));
}

function bar(weight, color) {
  const shown = node("span");
  shown.style.setProperty("--weight", weight);
  shown.style.setProperty("--color", color);
  return shown;
}

/** The lines of one matrix, moved by a share of a row so that those of other heads are seen. */
function lines({ matrix, color, dashed }, word, offset) {
  return matrix.flatMap((row, query) => row.flatMap((weight, key) => {
    const touches = !word || word.index === (word.side === "queries" ? query : key);
    if (!touches || weight < Math.max(threshold(), LEAST)) return [];
    const [from, to] = [query + 0.5 + offset, key + 0.5 + offset];
    const line = drawn("path", { d: `M0,${from} C50,${from} 50,${to} 100,${to}` });
    if (dashed) line.setAttribute("stroke-dasharray", "6 6");
    line.style.setProperty("--color", color);
    line.style.strokeWidth = `${0.75 + 7 * weight}px`;
    line.style.opacity = (word ? 0.25 : 0.1) + 0.75 * weight;
    return [line];
  }));
}

/** The chosen word and its strongest weights, in words. */
function sentence(word, weights) {
  const kind = kinds[state.kind];
  if (!word) return [`${kind.note} Point at a word, tap it, or go to it with Tab, to see its weights.`];
  const quoted = (side, index) => node("bdi", textsOf(kind[side])[index]);
  const strongest = weights
    .map((weight, index) => ({ weight, index }))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, LISTED)
    .filter(({ weight }) => weight >= LEAST);
  const list = strongest.flatMap(({ weight, index }, place) =>
    [place ? ", " : "", quoted(other(word.side), index), `\u00a0${weight.toFixed(3)}`]);
  const verb = word.side === "queries" ? " looks at " : " is looked at by ";
  return [quoted(word.side, word.index), verb, ...(list.length ? list : ["nothing"]), "."];
}

document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") { state.hovered = state.chosen = null; draw(); }
});
element("threshold").addEventListener("input", draw);
element("overview").open = chosen.overview ?? true;
document.title = element("title").textContent = title;
element("title").classList.toggle("unseen", !isTitled);
build();
tellHeight();
