"""A record of searches with plain lists, in a language whose probabilities are drawn by chance."""

import functools

import numpy as np

from aiayn_keras.decoding.recording import (
    Candidate,
    FinishedHypothesis,
    RecordedSearch,
    RecordedStep,
    SearchRecord,
)

N, H, KEY_DIM, END = 2, 3, 16, "</s>"
MAX_WORDS = 6


class Language:
    """Draws the probabilities of the next word, and scores of attention, for every beginning."""

    def __init__(self, words, num_sources):
        self.random = np.random.default_rng(4)
        self.words, self.num_sources = (*words, END), num_sources

    @functools.cache  # noqa: B019
    def log_probs(self, beginning):
        logits = self.random.normal(size=len(self.words))
        return logits - np.log(np.exp(logits).sum())

    @functools.cache  # noqa: B019
    def scores(self, beginning):
        return self.random.normal(size=(N, H, self.num_sources)).astype("float32") * 4

    def search(self, num_beams, alphas):
        """Goes on to the end, and looks afterwards when each exponent's search was over."""
        live, steps, finished = [(0.0, ())], [], []
        for step in range(MAX_WORDS + 1):
            drawn = sorted(
                (
                    (log_prob + float(each), beam, word)
                    for beam, (log_prob, words) in enumerate(live)
                    for each, word in zip(self.log_probs(words), self.words, strict=True)
                    if (word == END) or step < MAX_WORDS
                ),
                reverse=True,
            )[: 2 * num_beams]
            following, candidates = [], []
            for rank, (log_prob, beam, word) in enumerate(drawn):
                words = live[beam][1]
                fate = "is dropped"
                if word == END and rank < num_beams:
                    fate = "finishes"
                    text = "".join(words).replace("▁", " ").strip()
                    finished.append(FinishedHypothesis(step, text, words, log_prob))
                elif word != END and len(following) < num_beams:
                    fate = "lives"
                    following.append((log_prob, (*words, word)))
                candidates.append(Candidate(beam, word, log_prob, fate))
            steps.append(
                RecordedStep(
                    hypotheses=tuple(words for _, words in live),
                    log_probs=tuple(log_prob for log_prob, _ in live),
                    candidates=tuple(candidates),
                    scores=np.stack([self.scores(words) for _, words in live]),
                )
            )
            live = following
            if not live:
                break
        endings = {alpha: self.ending(steps, finished, alpha) for alpha in alphas}
        count = max(num_steps for num_steps, _ in endings.values())
        return RecordedSearch(
            num_beams=num_beams,
            steps=tuple(steps[:count]),
            finished=tuple(each for each in finished if each.step < count),
            num_steps={alpha: num_steps for alpha, (num_steps, _) in endings.items()},
            best={alpha: best for alpha, (_, best) in endings.items()},
        )

    def ending(self, steps, finished, alpha):
        """The number of steps, and the index of the best finished hypothesis."""
        for step, (_, following) in enumerate(zip(steps, [*steps[1:], None], strict=True)):
            scored = [
                (score(each, alpha), -index)
                for index, each in enumerate(finished)
                if each.step <= step
            ]
            hope = following and following.log_probs[0] / penalty(MAX_WORDS + 1, alpha)
            if scored and (hope is None or hope <= max(scored)[0]):
                return step + 1, -max(scored)[1]
        raise AssertionError("no hypothesis has finished")


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def score(finished, alpha):
    """The score of a `FinishedHypothesis`."""
    return finished.log_prob / penalty(len(finished.tokens) + 1, alpha)


def random_record(
    source_tokens, words=("▁eins", "▁zwei", "drei"), beam_counts=(1, 2, 4), alphas=(0.0, 0.6, 2.0)
):
    """A `SearchRecord` of a source, and of a language of some words."""
    language = Language(words, len(source_tokens))
    return SearchRecord(
        source=" ".join(source_tokens),
        source_tokens=tuple(source_tokens),
        searches=tuple(language.search(count, alphas) for count in beam_counts),
        longest=MAX_WORDS + 1,
        length_penalty_offset=5,
        key_dim=KEY_DIM,
        cache_width=2 * H * KEY_DIM,
    )
