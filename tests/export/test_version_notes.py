import dataclasses
import json

import pytest

from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras.decoding.constraints.token_automaton import MAX_NUMBER, MAX_TRANSITIONS
from aiayn_keras.export.serving_options import (
    MAX_NOTES_BYTES,
    VERSION_FILE,
    VersionNotes,
    make_serving_options,
    read_notes,
)
from aiayn_keras.serving.local_page import kit_translator


def test_notes_are_read(tmp_path, note_version):
    note_version(tmp_path, 1, min_length=2)
    notes = read_notes(tmp_path / "1" / VERSION_FILE)
    assert notes.options["min_length"] == 2
    assert notes.options["coverage_penalty"] == 0.0  # the default
    assert json.loads(notes.to_json())["card"]["license"] == "CC0"


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"num_beams": 4', '"num_beams": "4"', "options`: `num_beams` must be an integer"),
        ('"num_beams": 4', '"beams": 4', "unexpected keyword argument 'beams'"),
        ('"CC0"', "3", "card.license"),
        ('"card"', '"cards"', "card"),
        ("{", "[", "Invalid JSON"),
    ],
)
def test_notes_of_another_form_are_refused_by_their_field(tmp_path, note_version, old, new, field):
    note_version(tmp_path, 1)
    path = tmp_path / "1" / VERSION_FILE
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"export\.json[,:] .*{field}"):
        read_notes(path)


def test_notes_hold_the_largest_automaton():
    most, share = MAX_NUMBER, 1 << 10
    numbers = range(most - MAX_TRANSITIONS // share + 1, most)
    triples = tuple((0, number, most) for number in (*numbers, 3))
    options = make_serving_options(8, constraint=TokenAutomaton(triples, (most,)))
    notes = VersionNotes(
        options=dataclasses.asdict(options), precision="float32", tensorflow="2", card={}
    )
    assert 30_000_000 < len(notes.to_json()) * share < MAX_NOTES_BYTES
    assert kit_translator.MAX_NOTES_BYTES == MAX_NOTES_BYTES
