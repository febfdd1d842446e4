"""The problems of a recipe, told in one line."""

import difflib
import reprlib

MOST_PROBLEMS = 3
"""Greatest number of wrong fields that a message is about."""


def explain(error, recipe_cls, origin):
    """One line on the first fields that are wrong, in the words of a recipe.

    Args:
        error: A `pydantic.ValidationError`.
        recipe_cls: The class of recipes, whose sections and fields are named.
        origin: Name or path of the recipe.
    """
    problems = [_explain_one(problem, recipe_cls) for problem in error.errors()[:MOST_PROBLEMS]]
    more = error.error_count() - len(problems)
    problems += [f"And {more} more."] if more else []
    return f"Recipe {origin}: {' '.join(problems)}"


def _explain_one(problem, recipe_cls):
    path = [str(part) for part in problem["loc"] if isinstance(part, str)]
    where = ".".join(path) or "recipe"
    received = f" Received: {shown(problem['input'])}."
    if problem["type"] == "extra_forbidden":
        allowed = _allowed_names(recipe_cls, path[:-1])
        close = difflib.get_close_matches(path[-1][:100], allowed, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        return f"unknown field `{where[:100]}`.{hint} Allowed: {', '.join(allowed)}."
    if problem["type"] == "missing":
        return f"field `{where}` is missing."
    if problem["type"] == "model_type":
        return f"`{where}`: must be a section of fields.{received}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"`{where}`: {message}.{'' if isinstance(problem['input'], dict) else received}"


def shown(value):
    """A value for a message, shortened."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python refuses to write thousands of digits.
        return "a huge number"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100


def _allowed_names(model, path):
    for part in path:
        model = model.model_fields[part].annotation
    return list(model.model_fields)
