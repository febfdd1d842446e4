"""A small language model whose best sequences can be listed, to hold searches to."""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from aiayn_keras.backend import take_in_rows
from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from aiayn_keras.decoding.search_options import SearchOptions
from tests.helpers import B, assert_close

PAD, START, END = 0, 1, 2
V = 6  # three special tokens and the words 3, 4, 5
STATE = 8


class StateCache(NamedTuple):
    """A small cache with all that a search asks of one: float tensor `(B, W, STATE)`."""

    state: Any

    sentences_may_leave = True

    def reorder(self, beams):
        return self._replace(state=take_in_rows(self.state, beams))

    def keep(self, sentences):
        return self._replace(state=ops.take(self.state, sentences, axis=0))

    usual_length = 6

    def with_room(self, length):
        """The sum has room for any number of positions."""
        return self

    def coverage_bonus(self, beta):
        """Not of coverage, but of what the cache has summed up."""
        return -beta * ops.sum(ops.abs(self.state), axis=2)


class StayingCache(StateCache):
    """One whose sentences cannot leave."""

    __slots__ = ()
    sentences_may_leave = False


def beams(num_beams=4, length_penalty=0.6, **options):
    """`SearchOptions` that give as many hypotheses as there are beams, the empty one as well."""
    defaults = {"num_return_sequences": num_beams, "min_length": 0}
    return SearchOptions(num_beams, length_penalty, **{**defaults, **options})


class RandomModel:
    """A language model whose next token depends on the sentence and on every earlier token.

    Its memory of the earlier tokens lives in the cache alone, so that a cache which is not
    reordered along with the hypotheses gives other probabilities.
    """

    def __init__(self, seed, num_sentences=B, end_bias=0.0, vocabulary_size=V):
        random = np.random.default_rng(seed)
        shapes = {
            "initial": (num_sentences, STATE),
            "tokens": (vocabulary_size, STATE),
            "carry": (STATE, STATE),
            "output": (STATE, vocabulary_size),
        }
        for name, shape in shapes.items():
            setattr(self, name, random.normal(size=shape).astype("float32"))
        self.bias = np.zeros(vocabulary_size, "float32")
        self.bias[END] = end_bias
        self.calls = self.rows = 0

    def cache(self, num_beams, cache_type=None):
        initial = ops.convert_to_tensor(self.initial)[:, None]
        return (cache_type or StateCache)(ops.repeat(initial, num_beams, axis=1))

    def next(self, token_ids, cache, index):
        rows = {"state": ops.reshape(cache.state, (-1, STATE))}
        logits, _, rows = self.next_of_rows(token_ids, rows, index)
        state = ops.reshape(rows["state"], (-1, cache.state.shape[1], STATE))
        return logits, None, cache._replace(state=state)

    def next_of_rows(self, token_ids, cache, index):
        """The same for a cache of rows `(B·W, STATE)`, as KerasHub's models have it."""
        self.calls += 1
        self.rows += token_ids.shape[0] or 0
        last = ops.take(token_ids, ops.reshape(index - 1, (1,)), axis=1)[:, 0]
        state = ops.tanh(
            ops.matmul(cache["state"], self.carry) + ops.take(self.tokens, last, axis=0)
        )
        logits = ops.add(ops.matmul(state, self.output), self.bias)
        return logits, state, {"state": state}

    @functools.cache  # noqa: B019
    def log_probs(self, sentence, prefix):
        """NumPy's own: log-probabilities `(V,)` of the token after the tuple `prefix`."""
        state = self.initial[sentence].astype("float64")
        for token in prefix:
            state = np.tanh(state @ self.carry + self.tokens[token])
        logits = state @ self.output + self.bias
        return logits - np.log(np.exp(logits).sum())

    def score(self, sentence, ids):
        """Log-probability of everything after the start token, up to the end token."""
        ids = tuple(int(i) for i in ids)
        ids = ids[: ids.index(END) + 1]
        return sum(self.log_probs(sentence, ids[:t])[ids[t]] for t in range(1, len(ids)))

    def bonus(self, sentence, ids):
        """A score for the test of bonuses: the sum of a hypothesis' last state."""
        state = self.initial[sentence].astype("float64")
        for token in ids[:-1]:
            state = np.tanh(state @ self.carry + self.tokens[token])
        return -np.abs(state).sum()

    def finished(self, sentence, num_beams, max_length, may_be=lambda ids: True):
        """All that a search with plain lists finishes: log-probability and tokens.

        `may_be` says which tuples of tokens may be, finished or not.
        """
        live, finished = [(0.0, (START,))], []
        for index in range(1, max_length + 2):
            candidates = sorted(
                (
                    (log_prob + self.log_probs(sentence, ids)[token], (*ids, token))
                    for log_prob, ids in live
                    for token in range(len(self.bias))
                    if (token == END or index <= max_length) and may_be((*ids, token))
                ),
                reverse=True,
            )[: 2 * num_beams]
            finished += [pair for pair in candidates[:num_beams] if pair[1][-1] == END]
            live = [pair for pair in candidates if pair[1][-1] != END][:num_beams]
        return finished

    def search(
        self,
        options,
        length,
        prompt=None,
        mask=None,
        max_lengths=None,
        forbidden_token_ids=(),
        cache_type=StateCache,
        **rules,
    ):
        if prompt is None:
            prompt = np.zeros((len(self.initial), length), "int32")
            prompt[:, 0] = START
            mask = prompt == START
        inputs = SearchInputs(
            self.next,
            self.cache(options.num_beams, cache_type),
            ops.convert_to_tensor(prompt),
            ops.convert_to_tensor(mask),
            options,
            END,
            max_lengths=None if max_lengths is None else ops.convert_to_tensor(max_lengths),
            forbidden_token_ids=forbidden_token_ids,
            **rules,
        )
        ids, log_probs = beam_search(inputs)
        return ops.convert_to_numpy(ids), ops.convert_to_numpy(log_probs)


