"""The rules of `BalancedBrackets`: for every hypothesis a stack of labels and a count of words."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sentencepiece
from keras import ops

from aiayn_keras.backend import take
from aiayn_keras.decoding.constraints.constraint import Constraint
from aiayn_keras_light.checks import check_integer

_MAX_LEVELS = 1000


SPACE = "▁"
"""SentencePiece's sign for a space."""

_NO_LABEL = -1
_NO_BRACKET = -2
"""Matches no token, not even those that are not brackets."""

LEAF, _OPEN, END = 1, 2, 4
"""Kinds of tokens, each a bit. The kinds that are allowed, added up, are the number of a row."""


class _BracketVocabulary(NamedTuple):
    """The part that each token of a vocabulary has in a tree.

    Attributes:
        opens: Int32 array `(V,)`, the label that a token opens, or `_NO_LABEL`.
        closes: Int32 array `(V,)`, the label that it closes, or `_NO_LABEL`.
        is_leaf: Boolean array `(V,)`, True for pieces read as one word that are not brackets.
        begins_word: Boolean array `(V,)`, True for what begins with `▁`.
    """

    opens: np.ndarray
    closes: np.ndarray
    is_leaf: np.ndarray
    begins_word: np.ndarray


class _BracketState(NamedTuple):
    """The unfinished trees of B sentences.

    Attributes:
        labels: Integer tensor `(B, W, max_depth)`, labels of the open constituents from the root
            down; anything beyond `depth`.
        depth: Integer tensor `(B, W)`, number of open constituents.
        words_left: Integer tensor `(B, W)`, number of the source's words that are not leaves yet;
            always 1 if leaves are not counted, since another one may always follow.
        is_empty: Boolean tensor `(B, W)`, True where the innermost open constituent, or the
            translation, has nothing in it.
    """

    labels: Any
    depth: Any
    words_left: Any
    is_empty: Any


class BracketRules:
    """`Rules` of trees, see `BalancedBrackets`.

    Args:
        vocabulary: The `_BracketVocabulary` of translations.
        end_token_id: The token that ends a hypothesis after its tree.
        is_word: Boolean array `(V,)`, True for tokens of a source that begin a word, each of which
            becomes a leaf; None if leaves are free.
        max_depth: Maximum number of constituents open at once.

    Raises:
        ValueError: If no label has both brackets.
    """

    def __init__(self, vocabulary, end_token_id, is_word, max_depth):
        opens, closes, is_leaf, _ = vocabulary
        if not np.any(opens != _NO_LABEL):
            raise ValueError(
                "`constraint`: the vocabulary of translations must have pairs of brackets, "
                "wordpieces such as `(NP` and `)NP`. Received one that has none."
            )
        kinds = LEAF * is_leaf + _OPEN * (opens != _NO_LABEL)
        kinds[end_token_id] = END
        self.of_kinds = ops.convert_to_tensor((np.arange(8)[:, None] & kinds) != 0)
        self.closes = ops.convert_to_tensor(closes)
        depth_change = 1 * (opens != _NO_LABEL) - 1 * (closes != _NO_LABEL)
        self.effects = ops.convert_to_tensor(np.stack([opens, depth_change, is_leaf], 1), "int32")
        self.is_word = None if is_word is None else ops.convert_to_tensor(is_word)
        self.max_depth = max_depth

    def initial_state(self, token_ids, padding_mask, num_beams):
        zero = ops.zeros_like(token_ids[:, :1], dtype="int32")  # (B, 1)
        zero = zero + ops.zeros((num_beams,), dtype="int32")  # --> (B, W)
        num_words = 1
        if self.is_word is not None:
            is_word = ops.logical_and(take(self.is_word, token_ids), ops.not_equal(padding_mask, 0))
            num_words = ops.sum(ops.cast(is_word, "int32"), axis=1, keepdims=True)
        return _BracketState(
            labels=ops.expand_dims(zero, axis=2) + ops.zeros((self.max_depth,), dtype="int32"),
            depth=zero,
            words_left=zero + num_words,
            is_empty=ops.equal(zero, 0),
        )

    def allowed(self, state, room):
        depth, words_left = state.depth, state.words_left
        # To end, a tree needs the words that are left and a closing bracket for each constituent.
        spare = ops.expand_dims(room, axis=1) - words_left - depth
        is_inside = depth > 0
        has_content = ops.logical_not(state.is_empty)
        has_words = words_left > 0
        may_add_leaf = ops.logical_and(ops.logical_and(is_inside, has_words), spare >= 0)
        # An opening bracket needs its closing one, and a word to go between.
        may_open = ops.logical_and(
            ops.logical_and(ops.logical_or(is_inside, state.is_empty), has_words),
            ops.logical_and(depth < self.max_depth, spare >= 2),
        )
        may_close = ops.logical_and(is_inside, has_content)
        if self.is_word is not None:  # the root holds all words
            may_close = ops.logical_and(
                may_close, ops.logical_or(depth > 1, ops.logical_not(has_words))
            )
        may_end = ops.logical_and(has_content, ops.logical_not(is_inside))
        kinds = sum(
            kind * ops.cast(may, "int32")
            for kind, may in ((LEAF, may_add_leaf), (_OPEN, may_open), (END, may_end))
        )
        is_innermost = ops.equal(ops.arange(self.max_depth), ops.expand_dims(depth - 1, axis=2))
        innermost = ops.sum(ops.where(is_innermost, state.labels, 0), axis=2)
        label = ops.expand_dims(ops.where(may_close, innermost, _NO_BRACKET), axis=2)
        return ops.logical_or(take(self.of_kinds, kinds), ops.equal(self.closes, label))

    def advance(self, state, token_ids):
        label, depth_change, is_leaf = ops.unstack(take(self.effects, token_ids), axis=2)
        is_open = depth_change > 0
        is_new = ops.equal(ops.arange(self.max_depth), ops.expand_dims(state.depth, axis=2))
        is_new = ops.logical_and(is_new, ops.expand_dims(is_open, axis=2))
        words_left = state.words_left
        if self.is_word is not None:
            words_left = words_left - is_leaf
        return _BracketState(
            labels=ops.where(is_new, ops.expand_dims(label, axis=2), state.labels),
            depth=state.depth + depth_change,
            words_left=words_left,
            is_empty=is_open,
        )


