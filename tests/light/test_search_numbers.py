import json

import pytest

from aiayn_keras_light.search_numbers import check_search_defaults, read_search_defaults


def test_a_folder_without_the_file_has_no_defaults(tmp_path):
    assert read_search_defaults(tmp_path) == {}


def test_numbers_of_a_folder_are_read(tmp_path):
    wanted = {"num_beams": 6, "length_penalty": 1.0, "length_penalty_offset": 0}
    (tmp_path / "search.json").write_text(json.dumps({**wanted, "length_penalty": 1}))
    assert read_search_defaults(tmp_path) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[4]", r"It must be an object\. Received: \[4\]"),
        ("{", "Expecting property name"),
        ('{"num_beams": 0}', "`num_beams` must be"),
        ('{"num_beams": "4"}', "`num_beams` must be"),
        ('{"length_penalty": NaN}', "`length_penalty` must be"),
        ('{"beam": 4}', r"no default `beam`\. Allowed: coverage_penalty, extra_length"),
        ('{"num_return_sequences": 1}', "no default `num_return_sequences`"),
        ('{"min_length": 9, "max_length": 8}', "`min_length` must be from 0"),
        ("[" * 4000, "search.json"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, text, message):
    (tmp_path / "search.json").write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_search_defaults(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "search.json"))


def test_a_file_that_is_too_large_is_refused(tmp_path):
    (tmp_path / "search.json").write_text(" " * 5000)
    with pytest.raises(ValueError, match=r"search\.json"):
        read_search_defaults(tmp_path)


def test_defaults_have_the_types_of_the_search():
    assert check_search_defaults({"coverage_penalty": 1}) == {"coverage_penalty": 1.0}
    with pytest.raises(ValueError, match="no default `engine`"):
        check_search_defaults({"engine": "keras"})
