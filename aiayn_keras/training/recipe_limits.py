"""The limits of a recipe's numbers, far above all that is sensible, and types with limits.

Those of a model's sizes are in `aiayn_keras.models.architecture`.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

MOST_PARAMETERS = 20_000_000_000
MOST_GENERATED = 1_000_000
"""Greatest number of pairs that are made in memory."""
MOST_TOKENS = 10_000_000
"""Greatest number of positions of a batch."""
MOST_SHAPES = 1_000
MOST_BATCHES = 10_000
"""Greatest number of batches of an update."""
MOST_UPDATES = 1_000_000_000
MOST_CHECKPOINTS = 10_000
"""Greatest number of checkpoints that are counted or averaged."""
MOST_DEVICES = 10_000
GREATEST_RATE = 10.0
GREATEST_RATIO = 1_000.0
GREATEST_SEED = 2**32 - 1


def count(most, least=1):
    """Makes the type of an integer from `least` to `most`."""
    return Annotated[int, Field(strict=True, ge=least, le=most)]


def number(**bounds):
    """Makes the type of a number within bounds, named as `pydantic.Field` names them."""
    return Annotated[float, BeforeValidator(_refuse_boolean), Field(**bounds)]


def type_of_search_option(field):
    """Makes the type of a field of `SearchOptions` from the limits in its metadata.

    The constraint is a name or a dictionary here.
    """
    if field.name == "constraint":
        return str | dict[str, Any] | None
    bounds = {"ge": field.metadata["minimum"], "le": field.metadata.get("maximum")}
    if field.type is float:
        return number(**bounds)
    return Annotated[field.type, Field(strict=True, **bounds)]


def _refuse_boolean(value):
    if isinstance(value, bool):
        raise ValueError("Input should be a valid number")
    return value


def _one_or_two_files(value):
    is_list = isinstance(value, list | tuple) and len(value) in (1, 2)
    if not (is_list and all(isinstance(path, str) and path for path in value)):
        raise ValueError("give a list of one TSV file or two files")
    return value


Share = number(ge=0.0, lt=1.0)
FilePair = Annotated[tuple[str, ...], BeforeValidator(_one_or_two_files)]
