
const [LIVES, FINISHES] = [0, 1]; // of the fates of a candidate; the third is that it is dropped
const ALPHA_STEP = 0.05;
const LARGEST_ALPHA = 1.5;
const SECOND = 1000; // between two steps that are played
const MIDDLE = 20; // of the divisor's slider, where it is the root of d_k

const record = readData("record");
const { source, pieces, searches, offset, longest } = record;
const [, layers, heads, S] = record.scores.shape;
const scores = decode(record.scores.values);
const root = record.divisor ?? Math.sqrt(record.keyDim); // by which the scores were divided in the search
const isOff = (layer, head) => Boolean(record.off?.some(([l, h]) => l === layer && h === head)); // switched off in the search
const rowsOfSearch = searches.map(rowsOf);

// `chosen` is the place of a live hypothesis of the step, `path` the pieces that it is followed by.
const state = { search: 0, step: 0, path: null, layer: layers - 1, head: heads, timer: 0 };

// ---- The searches ----

/** The live hypotheses before every step, and after the last: { parent, piece, logProb, scores }. */
function rowsOf({ steps }) {
  const rows = [[{ parent: null, piece: "<s>", logProb: 0, scores: steps[0].scores[0] }]];
  steps.forEach(({ candidates }, index) => {
    const living = candidates.filter(([, , , fate]) => fate === LIVES);
    rows.push(living.map(([parent, piece, logProb], place) =>
      ({ parent, piece: pieces[piece], logProb, scores: steps[index + 1]?.scores[place] })));
  });
  return rows;
}

const search = () => searches[state.search];
const rows = () => rowsOfSearch[state.search];

/** The places of a hypothesis and of those it comes from, the first of them the start. */
function lineage(step, place) {
  const places = [];
  for (let at = step; at >= 0; at -= 1) {
    places.unshift(place);
    place = rows()[at][place].parent;
  }
  return places;
}

const piecesOf = (step, place) => lineage(step, place).slice(1).map((at, index) => rows()[index + 1][at].piece);
const textOf = (tokens) => tokens.join("").replaceAll("▁", " ").trim();

/** Finished hypotheses: { step, text, length, logProb, parent, place }, in the order of ending. */
function finished() {
  const ends = search().steps.flatMap(({ candidates }, step) =>
    candidates.filter(([, , , fate]) => fate === FINISHES).map(([parent]) => ({ step, parent })));
  return search().finished.map(([step, text, length, logProb], index) => ({ ...ends[index], step, text, length, logProb }));
}

const alpha = () => Number(element("alpha").value);
const penalty = (length) => ((offset + length) / (offset + 1)) ** alpha();

/** The recorded search whose exponent is the nearest. */
const nearest = () => search().recorded.reduce((best, each) =>
  Math.abs(each.alpha - alpha()) < Math.abs(best.alpha - alpha()) ? each : best);

/** Finished hypotheses of the steps up to one, best first. */
function ranking(step) {
  return finished().filter((each) => each.step <= step)
    .map((each) => ({ ...each, score: each.logProb / penalty(each.length) }))
    .sort((a, b) => b.score - a.score);
}

/** The place of the hypothesis to look at: on the way that was chosen, or to what is returned. */
function chosenPlace() {
  const all = rows()[state.step].map((_, place) => piecesOf(state.step, place));
  const best = finished()[nearest().best];
  const returned = piecesOf(best.step, best.parent);
  const begins = (a, b) => a.every((piece, index) => index >= b.length || piece === b[index]);
  for (const path of [state.path, returned].filter(Boolean)) {
    const place = all.findIndex((tokens) => begins(tokens, path));
    if (place >= 0) return place;
  }
  return 0;
}

// ---- Attention ----

