"""The two protocols of a constraint: its options, and its rules for one vocabulary."""

from typing import Any, ClassVar, Protocol


class Constraint:
    """Base of the options of a constraint; a subclass is a frozen dataclass of hashable fields.

    Equal ones share a compiled search.

    Attributes:
        excludes: Names of the `SearchOptions` that must keep their defaults beside it.
    """

    excludes: ClassVar[tuple[str, ...]] = ()

    def rules(self, tokenizer):
        """Makes the `Rules` for a `TransformerTokenizer`, whenever a search is compiled."""
        raise NotImplementedError


class Rules(Protocol):
    """The rules of a constraint as tensors, in operations of `keras.ops` with fixed shapes.

    Their state is nested tensors `(B, W, ...)`, one for every live hypothesis; the search reorders
    it with the hypotheses. The state of a hypothesis that does not exist may be anything.
    """

    def initial_state(self, token_ids, padding_mask, num_beams):
        """Makes the state before the first token.

        Args:
            token_ids: Integer tensor `(B, S)`, the sources.
            padding_mask: Integer tensor `(B, S)`, 0 on padding.
            num_beams: Number of hypotheses W.
        """

    def allowed(self, state, room) -> Any:
        """Finds the tokens that may follow.

        Only tokens after which the hypothesis can still end within its limit, so that no
        hypothesis gets stuck.

        Args:
            state: The state.
            room: Integer tensor `(B,)`, maximum number of tokens that may follow before the end.

        Returns:
            Boolean tensor `(B, W, V)`.
        """

    def advance(self, state, token_ids):
        """Makes the state after one more token of every hypothesis, integer tensor `(B, W)`."""
