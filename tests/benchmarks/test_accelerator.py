"""The check of a machine's devices runs on a CPU, too."""

import json
from types import SimpleNamespace

import keras
import pytest
from click.testing import CliRunner

from benchmarks.accelerator import parts
from benchmarks.accelerator.__main__ import main
from benchmarks.accelerator.answers import REFERENCES, compare
from benchmarks.accelerator.parts import part_names
from benchmarks.accelerator.training_step import measure_training
from benchmarks.processes import WorkerError
from benchmarks.speed.systems import BACKENDS

SMALL = ("--preset", "tiny", "--layers", "1", "--vocabulary-size", "64", "--tokens", "128",
         "--row", "64", "--steps", "2", "--precision", "float32", "--no-jit-compile")  # fmt: skip
TRAINING = {"preset": "tiny", "num_layers": 1, "vocabulary_size": 64, "tokens": 128, "row": 64,
            "steps": 2, "precision": "float32", "devices": "one", "jit_compile": False}  # fmt: skip
BACKEND = keras.config.backend()


def check(folder, *options):
    words = ["--all", "--output", str(folder), *SMALL, "--texts", "3", "--updates", "2", *options]
    return CliRunner().invoke(main, words, catch_exceptions=False)


def read(folder, part):
    return json.loads((folder / f"{part}.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Result of the command, and the folder, of the answers of one backend."""
    folder = tmp_path_factory.mktemp("accelerator")
    return check(folder, "--parts", f"answers-{BACKEND}"), folder


def test_answers_on_this_machine_agree_with_the_stored_ones(checked):
    result, folder = checked
    assert result.exit_code == 0, result.output
    answers = read(folder, f"answers-{BACKEND}")
    assert answers["agrees"]
    assert answers["logit_difference"] < 1e-4
    assert (answers["equal"], answers["texts"], answers["updates"]) == (3, 3, 2)
    assert answers["score_difference"] < 1e-4
    assert answers["loss_difference"] < 1e-5
    assert answers["device"].lower() == "cpu"
    assert f"| {BACKEND} | {answers['device']} | yes |" in result.output


def test_a_training_step_is_timed():
    record = measure_training(**TRAINING)
    assert record["device"].lower() == "cpu"
    assert (record["devices"], record["tokens"]) == (1, 128)
    assert record["first_step_seconds"] > record["step_seconds"] > 0
    assert record["mfu"] is None
    # The model's products, by hand: D = 128, F = 256, V = 64, rows of 64 positions.
    attention = 4 * 128**2 + 2 * 128 * 64
    forward = 2 * 128 * (3 * attention + 2 * (2 * 128 * 256) + 128 * 64)
    expected = 3 * forward / record["step_seconds"] / 1e12
    assert abs(record["tflops"] / expected - 1) < 1e-6


@pytest.mark.slow
def test_training_and_search_are_timed_beside_their_peers(tmp_path):
    result = check(tmp_path, *("--parts", "train-*"), *("--parts", "decode-*"))
    assert result.exit_code == 0, result.output
    assert "| torch-nn-eager | cpu | 1 | tiny, float32 |" in result.output
    assert f"| {BACKEND} | cpu | " in result.output.lower()
    record = read(tmp_path, f"decode-{BACKEND}")
    assert (record["texts"], record["single_texts"]) == (3, 3)
    assert record["first_seconds_64"] > record["seconds_64"] > 0
    assert record["seconds_1"] > 0


def test_a_part_with_a_result_is_not_run_again(checked, monkeypatch):
    _, folder = checked
    before = {path: path.read_text("utf-8") for path in folder.glob("*.json")}
    assert len(before) == 1

    def refuse(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(parts, "Worker", refuse)
    result = check(folder, "--parts", f"answers-{BACKEND}")
    assert result.exit_code == 0, result.output
    assert {path: path.read_text("utf-8") for path in folder.glob("*.json")} == before


def test_what_cannot_run_is_left_out_with_its_reason_and_tried_again(tmp_path, monkeypatch):
    def break_down(*_, **__):
        raise WorkerError("its process ended: no memory")

    monkeypatch.setattr(parts, "Worker", break_down)
    result = check(tmp_path, "--parts", f"train-{BACKEND}")
    assert result.exit_code == 0
    assert f"- train-{BACKEND}: its process ended: no memory." in result.output
    assert not list(tmp_path.glob("*.json"))


def test_a_backend_that_is_not_installed_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(parts.importlib.util, "find_spec", lambda name: None)
    result = check(tmp_path, "--parts", "answers-jax")
    assert "- answers-jax: `jax` is not installed." in result.output


def stored_answers():
    stored = json.loads(REFERENCES.read_text("utf-8"))
    return stored | {"logits": [stored["logits"]]}


def test_the_stored_answers_agree_with_themselves():
    result = compare(stored_answers())
    assert result["agrees"]
    assert result["equal"] == result["texts"] == 205
    assert result["updates"] == 200


@pytest.mark.parametrize(
    "spoil",
    [
        lambda answers: answers["logits"][0][5].__setitem__(3, 100.0),
        lambda answers: answers["logits"][0][5].__setitem__(3, float("nan")),
        lambda answers: answers["translations"].__setitem__(slice(0, 3), ["a", "b", "c"]),
        lambda answers: answers["scores"].__setitem__(0, -9.0),
        lambda answers: answers["losses"].__setitem__(150, answers["losses"][150] * 1.02),
        lambda answers: answers["losses"].__setitem__(150, float("nan")),
    ],
)
def test_other_answers_do_not_agree(spoil, tmp_path, monkeypatch):
    answers = stored_answers()
    spoil(answers)
    result = compare(answers)
    assert not result["agrees"]
    monkeypatch.setattr(
        parts, "_run_part", lambda *_: result | {"device": "cpu", "part_seconds": 1}
    )
    shown = check(tmp_path, "--parts", "answers-jax")
    assert shown.exit_code == 1
    assert "| jax | cpu | NO |" in shown.output


def test_the_table_of_searches_gives_ratios_to_ctranslate2():
    def result(seconds, single):
        return {"device": "cpu", "texts": 100, "single_texts": 10, "first_seconds_64": 2.0,
                "seconds_64": seconds, "seconds_1": single}  # fmt: skip

    shown = parts.report_parts(
        {"decode-jax": result(2.0, 1.0), "decode-ctranslate2": result(1.0, 0.25)}, {}
    )
    assert "| jax | cpu | 2.0 | 50.0 | 10.0 | 0.50, 0.25 |" in shown
    assert "relative to ctranslate2 |" in shown


def test_there_is_a_part_of_each_kind_for_each_backend():
    names = part_names()
    assert all(f"{kind}-{b}" in names for kind in ("answers", "train", "decode") for b in BACKENDS)


@pytest.mark.parametrize(
    ("words", "named"),
    [((*SMALL, "--row", "100"), "--row"), (("--all",), "--output"), (("--output", "x"), "--all")],
)
def test_options_that_do_not_go_together(words, named):
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 2
    assert named in result.output


def test_one_training_step_is_timed_without_the_other_parts(monkeypatch):
    asked = SimpleNamespace(training=None)

    def measure_training_double(**training):
        asked.training = training
        return {"device": "cpu", "devices": 1, "model": "tiny", "tokens": 128, "mfu": None,
                "first_step_seconds": 1.0, "step_seconds": 0.5, "tflops": 0.1}  # fmt: skip

    monkeypatch.setattr("benchmarks.accelerator.__main__.measure_training", measure_training_double)
    result = CliRunner().invoke(main, list(SMALL), catch_exceptions=False)
    assert "| ours | cpu | 1 | tiny | 1.0 | 500.0 | 256 |" in result.output
    assert asked.training["row"] == 64
