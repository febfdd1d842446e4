import importlib.resources
import string

import pytest

from aiayn_keras.export.preparation import render

FOLDER = importlib.resources.files("aiayn_keras.export") / "templates"
TEMPLATES = sorted(
    path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()
)


def template_of(name):
    return string.Template((FOLDER / name).read_text("utf-8"))


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_placeholder_is_replaced_by_its_value(name):
    placeholders = template_of(name).get_identifiers()
    rendered = render(name, **{placeholder: f"<{placeholder}>" for placeholder in placeholders})
    assert all(f"<{placeholder}>" in rendered for placeholder in placeholders)
    for placeholder in placeholders:
        others = {other: "" for other in placeholders if other != placeholder}
        with pytest.raises(KeyError, match=placeholder):
            render(name, **others)


def test_two_dollars_are_one():
    placeholders = template_of("README.md").get_identifiers()
    assert '-v "$PWD:/models/small:ro"' in render(
        "README.md", **{**dict.fromkeys(placeholders, ""), "name": "small"}
    )
