/** Data of the attention explorer and of the page of a search, as `aiayn_keras.plotting` makes them. */

const FULL = 65535; // 16 bits
const KINDS = [
  {
    name: "Encoder self-attention", queries: "source", keys: "source",
    titles: { queries: "Source word looks", keys: "at source word" },
    note: "Every source word looks at all source words.",
  },
  {
    name: "Decoder self-attention", queries: "target", keys: "target",
    titles: { queries: "Target word looks", keys: "at target word" },
    note: "Every target word looks at itself and at those before it.",
  },
  {
    name: "Cross-attention", queries: "written", keys: "source",
    titles: { queries: "To write this, look", keys: "at source word" },
    note: "To write a target word, the decoder looks at the source; it has already read the target words above.",
  },
];

/**
 * Data for the attention explorer.
 * @param {object} words - Lists of pieces: `source`, and `target` as the decoder reads it.
 * @param {object} weights - Layers `{ data, dims }` of the kinds `encoder`, `decoder` and `cross`.
 * @param {boolean} isCausal - Whether target words see only those before them.
 */
export function explorerData(title, words, weights, isCausal) {
  const kinds = [weights.encoder, weights.decoder, weights.cross].map((layers, kind) => {
    const [, heads, rows, columns] = layers[0].dims;
    const all = new Uint16Array(layers.length * layers[0].data.length);
    layers.forEach(({ data }, layer) => all.set(data.map((weight) => Math.round(Math.min(weight, 1) * FULL)), layer * data.length));
    const note = kind === 1 && !isCausal ? "Without the causal mask, every target word looks at all target words." : KINDS[kind].note;
    return { ...KINDS[kind], note, shape: [layers.length, heads, rows, columns], weights: base64(all) };
  });
  return { title, words: { ...words, written: [...words.target.slice(1), "</s>"] }, kinds };
}

/**
 * Data for the page of a search.
 * @param {object} model - `piece(id)`, `decode(ids)`, `numHeads`, `keyDim`, `scoreScale`, `off`, `cacheWidth`, `limit` and `offset`.
 * @param {Array} searches - `{ numBeams, steps, result }`: what `beamSearch` yields and returns.
 */
export function stepsData(title, source, model, searches) {
  const pieces = numbering();
  const scores = numbering();
  const divisor = Math.sqrt(model.keyDim) / model.scoreScale;
  const [heads, layers] = [model.numHeads, searches[0].steps[0].output.cross[0].length];
  const packed = searches.map(({ numBeams, steps, result }) => {
    const keyOf = ({ ids }) => ids.join(" ");
    const order = [...result.best].map(([alpha, ranked]) => [alpha, result.finished.findIndex((each) => keyOf(each) === keyOf(ranked[0]))]);
    const best = new Map(order);
    return {
      beams: numBeams,
      steps: steps.map(({ live, candidates, output }) => ({
        scores: live.map((hypothesis, row) => scores.of(keyOf(hypothesis), output.cross[row])),
        candidates: candidates.map(({ beam, id, logProb, fate }) => [beam, pieces.of(id, model.piece(id)), rounded(logProb), fate]),
      })),
      finished: result.finished.map(({ ids, logProb, step }) => [step, model.decode(ids), ids.length + 1, rounded(logProb)]),
      recorded: [...result.numSteps].sort(([a], [b]) => a - b).map(([alpha, steps_]) => ({ alpha, steps: steps_, best: best.get(alpha) })),
    };
  });
  return {
    title, source, off: model.off, divisor: model.scoreScale === 1 ? null : divisor, longest: model.limit + 1, offset: model.offset, keyDim: model.keyDim, cacheWidth: model.cacheWidth,
    pieces: pieces.values, searches: packed, scores: packScores(scores.values, layers, heads, source.length, divisor),
  };
}

const rounded = (number) => Number(number.toFixed(5));

function numbering() {
  const numbers = new Map();
  const values = [];
  const of = (key, value) => {
    if (!numbers.has(key)) numbers.set(key, values.push(value) - 1);
    return numbers.get(key);
  };
  return { values, of };
}

/** Scores `q · k` that give the weights: `divisor · ln(weight)`, which differ by a constant that softmax ignores. */
function packScores(rows, layers, heads, length, divisor) {
  const least = 1e-9; // weights below it are 0 in the picture
  const all = new Float32Array(rows.length * layers * heads * length);
  rows.flat().forEach((weights, place) => {
    const scores = Float32Array.from(weights, (weight) => divisor * Math.log(Math.max(weight, least)));
    all.set(scores, place * scores.length);
  });
  let [low, high] = [Infinity, -Infinity];
  for (const score of all) [low, high] = [Math.min(low, score), Math.max(high, score)];
  const span = high - low || 1;
  const whole = Uint16Array.from(all, (score) => Math.round(((score - low) / span) * FULL));
  return { shape: [rows.length, layers, heads, length], low, span, values: base64(whole) };
}

function base64(numbers) {
  const bytes = new Uint8Array(numbers.buffer);
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  return btoa(text);
}
