"""A record of a beam search: every step of it, for several numbers of beams and exponents α."""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from keras import ops

from aiayn_keras.backend import begin_computing
from aiayn_keras.decoding.attention_maps import cross_attention_scores
from aiayn_keras.decoding.beam_search import start_search
from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import TranslationSearch
from aiayn_keras_light.text_batches import pad_batch, tokenize

ROWS = 32
"""Hypotheses whose attention is computed together."""


LIVES, FINISHES, _IS_DROPPED = "lives", "finishes", "is dropped"
"""Fates of a candidate."""


class Candidate(NamedTuple):
    """A continuation of a live hypothesis by one token.

    Attributes:
        beam: Place of the hypothesis among the live ones, from 0.
        token: The wordpiece.
        log_prob: Log-probability of the whole hypothesis with this token, in nats.
        fate: `"lives"`, `"finishes"` or `"is dropped"`.
    """

    beam: int
    token: str
    log_prob: float
    fate: str


@dataclass(frozen=True)
class RecordedStep:
    """One step of a search, which writes one position of every live hypothesis.

    Attributes:
        hypotheses: Wordpieces of the live hypotheses before the step, best first; they are no more
            than the beams, and all of one length.
        log_probs: Their log-probabilities in nats.
        candidates: The best 2·W `Candidate`s, best first.
        scores: Float32 array `(W, N, H, S)`: for each hypothesis' last position and each source
            position, in each layer and head of cross-attention, `q · k` not divided by `√d_k`.
    """

    hypotheses: tuple[tuple[str, ...], ...]
    log_probs: tuple[float, ...]
    candidates: tuple[Candidate, ...]
    scores: np.ndarray


@dataclass(frozen=True)
class FinishedHypothesis:
    """A hypothesis that has ended.

    Attributes:
        step: Index of the step in which it ended.
        text: Its text.
        tokens: Its wordpieces, without the end token.
        log_prob: Its log-probability in nats, the end token included.
    """

    step: int
    text: str
    tokens: tuple[str, ...]
    log_prob: float


@dataclass(frozen=True)
class RecordedSearch:
    """A search with W beams.

    The exponent α does not affect the candidates, nor their survival: it ranks the finished
    hypotheses, and so decides when the search is over.

    Attributes:
        num_beams: Number of beams W.
        steps: The `RecordedStep`s of the longest of the searches that were recorded.
        finished: Every `FinishedHypothesis` of these steps, in the order of ending.
        num_steps: Number of steps after which the search is over, a dictionary by exponent α.
        best: The index in `finished` of what the search returned, a dictionary by exponent α.
    """

    num_beams: int
    steps: tuple[RecordedStep, ...]
    finished: tuple[FinishedHypothesis, ...]
    num_steps: dict[float, int]
    best: dict[float, int]


@dataclass(frozen=True)
class SearchRecord:
    """The searches for translations of one source, step by step.

    Attributes:
        source: The text.
        source_tokens: What the encoder reads, S wordpieces with the end token.
        searches: A `RecordedSearch` for each number of beams.
        longest: Maximum number of wordpieces of a translation, the end token included.
        length_penalty_offset: The k of the length penalty `((k + |y|) / (k + 1))^α`, by which a
            log-probability is divided; |y| counts the end token.
        key_dim: Width d_k of a head's queries and keys.
        cache_width: Numbers that the cache keeps of one position in one layer: the keys and values
            of all heads.
    """

    source: str
    source_tokens: tuple[str, ...]
    searches: tuple[RecordedSearch, ...]
    longest: int
    length_penalty_offset: int
    key_dim: int
    cache_width: int


