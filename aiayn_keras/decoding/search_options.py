"""The options of a search: the numbers of `SearchNumbers`, and a constraint."""

import dataclasses
from dataclasses import dataclass

from aiayn_keras.decoding.constraints import Constraint, as_constraint
from aiayn_keras_light.search_numbers import SearchNumbers, check_search_defaults


@dataclass(frozen=True)
class SearchOptions(SearchNumbers):
    """The options of a beam search: those of `SearchNumbers`, and a constraint.

    `TransformerSeq2SeqLM.translate`, the export and the command take these fields as their own
    arguments.

    Attributes:
        constraint: A `Constraint` that every hypothesis satisfies, such as `BalancedBrackets`, or a
            value that `as_constraint` converts to one: `"brackets"`, or a dictionary.

    Raises:
        ValueError: As `SearchNumbers`; for an unknown constraint, or one that conflicts with
            another option.
        TypeError: As `SearchNumbers`.

    Example:
        >>> SearchOptions(num_beams=5, constraint="brackets").constraint.words
        'source'
    """

    constraint: Constraint | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.constraint is None:
            return
        object.__setattr__(self, "constraint", as_constraint(self.constraint))
        for name in self.constraint.excludes:
            if getattr(self, name) != getattr(type(self), name):
                raise ValueError(
                    f"`{name}` and `constraint` cannot be combined. Received: "
                    f"{name}={getattr(self, name)}, constraint={self.constraint!r:.60}."
                )


def with_defaults(defaults, options):
    """Makes `SearchOptions` from those that are given, and a model's defaults for the others.

    Args:
        defaults: Dictionary of a model's own defaults, see `check_search_defaults`.
        options: Dictionary of fields; None stands for the default.

    Raises:
        ValueError: As `SearchOptions`, and `check_search_defaults`.
        TypeError: As `SearchOptions`, and for an unknown option; the message lists the known ones.
    """
    names = [field.name for field in dataclasses.fields(SearchOptions)]
    if unknown := options.keys() - {*names}:
        raise TypeError(
            f"A search has no option `{min(unknown):.60}`. Its options are: {', '.join(names)}."
        )
    return SearchOptions(**fill_in(defaults, options))


def fill_in(defaults, options):
    """Returns the options that are given, and a model's defaults for the others, as a dictionary.

    With a constraint, the defaults that it excludes are left out. The arguments are those of
    `with_defaults`; other options stay.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("constraint") is not None:  # it decides what can be combined with it
        excluded = as_constraint(given["constraint"]).excludes
        defaults = {name: value for name, value in defaults.items() if name not in excluded}
    return {**check_search_defaults(defaults), **given}
