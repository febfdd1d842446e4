"""Linearized trees: brackets that match, and the words of the source as leaves."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from aiayn_keras.checks import check_integer
from aiayn_keras.decoding.constraints.constraint import Constraint

MOST_LEVELS = 1000


@dataclass(frozen=True)
class BalancedBrackets(Constraint):
    """Translations are trees `(S (NP XX XX )NP (VP XX )VP )S` (Vinyals et al. 2015, paper 6.3).

    A wordpiece `(X` opens a constituent X, `)X` closes it, with or without SentencePiece's `▁`
    before; every other one that text can have is a leaf, if it has a `▁` where brackets have one. A
    translation has one root, every constituent is closed by a bracket of its own label and has a
    child, and nothing follows the root. Each leaf is a single wordpiece. Source:
    https://arxiv.org/abs/1412.7449.

    A source of n words has no tree of fewer than n + 2 wordpieces: where `max_length`, or the
    model's positions, are below that, there is no translation.

    Attributes:
        words: `"source"` for as many leaves as the source has words, the wordpieces of it that
            begin with `▁`; None for any number.
        max_depth: Most constituents that are open at once; nothing is opened beyond.

    Raises:
        ValueError: For other `words`, or a depth out of bounds.
        TypeError: For a depth that is no integer.

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
        max_depth = check_integer("max_depth", self.max_depth, 1, MOST_LEVELS)
        object.__setattr__(self, "max_depth", max_depth)

    def rules(self, tokenizer):
        """Makes the `BracketRules` for a vocabulary.

        Raises:
            ValueError: If it has no pair of brackets.
        """
        from aiayn_keras.decoding.constraints.bracket_rules import BracketRules, read_vocabulary

        vocabulary = read_vocabulary(tokenizer.of_targets().proto)
        is_word = None
        if self.words == "source":
            is_word = read_vocabulary(tokenizer.proto).begins_word
        return BracketRules(vocabulary, tokenizer.end_token_id, is_word, self.max_depth)