@functools.lru_cache(maxsize=8)
def read_vocabulary(proto):
    """Reads a `_BracketVocabulary` off a SentencePiece model.

    Args:
        proto: Bytes of the model. Its control and unknown symbols are nothing in a tree.
    """
    model = sentencepiece.SentencePieceProcessor(model_proto=proto)
    ids = range(model.vocab_size())
    pieces = [model.id_to_piece(i) for i in ids]
    is_text = [not (model.is_control(i) or model.is_unknown(i) or model.is_unused(i)) for i in ids]
    return bracket_vocabulary(pieces, is_text)


def bracket_vocabulary(pieces, is_text):
    """Makes the `_BracketVocabulary` of a list of pieces and whether text can have each.

    A bracket whose label has no bracket of the other kind is never allowed. Where brackets begin
    with `▁`, leaves do too: another piece would become a part of the token before it.
    """
    is_text = np.array(is_text)
    opening, closing = ([_label(piece, sign) for piece in pieces] for sign in "()")
    both = {*opening} & {*closing} - {None}
    numbers = {label: number for number, label in enumerate(sorted(both))}
    opens, closes = (
        np.where(is_text, [numbers.get(label, _NO_LABEL) for label in labels], _NO_LABEL)
        for labels in (opening, closing)
    )
    begins_word = np.array([piece.startswith(SPACE) for piece in pieces]) & is_text
    is_leaf = is_text & [piece.removeprefix(SPACE)[:1] not in ("", "(", ")") for piece in pieces]
    if begins_word[opens != _NO_LABEL].all():
        is_leaf &= begins_word
    return _BracketVocabulary(
        opens.astype("int32"),
        closes.astype("int32"),
        is_leaf,
        begins_word,
    )


def _label(piece, sign):
    """The label of an opening or closing bracket, or None."""
    piece = piece.removeprefix(SPACE)
    return piece[1:] if piece[:1] == sign and len(piece) > 1 else None


@dataclass(frozen=True)
class BalancedBrackets(Constraint):
    """Translations are trees `(S (NP XX XX )NP (VP XX )VP )S` (Vinyals et al. 2015, paper 6.3).

    A wordpiece `(X` opens a constituent X, `)X` closes it, with or without SentencePiece's `▁`
    before; every other one that text can have is a leaf, if it has a `▁` where brackets have one. A
    translation has one root, every constituent is closed by a bracket of its own label and has a
    child, and nothing follows the root. Each leaf is a single wordpiece. Source:
    https://arxiv.org/abs/1412.7449.

    A source of n words has no tree of fewer than n + 2 wordpieces: if `max_length` or the model's
    positions allow fewer, no translation is found.

    Attributes:
        words: `"source"` for as many leaves as the source has words, the wordpieces of it that
            begin with `▁`; None for any number.
        max_depth: Maximum number of constituents open at once; nothing is opened beyond.

    Raises:
        ValueError: For other `words`, or a depth out of bounds.
        TypeError: For a depth that is not an integer.

    Example:
        >>> model.translate(["The cat sat ."], constraint=BalancedBrackets())  # doctest: +SKIP
    """

    words: str | None = "source"
    max_depth: int = 64
    kind: str = dataclasses.field(default="brackets", init=False, repr=False)

    # Words and open brackets decide how long a tree is, and trees repeat themselves.
    excludes: ClassVar[tuple[str, ...]] = ("min_length", "no_repeat_ngram_size")

    def __post_init__(self):
        if self.words is not None and self.words != "source":
            raise ValueError(f'`words` must be "source" or None. Received: words={self.words!r}.')
        max_depth = check_integer("max_depth", self.max_depth, 1, _MAX_LEVELS)
        object.__setattr__(self, "max_depth", max_depth)

    def rules(self, tokenizer):
        """Makes the `BracketRules` for a vocabulary.

        Raises:
            ValueError: If it has no pair of brackets.
        """
        vocabulary = read_vocabulary(tokenizer.of_targets().proto)
        is_word = None
        if self.words == "source":
            is_word = read_vocabulary(tokenizer.proto).begins_word
        return BracketRules(vocabulary, tokenizer.end_token_id, is_word, self.max_depth)