def options_to_record(beam_counts, length_penalties, search_options):
    """Makes the options of `record_search`: each number of beams with each length penalty.

    Args:
        beam_counts: List of numbers of beams.
        length_penalties: List of exponents α.
        search_options: Dictionary of the other fields of `SearchOptions`.

    Raises:
        ValueError: If a list is empty or none, or options are out of range.
    """
    if not all(isinstance(x, Sequence) and x for x in (beam_counts, length_penalties)):
        raise ValueError(
            "`beam_counts` and `length_penalties` must be lists of at least one value each. "
            f"Received: beam_counts={beam_counts}, length_penalties={length_penalties}."
        )
    return [
        [SearchOptions(num_beams, alpha, **search_options) for alpha in length_penalties]
        for num_beams in beam_counts
    ]


def record_search(backbone, tokenizer, source, options, progress=None):
    """Searches for translations of one text, and keeps every step.

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        source: A string.
        options: List of lists of `SearchOptions`. Those of one list differ in `length_penalty`
            alone; each list has a different `num_beams`.
        progress: Function called with the number of steps done since the call before; an exception
            from it ends the searches.

    Returns:
        `SearchRecord`.

    Raises:
        ValueError: For a text without words, or with more tokens than the model has positions, and
            where no search finds a translation.
    """
    begin_computing()
    (source_ids,) = tokenize([source], "source", tokenizer, backbone.max_sequence_length)
    if len(source_ids) <= len(tokenizer.source_ids):
        raise ValueError(f"`source` must have words. Received: {source!r}.")
    encoder_ids = ops.convert_to_tensor([source_ids], dtype="int32")
    decoder = freeze_decoder(backbone)
    progress = progress or (lambda num_steps: None)
    traces = [_trace(backbone, tokenizer, encoder_ids, each, decoder, progress) for each in options]
    prefixes = {ids for trace in traces for live, _, _ in trace.steps for ids in live}
    start = tokenizer.start_token_id
    scores = _scores_of_prefixes(backbone, source_ids, prefixes, start, progress)
    attention = backbone.decoder_blocks[0].cross_attention
    return SearchRecord(
        source=source,
        source_tokens=tuple(map(tokenizer.id_to_token, source_ids)),
        searches=tuple(_recorded(trace, tokenizer.of_targets(), scores) for trace in traces),
        longest=traces[0].longest,
        length_penalty_offset=options[0][0].length_penalty_offset,
        key_dim=attention.key_dim,
        cache_width=attention.num_heads * (attention.key_dim + attention.value_dim),
    )


class _Trace:
    """The steps of a search with W beams, as token ids.

    Attributes:
        num_beams: Number of beams W.
        longest: Maximum number of tokens of a translation, the end token included.
        steps: List of triples: live hypotheses (tuples of ids), their log-probabilities, and the
            candidates as `(beam, token id, log-probability, fate)`.
        finished: Dictionary of hypotheses that ended, from ids to step and log-probability.
        num_steps: Number of steps, by exponent α.
        best: Ids of what the search returns, by exponent α.
    """

    def __init__(self, num_beams, longest):
        self.num_beams, self.longest = num_beams, longest
        self.steps, self.finished, self.num_steps, self.best = [], {}, {}, {}

    def add(self, state, candidates):
        """Notes the live hypotheses and the fates of their candidates."""
        live_ids, log_probs = (_row(x) for x in (state.live_ids, state.live_log_probs))
        index, exist = int(state.index), np.isfinite(log_probs)
        live = [tuple(ids[1:index].tolist()) for ids in live_ids[exist]]
        fates, places = [], itertools.count()
        ids, candidate_log_probs, beams, is_end = (_row(x) for x in candidates)
        for rank in np.flatnonzero(np.isfinite(candidate_log_probs)):
            if is_end[rank]:
                fate = FINISHES if rank < self.num_beams else _IS_DROPPED
            else:
                fate = LIVES if next(places) < self.num_beams else _IS_DROPPED
            beam, log_prob = int(beams[rank]), float(candidate_log_probs[rank])
            fates.append((beam, int(ids[rank, index]), log_prob, fate))
            if fate == FINISHES:
                self.finished[live[beam]] = len(self.steps), log_prob
        self.steps.append((live, log_probs[exist].tolist(), fates))

    def end(self, length_penalty, state):
        """Notes what the search with an exponent α returns."""
        ids = _row(state.finished_ids)[0]
        if not ids.any():
            raise ValueError(
                "There is no translation of `source`: `constraint` allows none within "
                "`max_length` and the model's positions, or weights of the model are not finite."
            )
        self.num_steps[length_penalty] = len(self.steps)
        self.best[length_penalty] = tuple(ids[1 : np.count_nonzero(ids) - 1].tolist())