function softmax(numbers) {
  const most = Math.max(...numbers);
  const powers = numbers.map((number) => Math.exp(number - most));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/** From 1 over the root of d_k, in the middle, to twice the root. */
function divisor() {
  const place = Number(element("divisor").value);
  return place < MIDDLE ? root ** (place / MIDDLE) : root * 2 ** ((place - MIDDLE) / MIDDLE);
}

/** The weights of one head, or the mean of all if `head` is their number. */
function weightsOf(row) {
  const chosen = state.head < heads ? [state.head] : [...Array(heads).keys()];
  const each = chosen.map((head) => {
    if (isOff(state.layer, head)) return Array(S).fill(0);
    const start = ((row * layers + state.layer) * heads + head) * S;
    const { low, span } = record.scores;
    return softmax([...scores.subarray(start, start + S)].map((whole) => (low + whole * span / 65535) / divisor()));
  });
  return source.map((_, place) => sum(each.map((weights) => weights[place])) / each.length);
}

const entropyOf = (weights) => -sum(weights.map((weight) => (weight > 0 ? weight * Math.log(weight) : 0)));

// ---- Drawing ----

function draw() {
  const { alpha: recorded, steps: count } = nearest();
  state.step = Math.max(0, Math.min(state.step, count - 1));
  const place = chosenPlace();
  element("beams-value").value = search().beams;
  element("beams").setAttribute("aria-valuetext", plural(search().beams, "beam"));
  element("alpha-value").value = alpha().toFixed(2);
  const exact = Math.abs(recorded - alpha()) < 1e-9;
  const others = search().recorded.map((each) => each.alpha).join(", ");
  element("recorded").textContent =
    `Shown: the search recorded with ${plural(search().beams, "beam")} and α = ${recorded}, over after ${plural(count, "step")}. ` +
    (exact ? "" : `What it finished is ranked by α = ${alpha().toFixed(2)}; a search with that α may end earlier or later. `) +
    `Recorded: α = ${others}.`;
  Object.assign(element("step"), { max: count, value: state.step + 1 });
  element("step-value").value = `${state.step + 1} of ${count}`;
  element("step").setAttribute("aria-valuetext", `step ${state.step + 1} of ${count}`);
  for (const id of ["first", "back"]) element(id).disabled = state.step === 0;
  for (const id of ["forward", "last"]) element(id).disabled = state.step === count - 1;
  if (document.activeElement?.disabled) element("play").focus(); // else the focus would be lost
  drawStatus(count);
  drawTree(place);
  drawCandidates();
  drawFinished(count);
  drawAttention(place);
  drawCache(place);
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function drawStatus(count) {
  const { candidates } = search().steps[state.step];
  const fates = [0, 1, 2].map((fate) => candidates.filter((each) => each[3] === fate).length);
  const over = state.step === count - 1 ? " The search is over." : "";
  element("status").textContent =
    `Step ${state.step + 1}: ${plural(rows()[state.step].length, "live hypothesis").replace("hypothesiss", "hypotheses")}, ` +
    `${plural(candidates.length, "candidate")}; living on: ${fates[0]}, finishing: ${fates[1]}, dropped: ${fates[2]}.${over}`;
}

function drawTree(place) {
  const tree = element("tree");
  const hadFocus = tree.contains(document.activeElement) && document.activeElement !== tree;
  const columns = search().beams + 1;
  const own = lineage(state.step, place);
  const ends = finished();
  const lines = [];
  const line = (from, to, row, className) => lines.push({ className, from: (from + 0.5) / columns, to: (to + 0.5) / columns, row });
  const shown = rows().slice(0, state.step + 2).map((row, step) => {
    const cells = row.map((hypothesis, at) => {
      const isOwn = own[step] === at;
      if (step) line(hypothesis.parent, at, step, isOwn ? "path" : "");
      return treeCell(hypothesis, step, at, isOwn);
    });
    const ended = ends.filter((end) => end.step === step - 1);
    ended.forEach((end) => line(end.parent, columns - 1, step, "ends"));
    const shownRow = styled("div", { className: step === state.step ? "row now" : "row" }, ...cells, ...endCell(ended, columns));
    shownRow.style.setProperty("--columns", columns);
    return shownRow;
  });
  const svg = drawn("svg", { viewBox: `0 0 100 ${shown.length * 100}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.style.height = `calc(${shown.length} * var(--row))`;
  lines.sort((a, b) => (a.className === "path") - (b.className === "path"));
  for (const { className, from, to, row } of lines) {
    const [start, end] = [row * 100 - 12, row * 100 + 12]; // the gap between the cells of two rows
    svg.append(drawn("path", { class: className, d: `M${from * 100},${start} C${from * 100},${start + 14} ${to * 100},${end - 14} ${to * 100},${end}` }));
  }
  tree.replaceChildren(svg, ...shown);
  element("columns").replaceChildren(...numbered(columns - 1).map((beam) => node("span", beam)), node("span", "finished"));
  element("columns").style.setProperty("--columns", columns);
  if (hadFocus) tree.querySelector(".chosen")?.focus({ preventScroll: true });
  const bottom = shown.at(-1).offsetTop + shown.at(-1).offsetHeight;
  tree.scrollTop = bottom - tree.clientHeight;
}

/** The cell of the hypotheses that finish in a step, if there are any, in the last column. */
function endCell(ended, columns) {
  if (!ended.length) return [];
  const best = Math.max(...ended.map(({ logProb }) => logProb));
  const cell = styled("div", { className: "cell ended", title: ended.map(({ text }) => text).join("\n") },
    node("span", ended.length > 1 ? `${ended.length} × </s>` : "</s>"), node("small", signed(best)));
  cell.style.gridColumn = columns;
  return [cell];
}

function treeCell({ piece, logProb }, step, place, isOwn) {
  const chosen = isOwn && step === state.step;
  const goesOn = step > state.step || search().steps[step].candidates.some(([beam, , , fate]) => beam === place && fate !== 2);
  const classes = ["cell", isOwn && "path", chosen && "chosen", !goesOn && "dead"].filter(Boolean);
  const cell = styled("button", { type: "button", className: classes.join(" ") },
    styled("span", { dir: "auto" }, piece), node("small", signed(logProb)));
  cell.title = piece;
  cell.tabIndex = chosen ? 0 : -1;
  cell.setAttribute("aria-pressed", chosen);
  cell.setAttribute("aria-label", `${piece} ${signed(logProb)}, piece and log-probability of beam ${place + 1} of step ${step + 1}${goesOn ? "" : ", not continued"}`);
  cell.addEventListener("click", () => choose(step, place));
  return cell;
}

function drawCandidates() {
  let place = 0;
  const lines = search().steps[state.step].candidates.map(([beam, piece, logProb, fate]) => {
    const then = fate === LIVES ? `lives on as ${place += 1}` : fate === FINISHES ? "finishes" : "is dropped";
    const line = tableRow([String(beam + 1), node("bdi", pieces[piece]), signed(logProb, 3), then], [0, 2]);
    line.className = ["", "ends", "dropped"][fate];
    return line;
  });
  element("candidates").tBodies[0].replaceChildren(...lines);
}

function tableRow(contents, numbers) {
  return node("tr", ...contents.map((content, index) =>
    styled("td", { className: numbers.includes(index) ? "number" : "" }, content)));
}

function drawFinished(count) {
  const ranked = ranking(state.step);
  element("finished-title").textContent = `Finished so far, ranked with α = ${alpha().toFixed(2)}`;
  const lines = ranked.map(({ text, logProb, length, score }) =>
    tableRow([node("bdi", text), signed(logProb, 3), String(length), signed(score, 3)], [1, 2, 3]));
  lines[0]?.classList.add("best");
  if (!lines.length) {
    const none = styled("td", { colSpan: 4 }, "none yet");
    lines.push(node("tr", none));
  }
  element("finished").tBodies[0].replaceChildren(...lines);
  const live = rows()[state.step + 1][0];
  const hope = live && live.logProb / penalty(longest);
  element("hope").textContent = !live
    ? "No hypothesis lives on."
    : `The best live hypothesis has ${signed(live.logProb, 3)}. If all that follows were certain, up to ${longest} pieces, its score would be ` +
      `${signed(hope, 3)}${ranked.length ? (hope > ranked[0].score ? ": it may still win, so a search goes on." : ": it cannot win any more, so a search ends.") : "."}`;
}

function drawAttention(place) {
  const tokens = piecesOf(state.step, place);
  element("chosen").replaceChildren("Having written ", tokens.length ? node("b", node("bdi", textOf(tokens))) : "nothing", ", it looks here for the next piece:");
  const weights = weightsOf(rows()[state.step][place].scores);
  element("weights").replaceChildren(...weights.map((weight, index) => {
    const bar = styled("span", { className: "bar" });
    bar.style.setProperty("--weight", weight);
    return node("li", styled("span", { className: "word", dir: "auto", title: source[index] }, source[index]), bar,
      styled("span", { className: "number" }, weight.toFixed(3)));
  }));
  const value = `${divisor().toFixed(2)}${Number(element("divisor").value) === MIDDLE && !record.divisor ? ` = √${record.keyDim}` : ""}`;
  element("divisor-value").value = value;
  element("divisor").setAttribute("aria-valuetext", value);
  element("entropy").textContent = `Entropy of these weights, which measures how evenly they are spread: ${entropyOf(weights).toFixed(3)} nats, between 0 (all on one piece) and ln ${S} = ${Math.log(S).toFixed(3)} (the same everywhere).`;
}

function drawCache(place) {
  const steps = nearest().steps;
  const { beams } = search();
  const own = lineage(state.step, place);
  grid("memory", S, S, 1, () => "kept", `Keys and values of ${S} source positions, all computed before the first step.`);
  const positions = state.step + 1;
  grid("written", steps, S, beams, (column, row) =>
    column > state.step || row >= rows()[column].length ? "" : own[column] === row ? "own" : "kept",
  `Keys and values of ${positions} of ${steps} positions, ${plural(beams, "slot")} each; those of the chosen hypothesis are marked.`);
  element("written-title").textContent = "Target: one column per step, one row per beam; the slots that the chosen hypothesis has come through are marked";
  const slots = positions * beams;
  const numbers = layers * record.cacheWidth * (S + slots);
  element("size").textContent =
    `${plural(layers, "layer")} × (${S} source positions + ${positions} × ${beams} slots) × ${record.cacheWidth} numbers = ${numbers.toLocaleString("en")} numbers.`;
}

/** A grid of squares; all grids have squares of one size as long as they fit. */
function grid(id, columns, least, lines, classOf, label) {
  const width = Math.max(columns, least, 20);
  const svg = element(id);
  svg.setAttribute("viewBox", `-0.05 -0.05 ${width + 0.1} ${lines + 0.1}`);
  svg.setAttribute("aria-label", label);
  const squares = [];
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < lines; row += 1) {
      squares.push(drawn("rect", { x: column + 0.08, y: row + 0.08, width: 0.84, height: 0.84, class: classOf(column, row) }));
    }
  }
  svg.replaceChildren(...squares);
}

// ---- What the reader does ----

function choose(step, place) {
  state.path = piecesOf(step, place);
  goTo(step);
}

function goTo(step) {
  state.step = step;
  draw();
}

function chooseNeighbour(by) {
  const count = rows()[state.step].length;
  choose(state.step, (chosenPlace() + by + count) % count);
}

function play(wanted) {
  clearInterval(state.timer);
  state.timer = wanted ? setInterval(tick, SECOND) : 0;
  element("play").textContent = wanted ? "Pause" : "Play";
}

function tick() {
  if (state.step >= nearest().steps - 2) play(false);
  goTo(state.step + 1);
}

function drawLayersAndHeads() {
  choices("layers", numbered(layers), (index) => index === state.layer, (index) => { state.layer = index; drawLayersAndHeads(); draw(); });
  choices("heads", [...numbered(heads), ...(heads > 1 ? ["mean"] : [])], (index) => index === state.head, (index) => { state.head = index; drawLayersAndHeads(); draw(); });
}

function begin() {
  document.title = element("title").textContent = record.title;
  element("title").classList.toggle("unseen", record.isTitled === false);
  element("offset").textContent = offset;
  element("offset-and-one").textContent = offset + 1;
  const { beams: wantedBeams = 4, alpha: wantedAlpha = 0.6 } = record.chosen ?? {}; // else the paper's
  state.search = Math.max(0, searches.findIndex(({ beams }) => beams === wantedBeams));
  const alphas = searches.flatMap(({ recorded }) => recorded.map((each) => each.alpha));
  const onGrid = alphas.every((each) => Math.abs(each / ALPHA_STEP - Math.round(each / ALPHA_STEP)) < 1e-9);
  const first = alphas.find((each) => each === wantedAlpha) ?? alphas[0];
  Object.assign(element("alpha"), { min: 0, max: Math.max(LARGEST_ALPHA, ...alphas), step: onGrid ? ALPHA_STEP : 0.001 });
  element("alpha").value = first;
  Object.assign(element("beams"), { min: 0, max: searches.length - 1, step: 1 });
  element("beams").value = state.search;
  element("beams").closest("label").hidden = searches.length < 2;
  Object.assign(element("step"), { min: 1, step: 1 });
  if (heads === 1) state.head = 0; // the mean of one head is that head
  drawLayersAndHeads();
  draw();
}

element("beams").addEventListener("input", ({ target }) => {
  state.search = Number(target.value);
  draw();
});
element("alpha").addEventListener("input", draw);
element("divisor").addEventListener("input", draw);
element("step").addEventListener("input", ({ target }) => { play(false); goTo(Number(target.value) - 1); });
for (const [id, goal] of Object.entries({
  first: () => 0, back: () => state.step - 1, forward: () => state.step + 1, last: () => nearest().steps - 1,
})) element(id).addEventListener("click", () => { play(false); goTo(goal()); });
element("play").addEventListener("click", () => {
  if (!state.timer && state.step === nearest().steps - 1) goTo(0);
  play(!state.timer);
});
document.addEventListener("keydown", (event) => {
  if (event.target instanceof HTMLInputElement || event.ctrlKey || event.altKey || event.metaKey) return;
  const action = {
    ArrowLeft: () => goTo(state.step - 1), ArrowRight: () => goTo(state.step + 1),
    ArrowUp: () => chooseNeighbour(-1), ArrowDown: () => chooseNeighbour(1),
    Home: () => goTo(0), End: () => goTo(nearest().steps - 1),
  }[event.key];
  if (!action) return;
  event.preventDefault();
  play(false);
  action();
});
begin();
tellHeight();
