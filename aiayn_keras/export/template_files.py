"""The texts of a kit's files, kept in the folder `templates`."""

import importlib.resources
import string


def render(file_name, /, **values):
    """Fills in a template.

    Args:
        file_name: Name of a file in the folder `templates`, with placeholders of
            `string.Template`.
        **values: A value for each placeholder.

    Returns:
        The text.
    """
    file = importlib.resources.files("aiayn_keras.export") / "templates" / file_name
    return string.Template(file.read_text(encoding="utf-8")).substitute(values)
