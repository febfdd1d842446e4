"""The search of a batch by CTranslate2 (https://opennmt.net/CTranslate2), on CPUs."""

import contextlib
import importlib.util
import os

import numpy as np

from aiayn_keras_light.search_numbers import length_penalty
from aiayn_keras_light.translating import SMALL_HIDDEN_DIM
from aiayn_keras_light.usable_cores import usable_cores

COMPUTE_TYPES = {"ctranslate2": "float32", "ctranslate2-int8": "int8"}
"""Numbers that CTranslate2 computes with, by the name of the engine."""
AUTOMATIC = ("ctranslate2",)
"""The engines that `"auto"` may choose."""
_PATIENCE = 2
"""Finished hypotheses that end a search, as a multiple of the beams. Ours stops when nothing better
can follow; with 1, CTranslate2 stops too early in 1 % of sentences."""
_PATIENCE_OF_SEVERAL = 4
"""`_PATIENCE` if several translations are wanted. With 2, one of four was missed for 7 of 1,500
single words, whose many short translations end a search early; with 4, none was missed."""
_LONG_PATIENCE = 8
"""`_PATIENCE` of a second search if the first may have ended too early: the best translations are
among the last that were found, or a part is repeated, as in "hahahaha", whose translations may
improve with length. That is one sentence in 400, and one in 25 if several translations are wanted.
"""
_REPEATS = 3
_MAX_PERIOD = 3
"""A part counts as repeated if up to `_MAX_PERIOD` tokens occur `_REPEATS` times in a row."""
_NEARLY_ZERO = 1e-7
"""CTranslate2's α for a search that goes on until its patience ends: with 0, it stops as soon as
nothing can have a higher log-probability than the best."""
_MAX_LENGTH_PENALTY = 1.0
"""Up to this α, CTranslate2 has finished the winning hypothesis by the time it stops."""
_SPINS = "1000"
"""Turns of a waiting thread's loop before it sleeps: some microseconds. They slow an idle machine
by 4 % (https://gcc.gnu.org/onlinedocs/libgomp/GOMP_005fSPINCOUNT.html)."""
_MIN_ROWS = 4
"""Minimum number of sentences that are divided among the cores."""

_ROWS_PER_SENTENCE = 8
"""Roughly how many rows our own search translates in a batch in the time of a single sentence."""


def is_installed():
    """Returns whether CTranslate2 is installed."""
    return importlib.util.find_spec("ctranslate2") is not None


def obstacle(numbers):
    """Says why CTranslate2 cannot do a search with these `SearchNumbers`; None if it can.

    Returns:
        The reason, to follow "the engine cannot be used: ".
    """
    if numbers.coverage_penalty:
        return "its coverage penalty is not GNMT's: `coverage_penalty` must be 0"
    if numbers.no_repeat_ngram_size:
        return "it would forbid other tokens: `no_repeat_ngram_size` must be 0"
    if numbers.min_length > 1:
        return "it would spread the probability of an early end: `min_length` must be 0 or 1"
    if numbers.num_beams == 1 and numbers.length_penalty:
        return "it stops at the first end: with one beam, `length_penalty` must be 0"
    if numbers.length_penalty > _MAX_LENGTH_PENALTY:
        return f"it may stop too early: `length_penalty` must be at most {_MAX_LENGTH_PENALTY:g}"
    return None


