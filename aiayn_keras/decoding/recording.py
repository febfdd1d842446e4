"""A record of a beam search: every step of it, for several numbers of beams and exponents α."""

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from aiayn_keras.backend import begin_computing, take, while_loop
from aiayn_keras.decoding.beam_search import start_search
from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.decoding.scoring import cross_attention_scores
from aiayn_keras.decoding.search_options import with_defaults
from aiayn_keras.decoding.translation_search import TranslationSearch
from aiayn_keras_light.checks import check_function
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
        hypotheses: Wordpieces of the live hypotheses before the step, best first; at
            most W of them, all equally long.
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
        num_steps: Dictionary from an exponent α to the number of steps until the search is over.
        best: Dictionary from an exponent α to the index in `finished` of the hypothesis returned.
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
        length_penalty_offset: The k of `((k + |y|) / (k + 1))^α`, the length penalty that divides a
            log-probability; |y| counts the end token.
        key_dim: Width d_k of a head's queries and keys.
        cache_width: Number of values that the cache keeps for one position in one layer: the keys
            and values of all heads.
    """

    source: str
    source_tokens: tuple[str, ...]
    searches: tuple[RecordedSearch, ...]
    longest: int
    length_penalty_offset: int
    key_dim: int
    cache_width: int


def options_to_record(beam_counts, length_penalties, search_defaults, search_options):
    """Makes the options of `record_search`: each number of beams with each length penalty.

    Args:
        beam_counts: List of numbers of beams.
        length_penalties: List of exponents α.
        search_defaults: Dictionary of the model's own defaults.
        search_options: Dictionary of further fields of `SearchOptions`.

    Raises:
        TypeError: For an unknown option.
        ValueError: If a list is missing or empty, or options are out of range.
    """
    if not all(isinstance(x, Sequence) and x for x in (beam_counts, length_penalties)):
        raise ValueError(
            "`beam_counts` and `length_penalties` must be lists of at least one value each. "
            f"Received: beam_counts={beam_counts}, length_penalties={length_penalties}."
        )
    return [
        [
            with_defaults(
                search_defaults,
                {**search_options, "num_beams": num_beams, "length_penalty": alpha},
            )
            for alpha in length_penalties
        ]
        for num_beams in beam_counts
    ]


def record_search(backbone, tokenizer, source, options, compiled, progress=None):
    """Searches for translations of one text, and keeps every step.

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        source: A string.
        options: List of lists of `SearchOptions`. Those of one list differ in `length_penalty`
            alone; each list has a different `num_beams`.
        compiled: Function of a key and a function of the backbone and of tensors; it compiles that
            function once per key, and returns a function of the tensors that gives NumPy arrays.
        progress: Function called with the number of steps done since its last call; an exception
            from it ends the searches.

    Returns:
        `SearchRecord`.

    Raises:
        TypeError: If `progress` is not a function.
        ValueError: For a text without words, or with more tokens than the model has positions, and
            where no search finds a translation.
    """
    check_function("progress", progress)
    begin_computing(backbone)
    (source_ids,) = tokenize([source], "source", tokenizer, backbone.max_sequence_length)
    if len(source_ids) <= len(tokenizer.source_ids):
        raise ValueError(f"`source` must have words. Received: {source!r}.")
    progress = progress or (lambda num_steps: None)
    inputs = pad_batch([source_ids])
    inputs = *inputs, compiled("encode", _encode)(*inputs)
    traces = [_trace(tokenizer, inputs, each, compiled, progress) for each in options]
    prefixes = {ids for trace in traces for live, _, _ in trace.steps for ids in live}
    start = tokenizer.start_token_id
    scores = _scores_of_prefixes(source_ids, prefixes, start, compiled, progress)
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


class _Steps(NamedTuple):
    """Hypotheses and candidates of every step of a search, which has at most L steps.

    Attributes:
        live_ids: Integer tensor `(L, W, L)`, the live hypotheses before each step, best first.
        live_log_probs: Float32 tensor `(L, W)`, their log-probabilities.
        tokens: Integer tensor `(L, 2W)`, the last tokens of the candidates, best first.
        log_probs: Float32 tensor `(L, 2W)`, the log-probabilities of the candidates.
        beams: Integer tensor `(L, 2W)`, the live hypotheses that they continue.
    """

    live_ids: Any
    live_log_probs: Any
    tokens: Any
    log_probs: Any
    beams: Any


class _EncodedBackbone:
    """A backbone whose source is encoded already, so that no search has to encode it again."""

    def __init__(self, backbone, memory):
        self._backbone, self._memory = backbone, memory

    def __getattr__(self, name):
        return getattr(self._backbone, name)

    def encode(self, *inputs, training):
        """The memory `(1, S, D)`."""
        return self._memory


def _encode(backbone, token_ids, padding_mask):
    return backbone.encode(token_ids, padding_mask, training=False)


def _search(backbone, *tensors, tokenizer, options):
    """Runs the searches of several α together, as they differ only in when they end.

    A pure function of tensors, to be compiled. An α is a tensor as well, so that a new one needs no
    compilation.

    Args:
        backbone: A `TransformerBackbone`.
        *tensors: The one source, integers `(1, S)`; its padding mask `(1, S)`; its memory
            `(1, S, D)`; and each α, a float32 scalar.
        tokenizer: A `TransformerTokenizer`.
        options: `SearchOptions`, whose `length_penalty` is not read.

    Returns:
        `_Steps`; the number of steps `(A,)` and the ids `(A, L)` of the best hypothesis for each α,
        zeros if it does not exist; and the maximum number of tokens between start and end.
    """
    encoder_ids, encoder_mask, memory, *alphas = tensors
    decoder, backbone = freeze_decoder(backbone), _EncodedBackbone(backbone, memory)
    search = TranslationSearch((backbone,), tokenizer, options, (decoder,))
    inputs = search.inputs(*(ops.reshape(x, (1, -1)) for x in (encoder_ids, encoder_mask)))
    with_alpha = [SimpleNamespace(**{**vars(options), "length_penalty": x}) for x in alphas]
    searches, states = zip(
        *(start_search(dataclasses.replace(inputs, options=each)) for each in with_alpha),
        strict=True,
    )
    length, num_beams = ops.shape(inputs.prompt)[1], options.num_beams
    num_steps = ops.zeros((len(alphas),), "int32")
    steps = _Steps(
        live_ids=ops.zeros((length, num_beams, length), "int32"),
        live_log_probs=ops.zeros((length, num_beams)),
        tokens=ops.zeros((length, 2 * num_beams), "int32"),
        log_probs=ops.zeros((length, 2 * num_beams)),
        beams=ops.zeros((length, 2 * num_beams), "int32"),
    )

    def are_unfinished(states):
        return ops.stack([each.is_unfinished(x) for each, x in zip(searches, states, strict=True)])

    def step(states, num_steps, steps):
        num_steps = num_steps + ops.cast(are_unfinished(states), "int32")
        first = states[0]
        state, candidates = searches[0].draw(first)
        tokens = take(candidates.ids, first.index, axis=2)
        new = (first.live_ids, first.live_log_probs, tokens, candidates.log_probs, candidates.beams)
        is_here = ops.equal(ops.arange(length), first.index - 1)
        steps = _Steps(
            *(
                ops.where(ops.reshape(is_here, (-1, *[1] * (len(x.shape) - 1))), x, old)
                for x, old in zip(new, steps, strict=True)
            )
        )
        # A search that is over goes on without effect: nothing can beat what it has found.
        states = tuple(
            each.grow(x._replace(cache=state.cache), candidates)
            for each, x in zip(searches, states, strict=True)
        )
        return states, num_steps, steps

    states, num_steps, steps = while_loop(
        lambda states, *_: ops.any(are_unfinished(states)),
        step,
        (states, num_steps, steps),
        is_small=True,
    )
    best = ops.stack([state.finished_ids[0, 0] for state in states])
    return steps, num_steps, best, inputs.max_lengths[0]


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

    def add(self, live_ids, live_log_probs, tokens, candidate_log_probs, beams, end_token_id):
        """Notes the live hypotheses and the fates of their candidates, a row of `_Steps`."""
        exist, length = np.isfinite(live_log_probs), len(self.steps)
        live = [tuple(ids[1 : length + 1].tolist()) for ids in live_ids[exist]]
        fates, places = [], itertools.count()
        for rank in np.flatnonzero(np.isfinite(candidate_log_probs)):
            if tokens[rank] == end_token_id:
                fate = FINISHES if rank < self.num_beams else _IS_DROPPED
            else:
                fate = LIVES if next(places) < self.num_beams else _IS_DROPPED
            beam, log_prob = int(beams[rank]), float(candidate_log_probs[rank])
            fates.append((beam, int(tokens[rank]), log_prob, fate))
            if fate == FINISHES:
                self.finished[live[beam]] = length, log_prob
        self.steps.append((live, live_log_probs[exist].tolist(), fates))

    def end(self, length_penalty, num_steps, ids):
        """Notes what the search with an exponent α returns."""
        if not ids.any():
            raise ValueError(
                "There is no translation of `source`: `constraint` allows none within "
                "`max_length` and the model's positions, or weights of the model are not finite."
            )
        self.num_steps[length_penalty] = int(num_steps)
        self.best[length_penalty] = tuple(ids[1 : np.count_nonzero(ids) - 1].tolist())


def _trace(tokenizer, inputs, options, compiled, progress):
    """Runs the searches of several α, and notes their steps."""
    shared = dataclasses.replace(options[0], length_penalty=0.0)
    function = functools.partial(_search, tokenizer=tokenizer, options=shared)
    alphas = [np.float32(each.length_penalty) for each in options]
    steps, num_steps, best, max_length = compiled(("record", shared), function)(*inputs, *alphas)
    trace = _Trace(shared.num_beams, int(max_length) + 1)
    for row in zip(*(x[: num_steps.max()] for x in steps), strict=True):
        trace.add(*row, tokenizer.end_token_id)
    for each, count, ids in zip(options, num_steps, best, strict=True):
        trace.end(each.length_penalty, count, ids)
    progress(len(trace.steps))
    return trace


def _stacked_scores(backbone, *tensors):
    """The scores `(B, N, H, T, S)` of all layers, see `cross_attention_scores`."""
    return ops.stack(cross_attention_scores(backbone, *tensors), axis=1)


def _scores_of_prefixes(source_ids, prefixes, start_token_id, compiled, progress):
    """Scores `(N, H, S)` of the last position of every prefix, a dictionary by prefix."""
    inner = {ids[:length] for ids in prefixes for length in range(len(ids))}
    longest = sorted(prefixes - inner, key=len)
    scores_of = compiled("cross_attention_scores", _stacked_scores)
    scores = {}
    for first in range(0, len(longest), ROWS):
        progress(0)
        rows = longest[first : first + ROWS]
        decoder_ids, decoder_mask = pad_batch([[start_token_id, *ids] for ids in rows])
        encoder = (np.repeat(x, len(decoder_ids), axis=0) for x in pad_batch([source_ids]))
        layers = scores_of(*encoder, decoder_ids, decoder_mask)[..., : len(source_ids)]
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
