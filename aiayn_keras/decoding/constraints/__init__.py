"""Constraints that a search keeps, by name."""

import dataclasses
from collections.abc import Mapping

from aiayn_keras.decoding.constraints.balanced_brackets import BalancedBrackets
from aiayn_keras.decoding.constraints.constraint import Constraint, Rules, TokenAutomaton

CONSTRAINTS = {"brackets": BalancedBrackets, "automaton": TokenAutomaton}
"""Classes of the constraints that can be written down, by the name that is their `kind`."""


def as_constraint(value):
    """Makes a constraint from a name, a dictionary or a constraint.

    Args:
        value: A `Constraint` or None, which is returned as it is; a name in `CONSTRAINTS`; or a
            dictionary of such a name as `kind` and of the fields of its class, as
            `dataclasses.asdict` makes it.

    Raises:
        ValueError: For anything else, and for fields that the class refuses.

    Example:
        >>> as_constraint({"kind": "brackets", "max_depth": 9})
        BalancedBrackets(words='source', max_depth=9)
    """
    if value is None or isinstance(value, Constraint):
        return value
    fields = {"kind": value} if isinstance(value, str) else value
    kind = fields.get("kind") if isinstance(fields, Mapping) else None
    if not isinstance(kind, str) or kind not in CONSTRAINTS:
        raise ValueError(
            f"`constraint` must be one of {', '.join(CONSTRAINTS)}, a dictionary with one of them "
            f"as its `kind`, a `Constraint` or None. Received: constraint={value!r:.60}."
        )
    given = {name: fields[name] for name in fields if name != "kind"}
    try:
        _check_names(CONSTRAINTS[kind], given)
        return CONSTRAINTS[kind](**given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`constraint` of kind {kind}: {error}") from error


def _check_names(kind, given):
    """Refuses fields that a class of constraints does not have, and those that are missing."""
    fields = dataclasses.fields(kind)
    names = [f"`{field.name}`" for field in fields]
    for name in given:
        if f"`{name}`" not in names:
            raise ValueError(f"unknown field {name!r:.60}; its fields are {' and '.join(names)}.")
    missing = [
        f"`{field.name}`"
        for field in fields
        if field.default is dataclasses.MISSING and field.name not in given
    ]
    if missing:
        raise ValueError(
            f"{' and '.join(missing)} must be given, beside `kind`: in Python or a recipe as a "
            "dictionary, in a shell in a file whose name ends in .json."
        )


__all__ = [
    "CONSTRAINTS",
    "BalancedBrackets",
    "Constraint",
    "Rules",
    "TokenAutomaton",
    "as_constraint",
]