def _row(x):
    """The one sentence of a batch, as an array."""
    return ops.convert_to_numpy(x)[0]


def _trace(backbone, tokenizer, encoder_ids, options, decoder, progress):
    """Runs the searches of several α together, as they differ only in when they end."""
    search = TranslationSearch((backbone,), tokenizer, options[0], (decoder,))
    inputs = search.inputs(encoder_ids, ops.ones_like(encoder_ids))
    running = {
        each.length_penalty: start_search(dataclasses.replace(inputs, options=each))
        for each in options
    }
    trace = _Trace(options[0].num_beams, int(inputs.max_lengths[0]) + 1)
    while running:
        search, state = next(iter(running.values()))
        state, candidates = search.draw(state)
        trace.add(state, candidates)
        progress(1)
        for alpha, (search, before) in list(running.items()):
            after = search.grow(before._replace(cache=state.cache), candidates)
            running[alpha] = search, after
            if not search.is_unfinished(after):
                trace.end(alpha, after)
                del running[alpha]
    return trace


def _scores_of_prefixes(backbone, source_ids, prefixes, start_token_id, progress):
    """Scores `(N, H, S)` of the last position of every prefix, a dictionary by prefix."""
    inner = {ids[:length] for ids in prefixes for length in range(len(ids))}
    longest = sorted(prefixes - inner, key=len)
    scores = {}
    for first in range(0, len(longest), ROWS):
        progress(0)
        rows = longest[first : first + ROWS]
        decoder_ids, decoder_mask = pad_batch([[start_token_id, *ids] for ids in rows])
        encoder_ids = np.repeat([source_ids], len(decoder_ids), axis=0)
        layers = cross_attention_scores(
            backbone, encoder_ids, np.ones_like(encoder_ids), decoder_ids, decoder_mask
        )
        layers = np.stack([ops.convert_to_numpy(layer) for layer in layers], axis=1)
        for row, ids in zip(layers, rows, strict=False):  # (N, H, T, S)
            for length in range(len(ids) + 1):
                scores.setdefault(ids[:length], row[:, :, length].copy())
    return scores


def _recorded(trace, tokenizer, scores):
    """A trace in wordpieces."""

    def pieces(ids):
        return tuple(map(tokenizer.id_to_token, ids))

    steps = [
        RecordedStep(
            hypotheses=tuple(map(pieces, live)),
            log_probs=tuple(log_probs),
            candidates=tuple(
                Candidate(beam, tokenizer.id_to_token(token), log_prob, fate)
                for beam, token, log_prob, fate in candidates
            ),
            scores=np.stack([scores[ids] for ids in live]),
        )
        for live, log_probs, candidates in trace.steps
    ]
    special_ids = frozenset(tokenizer.special_token_ids)
    finished = [
        FinishedHypothesis(
            step,
            tokenizer.detokenize([i for i in ids if i not in special_ids]),
            pieces(ids),
            log_prob,
        )
        for ids, (step, log_prob) in trace.finished.items()
    ]
    places = {ids: place for place, ids in enumerate(trace.finished)}
    return RecordedSearch(
        num_beams=trace.num_beams,
        steps=tuple(steps),
        finished=tuple(finished),
        num_steps=trace.num_steps,
        best={alpha: places[ids] for alpha, ids in trace.best.items()},
    )