def penalized(log_prob, num_tokens, alpha, offset=5):
    return log_prob / ((offset + num_tokens) / (offset + 1)) ** alpha


def all_sequences(model, sentence, alpha, max_length, prefix=(START,), forbidden=(), offset=5):
    """Every possible hypothesis, best first: score, log-probability, tokens."""
    words = [token for token in range(V) if token not in (END, *forbidden)]
    found = []
    for num_words in range(max_length - len(prefix) + 2):
        for rest in itertools.product(words, repeat=num_words):
            ids = (*prefix, *rest, END)
            log_prob = model.score(sentence, ids)
            found.append((penalized(log_prob, len(ids) - 1, alpha, offset), log_prob, ids))
    return sorted(found, reverse=True)


def beam_search_on_paper(model, sentence, num_beams, alpha, max_length, offset=5, **limits):
    """The same search with lists, one sentence at a time, that never stops before the limit."""
    finished = [
        (penalized(log_prob, len(ids) - 1, alpha, offset), log_prob, ids)
        for log_prob, ids in model.finished(sentence, num_beams, max_length, **limits)
    ]
    return sorted(finished, reverse=True)[:num_beams]


def assert_nothing(ids, log_probs):
    """Hypotheses that do not exist."""
    np.testing.assert_array_equal(log_probs, -np.inf)
    np.testing.assert_array_equal(ids, 0)


def same_hypotheses(ids, log_probs, expected):
    """Compare one sentence's result `(W, L)` and `(W,)` with a list of hypotheses."""
    tokens = [tuple(row[: list(row).index(END) + 1].tolist()) for row in ids[: len(expected)]]
    assert tokens == [ids for _, _, ids in expected]
    assert_close(log_probs[: len(expected)], [log_prob for _, log_prob, _ in expected], 1e-4, 1e-5)
