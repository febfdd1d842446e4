"""Options that several commands share: constants of the command that repeat the package's."""

import dataclasses

import click
import pytest

from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras_cli import main
from aiayn_keras_cli.options import SEARCH_OPTIONS
from tests.cli.command import run

FIELDS = {field.name: field for field in dataclasses.fields(SearchOptions)}


def search_options(name, value):
    """Options with one value, and no other that contradicts it."""
    beams = {"num_beams": 1000} if name == "num_return_sequences" else {}
    return SearchOptions(**{**beams, name: value})


def test_the_command_has_every_search_option_with_its_default():
    assert {*SEARCH_OPTIONS, "constraint"} == FIELDS.keys()
    for name, (default, *_) in SEARCH_OPTIONS.items():
        assert default == FIELDS[name].default
        assert isinstance(default, float) == (FIELDS[name].type is float)


@pytest.mark.parametrize("name", SEARCH_OPTIONS)
def test_the_command_takes_the_values_that_the_search_takes(name):
    _, minimum, maximum, _ = SEARCH_OPTIONS[name]
    for value in (minimum, maximum):
        assert getattr(search_options(name, value), name) == value
    for value in (minimum - 1, maximum + 1):
        with pytest.raises(ValueError, match=f"`{name}`"):
            search_options(name, value)


def test_every_command_with_a_search_has_all_its_options():
    commands = {**main.commands, **main.commands["export"].commands}
    with_search = {"translate", "evaluate", "compare", "serve", "saved-model"}
    for name, command in commands.items():
        found = {parameter.name for parameter in command.params} & FIELDS.keys()
        if name in with_search:
            assert found | {"num_return_sequences"} == FIELDS.keys()
        else:
            assert found <= {"max_length"}
    for name in ("num_beams", "length_penalty"):
        (option,) = (each for each in main.commands["translate"].params if each.name == name)
        assert isinstance(option.type, click.IntRange if name == "num_beams" else click.FloatRange)


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "model", "--output", "s3://bucket/model"],
        ["export", "ctranslate2", "model", "--output", "gs://bucket"],
        ["train", "demo", "--output", "hf://user/model"],
        ["serve", "https://example.org/model"],
        ["translate", "hf://user/model"],
    ],
)
def test_an_address_is_no_local_path(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert "is an address, and this must be a local path." in result.stderr
    assert not list(tmp_path.iterdir())