class CTranslate2Search:
    """CTranslate2's hypotheses, ranked and checked so that they are those of our own search.

    Both searches keep the same live hypotheses, since these do not depend on length penalties.
    CTranslate2 returns all finished hypotheses, which are ranked here, by our length penalty.
    Sentences that CTranslate2 would treat differently are left to our search: those with a prefix
    or an unknown token; those that reach their maximum length; those that would be translated by a
    token that may not be chosen (unknown, padding or start); and those whose best translation is
    among the last that were found, so that a better one might follow.

    Args:
        tokenizer: A `PieceTokenizer` or a `TransformerTokenizer`.
        hidden_dim: Width of the model.
        compute_type: Numbers to compute with, a value of `COMPUTE_TYPES`.
        translate_batch: Function `(cores per batch, number of cores, sources, **options)` that
            calls `ctranslate2.Translator.translate_batch` of a translator that gives each batch
            that many cores.
    """

    def __init__(self, tokenizer, hidden_dim, compute_type, translate_batch):
        self._translate_batch = translate_batch
        # Cores that share the few rows of a sentence wait for each other longer than they compute.
        self._is_for_one_core = hidden_dim <= SMALL_HIDDEN_DIM or compute_type == "int8"
        self._pieces = tokenizer.get_vocabulary()
        targets = tokenizer.of_targets().get_vocabulary()
        self._ids = {piece: i for i, piece in enumerate(targets)}
        self._num_ends, self._start_id = len(tokenizer.source_ids), tokenizer.start_token_id
        self._end_id, self._unknown_id = tokenizer.end_token_id, tokenizer.unk_token_id
        self._forbidden = {tokenizer.pad_token_id, self._unknown_id, self._start_id}

    def find(self, numbers, own_find, *arrays):
        """Searches for the translations of a batch.

        Args:
            numbers: `SearchNumbers`.
            own_find: Our own search, for sentences that CTranslate2 would treat differently: a
                function of `arrays`.
            *arrays: NumPy arrays as `translate_in_batches` gives them.

        Returns:
            Token ids `(B, N, L)` and log-probabilities `(B, N)`.
        """
        token_ids, mask, prompts, limits, _ = arrays
        lengths = mask.sum(axis=1) - self._num_ends
        rows = [tuple(row[:n]) for row, n in zip(token_ids.tolist(), lengths, strict=True)]
        is_own = (prompts[:, 1] != 0) | [self._unknown_id in row for row in rows]
        # Rows that fill up a batch repeat one.
        distinct = {row: None for row, own in zip(rows, is_own, strict=True) if not own}
        longest = max(limits.tolist())
        is_ranked = numbers.length_penalty > 0 or numbers.num_return_sequences > 1
        if distinct:
            patience = _PATIENCE if is_ranked else 1
            if numbers.num_return_sequences > 1:
                patience = _PATIENCE_OF_SEVERAL
            distinct = self._search(list(distinct), numbers, longest, patience)
            early = [
                row
                for row, finished in distinct.items()
                if is_ranked and _may_be_early(row, finished, numbers)
            ]
            if early:
                distinct |= self._search(early, numbers, longest, _LONG_PATIENCE)
        num_found, width = numbers.num_return_sequences, prompts.shape[1]
        ids = np.zeros((len(rows), num_found, width), "int32")
        log_probs = np.full((len(rows), num_found), -np.inf, "float32")
        for i, row in enumerate(rows):
            if not is_own[i]:
                is_own[i] = not self._read(distinct[row], limits[i], numbers, ids[i], log_probs[i])
        left = np.flatnonzero(is_own)
        if len(left) > max(1, len(rows) // _ROWS_PER_SENTENCE):
            own_ids, own_log_probs = own_find(*arrays)
            ids[left], log_probs[left] = own_ids[left], own_log_probs[left]
            return ids, log_probs
        for i in left:
            one = (array if array.ndim == 0 else array[i : i + 1] for array in arrays)
            ids[i], log_probs[i] = (each[0] for each in own_find(*one))
        return ids, log_probs

    def _search(self, rows, numbers, max_length, patience):
        """Searches for translations; returns a dictionary from rows to what `_rank` gives."""
        num_cores, is_batch = usable_cores(), len(rows) >= _MIN_ROWS
        is_ranked = patience > 1
        found = self._translate_batch(
            1 if is_batch or self._is_for_one_core else num_cores,
            num_cores,
            [[self._pieces[i] for i in row] for row in rows],
            max_batch_size=-(-len(rows) // num_cores) if is_batch else 0,
            beam_size=numbers.num_beams,
            num_hypotheses=patience * numbers.num_beams if is_ranked else 1,
            patience=patience,
            length_penalty=_NEARLY_ZERO if is_ranked else 0,
            min_decoding_length=0,  # more would change the scores
            max_decoding_length=max_length + 1,
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
        )
        return {row: self._rank(result, numbers) for row, result in zip(rows, found, strict=True)}

    def _rank(self, result, numbers):
        """The finished hypotheses of a sentence as `(score over penalty, token ids)`, best first.

        The list is empty if the search was cut off.
        """
        finished = []
        for pieces, score in zip(result.hypotheses, result.scores, strict=True):
            found = [self._ids[piece] for piece in pieces]
            if not found or found[-1] != self._end_id:
                return []
            if len(found) > numbers.min_length:
                score /= length_penalty(len(found), numbers)
                finished.append((score, found))
        return sorted(finished, key=lambda scored: -scored[0])

    def _read(self, finished, limit, numbers, ids, log_probs):
        """Fills in the hypotheses of a sentence; returns False if they may differ from ours."""
        best = finished[: numbers.num_return_sequences]
        if len(best) < numbers.num_return_sequences or _may_go_on(finished, best):
            return False
        for n, (score, found) in enumerate(best):
            if len(found) > limit or self._forbidden.intersection(found):
                return False
            ids[n, 0] = self._start_id
            ids[n, 1 : len(found) + 1] = found
            log_probs[n] = score * length_penalty(len(found), numbers)
        return True


def _may_be_early(row, finished, numbers):
    """True if CTranslate2 may have stopped too early for a sentence."""
    return (
        _repeats_part(row)
        or any(_repeats_part(found) for _, found in finished)
        or _may_go_on(finished, finished[: numbers.num_return_sequences])
    )


def _may_go_on(finished, best):
    """True if not all hypotheses are equally long, and one of the best is among the longest."""
    lengths = {len(found) for _, found in finished}
    return len(lengths) > 1 and any(len(found) == max(lengths) for _, found in best)


def _repeats_part(ids):
    """True if a tuple or list of token ids has a part that is repeated often enough.

    Example:
        >>> _repeats_part([5, 7, 8, 7, 8, 7, 8]), _repeats_part([5, 5, 6, 5, 5])
        (True, False)
    """
    for period in range(1, _MAX_PERIOD + 1):
        part = _REPEATS * period
        for start in range(len(ids) - part + 1):
            if ids[start : start + part - period] == ids[start + period : start + part]:
                return True
    return False


def open_translator(folder, compute_type, cores_per_batch, num_cores):
    """Opens a CTranslate2 model.

    Args:
        folder: Path of the model, a folder.
        compute_type: Numbers to compute with, a value of `COMPUTE_TYPES`.
        cores_per_batch: Number of cores that search for a batch.
        num_cores: Number of cores that search.

    Returns:
        A `ctranslate2.Translator`.

    Raises:
        RuntimeError: If the folder does not hold a model.
    """
    return load_ctranslate2().Translator(
        str(folder),
        compute_type=compute_type,
        inter_threads=num_cores // cores_per_batch,
        intra_threads=cores_per_batch,
    )


def load_ctranslate2():
    """Returns the module `ctranslate2`, whose waiting threads sleep soon.

    Otherwise they keep their cores for as long as another thread computes, and if other programs
    need the cores, a sentence takes six times as long. A setting of the user's own is left alone.
    """
    is_set = not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}.isdisjoint(os.environ)
    with contextlib.nullcontext() if is_set else _setting("GOMP_SPINCOUNT", _SPINS):
        import ctranslate2
    return ctranslate2


@contextlib.contextmanager
def _setting(name, value):
    """A context with an environment variable that is not set outside."""
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
