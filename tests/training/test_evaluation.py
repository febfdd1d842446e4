import os

import pytest

from aiayn_keras.training import Evaluation, read_evaluation

RESULT = Evaluation(test="test.tsv", sentences=60, bleu=41.5, details="BLEU = 41.50", signature="s")


def test_what_is_written_is_read(tmp_path):
    RESULT.write(tmp_path / "evaluation.json")
    assert read_evaluation(tmp_path / "evaluation.json") == RESULT
    assert str(RESULT) == "41.50 on 60 sentences of test.tsv (s)"


def test_chrf_is_shown_if_it_was_measured(tmp_path):
    result = RESULT.model_copy(update={"chrf": 62.25, "chrf_signature": "c"})
    result.write(tmp_path / "evaluation.json")
    assert str(read_evaluation(tmp_path / "evaluation.json")).endswith("(s); chrF2 62.25 (c)")


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("41.5", "NaN", "bleu"),
        ("41.5", '"41.5"', "bleu"),
        ("60", "0", "sentences"),
        ('"test.tsv"', "[1]", "test"),
        ('"sentences"', '"number"', "sentences"),
        ("{", "[", "Invalid JSON"),
    ],
)
def test_a_file_of_another_form_is_refused_by_its_field(tmp_path, old, new, field):
    path = tmp_path / "evaluation.json"
    RESULT.write(path)
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ValueError, match=rf"evaluation\.json.*{field}"):
        read_evaluation(path)


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "evaluation.json")
    with pytest.raises(OSError, match="no regular file"):
        read_evaluation(tmp_path / "evaluation.json")
