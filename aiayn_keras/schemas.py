"""Reading of untrusted values through pydantic schemas, with errors that name file and field."""

import pydantic


def parse(schema, content, origin, remedy):
    """Makes an object of a schema from JSON, or from a dictionary of it.

    Args:
        schema: A `pydantic.BaseModel`.
        content: Bytes of JSON, or a dictionary.
        origin: Path of the file, for the error.
        remedy: Sentence that ends the error.

    Raises:
        ValueError: With the file and the first field that is wrong.
    """
    is_json = isinstance(content, bytes)
    try:
        return schema.model_validate_json(content) if is_json else schema.model_validate(content)
    except pydantic.ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(map(str, problem["loc"]))
        where = f"{origin}, field `{field:.200}`" if field else f"{origin}"
        message = problem["msg"].removeprefix("Value error, ")
        raise ValueError(f"{where}: {message:.200}. {remedy}") from None
