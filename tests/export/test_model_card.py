import json

import pytest

from aiayn_keras.export.serving_kit import write_kit


def test_the_model_card_says_what_it_was_told(tmp_path, note_version):
    note_version(tmp_path, 1)
    write_kit(tmp_path)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "| BLEU | 40.5 (\\`a\\|b\\`) |" in card
    assert "| license | CC0 |" in card
    assert "first 30 are translated" in card


def test_the_model_card_shows_what_it_was_told_as_plain_text(tmp_path, note_version):
    note_version(tmp_path, 1)
    path = tmp_path / "1" / "assets.extra" / "export.json"
    evil = "[x](http://evil)\n\n# Head | <img src=x> `a` *b* snake_case"
    path.write_text(path.read_text("utf-8").replace('"CC0"', json.dumps(evil)), "utf-8")
    write_kit(tmp_path)
    card = (tmp_path / "README.md").read_text("utf-8")
    plain = r"\[x\](http://evil) \# Head \| \<img src=x\> \`a\` \*b\* snake_case"
    assert f"| license | {plain} |" in card


@pytest.mark.parametrize(("source_end", "ids"), [(None, "pieces </s>"), (False, "pieces")])
def test_the_model_card_says_which_ids_the_encoder_reads(tmp_path, note_version, source_end, ids):
    note_version(tmp_path, 1)
    path = tmp_path / "1" / "assets.extra" / "export.json"
    notes = json.loads(path.read_text("utf-8"))
    if source_end is not None:  # notes of before lack it
        notes["source_end"] = source_end
    path.write_text(json.dumps(notes), "utf-8")
    write_kit(tmp_path)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert f"`token_ids` int32 (B, S), `{ids}`, padded with 0" in card


def test_the_model_card_of_a_server_without_batching_says_so(tmp_path, note_version):
    note_version(tmp_path, 1, long_text="error")
    write_kit(tmp_path)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "text of more than 30 is refused with INVALID_ARGUMENT" in card
    assert "The server does not batch requests" in card
    assert "batching.config" not in card


def test_the_model_card_lists_every_version_with_its_labels(tmp_path, note_version):
    for number in (1, 2, 3):
        note_version(tmp_path, number)
    write_kit(tmp_path)
    card = (tmp_path / "README.md").read_text("utf-8")
    rows = [line.split(" | ")[:2] for line in card.splitlines() if line.startswith("| ")]
    assert [row for row in rows if row[0][2:].isdecimal()] == [
        ["| 1", "stable"],
        ["| 2", ""],
        ["| 3", "canary"],
    ]


def test_the_model_card_lists_search_options_that_have_no_column(tmp_path, note_version):
    note_version(tmp_path, 1)
    note_version(tmp_path, 2, coverage_penalty=0.2, max_length=3, constraint={"kind": "brackets"})
    write_kit(tmp_path)
    lines = (tmp_path / "README.md").read_text("utf-8").splitlines()
    first, second = (next(x for x in lines if x.startswith(f"| {n} |")) for n in (1, 2))
    assert first.endswith(" |  |")
    assert second.endswith("| coverage_penalty 0.2, constraint brackets |")
