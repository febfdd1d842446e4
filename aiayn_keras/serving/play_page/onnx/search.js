/**
 * Beam search as in `aiayn_keras/decoding/beam_search.py` (paper 6.1; GNMT, https://arxiv.org/abs/1609.08144,
 * section 7), for one sentence and several exponents α at once: α has no part in which hypotheses live.
 */

export const [LIVES, FINISHES, IS_DROPPED] = [0, 1, 2]; // fates of a candidate
export const EXTRA_LENGTH = 50; // pieces that a translation may have more than its source (paper 6.1)

/** `((offset + length) / (offset + 1))^α`, by which a log-probability is divided. */
export const lengthPenalty = (length, alpha, offset) => ((offset + length) / (offset + 1)) ** alpha;

/** The logarithm of softmax's denominator. */
export function logNormalizer(logits) {
  let most = -Infinity;
  for (const logit of logits) if (logit > most) most = logit;
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - most);
  return most + Math.log(total);
}

/**
 * Searches step by step.
 *
 * @param {object} decoder - `await step(tokens, rows)` continues hypotheses: `rows` says from which of the
 *   last step's each comes, null in the first step. It gives `{ logits: [Float32Array], ... }`.
 * @param {object} options - `numBeams`, `alphas`, `offset`, `limit` (pieces at most), `startId`, `endId`,
 *   `forbiddenIds`, and `numResults`, finished hypotheses that are wanted.
 * @yields {object} `{ live, candidates, output }` of every step: live hypotheses `{ ids, logProb }` before it,
 *   candidates `{ beam, id, logProb, fate }`, best first, and what the decoder gave.
 * @returns {object} `finished`, `{ ids, logProb, step }` in the order of ending, and by α `numSteps` and the
 *   `best` hypotheses, best first.
 */
export async function* beamSearch(decoder, options) {
  const { numBeams, alphas, offset = 5, limit, startId, endId, forbiddenIds, numResults = 1 } = options;
  const forbidden = new Set(forbiddenIds);
  const finished = [];
  const running = new Map(alphas.map((alpha) => [alpha, []])); // the best finished ones
  const best = new Map();
  const numSteps = new Map();
  let live = [{ ids: [], logProb: 0 }];
  let rows = null;
  for (let index = 1; running.size; index += 1) {
    const output = await decoder.step(live.map(({ ids }) => ids.at(-1) ?? startId), rows);
    const found = live.map(({ logProb }, beam) => {
      const only = index > limit ? endId : null; // where nothing else is left, the hypothesis ends
      return bestTokens(output.logits[beam], 2 * numBeams, (id) =>
        (only === null ? !forbidden.has(id) && (id !== endId || index > 1) : id === only))
        .map((each) => ({ beam, id: each.id, logProb: logProb + each.logProb }));
    });
    // A stable sort: of equal ones the first beam's and the lower id come first.
    const candidates = found.flat().sort((a, b) => b.logProb - a.logProb).slice(0, 2 * numBeams);
    let places = 0;
    candidates.forEach((each, rank) => {
      if (each.id === endId) each.fate = rank < numBeams ? FINISHES : IS_DROPPED;
      else each.fate = (places += 1) <= numBeams ? LIVES : IS_DROPPED;
    });
    yield { live, candidates, output };
    const ending = candidates.filter(({ fate }) => fate === FINISHES)
      .map(({ beam, logProb }) => ({ ids: live[beam].ids, logProb, step: index - 1 }));
    finished.push(...ending);
    const living = candidates.filter(({ fate }) => fate === LIVES);
    for (const [alpha, kept] of running) {
      const scored = ending.map((each) => ({ ...each, score: each.logProb / lengthPenalty(index, alpha, offset) }));
      const ranked = [...kept, ...scored].sort((a, b) => b.score - a.score).slice(0, numResults);
      running.set(alpha, ranked);
      const possible = living.length ? living[0].logProb / lengthPenalty(limit + 1, alpha, offset) : -Infinity;
      const worst = ranked.length < numResults ? -Infinity : ranked.at(-1).score;
      if (possible > worst && index <= limit) continue;
      best.set(alpha, ranked);
      numSteps.set(alpha, index);
      running.delete(alpha);
    }
    rows = living.map(({ beam }) => beam);
    live = living.map(({ beam, id, logProb }) => ({ ids: [...live[beam].ids, id], logProb }));
  }
  return { finished, best, numSteps };
}

/** The `count` most probable of the tokens that may be chosen; the others keep their probability. */
export function bestTokens(logits, count, mayBeChosen) {
  const normalizer = logNormalizer(logits);
  const best = [];
  for (let id = 0; id < logits.length; id += 1) {
    const logit = logits[id];
    if (best.length === count && logit <= best.at(-1).logit) continue;
    if (!mayBeChosen(id)) continue;
    let place = best.length;
    while (place > 0 && best[place - 1].logit < logit) place -= 1;
    best.splice(place, 0, { id, logit });
    if (best.length > count) best.pop();
  }
  return best.map(({ id, logit }) => ({ id, logProb: logit - normalizer }));
}
