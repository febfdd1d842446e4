import fcntl
import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.common.kit_files import WARMUP_FILE
from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.export import export_saved_model
from aiayn_keras.export.saved_model import read_arguments, run_in_tensorflow
from aiayn_keras.export.served_translator import NO_SCORE
from aiayn_keras.export.serving_kit import publishing_in, write_kit
from aiayn_keras_light.text_batches import tokenize
from tests.export.served import Served, call_in_fresh_process
from tests.helpers import assert_close

TEXTS = [
    "The old bus arrived yesterday.",
    "She knows that the girl is happy.",
    "",
    "   ",
    "Half past three.",
    "I will call Maria because the forest costs 16 € – naïve ☃ words!",
]


def gnmt(length, alpha):
    return ((5 + length) / 6) ** alpha


@pytest.mark.slow
def test_a_fresh_process_translates_as_the_model_does(model, exported):
    answer = call_in_fresh_process(exported, "serving_default", text=TEXTS)
    expected = model.translate(TEXTS)
    assert answer["translation"] == [translation.text for translation in expected]
    assert_close(answer["score"], [translation.score for translation in expected], rtol=1e-4)


@pytest.mark.slow
def test_a_test_set_is_translated_and_scored_as_the_model_does(model, served):
    pairs = generate_demo_pairs(100, split="test")
    sources, targets = list(pairs.sources), list(pairs.targets)
    expected = model.translate(sources)
    answer = served("serving_default", text=sources)
    assert answer["translation"].tolist() == [translation.text for translation in expected]
    assert_close(answer["score"], [t.score for t in expected], rtol=1e-4, atol=1e-4)
    answer = served("score", source=sources, target=targets)
    assert_close(answer["log_probability"], model.score(sources, targets), rtol=1e-4)


def test_nbest_is_the_models(model, served):
    answer = served("translate_nbest", text=TEXTS)
    expected = model.translate(TEXTS, num_return_sequences=4)
    assert answer["translations"].tolist() == [[h.text for h in t.hypotheses] for t in expected]
    scores = [[h.score for h in t.hypotheses] for t in expected]
    assert_close(answer["scores"], scores, rtol=1e-4)


@pytest.mark.slow
def test_normalized_scores_are_divided_by_the_length_penalty_and_rank(model, served):
    expected = model.translate(TEXTS, num_return_sequences=4)
    normalized = [[h.score / gnmt(len(h.tokens) + 1, 0.6) for h in t.hypotheses] for t in expected]
    answer = served("translate_nbest", text=TEXTS)
    assert_close(answer["normalized_scores"], normalized, rtol=1e-4)
    models = [[h.normalized_score for h in t.hypotheses] for t in expected]
    assert_close(answer["normalized_scores"], models, rtol=1e-4)
    assert np.all(np.diff(answer["normalized_scores"], axis=1) <= 0)
    default = served("serving_default", text=TEXTS)
    assert_close(default["normalized_score"], answer["normalized_scores"][:, 0], rtol=1e-4)


def test_alignments_are_the_models(model, served):
    answer = served("align", text=TEXTS)
    expected = model.translate(TEXTS, return_alignments=True)
    assert answer["translation"].tolist() == [translation.text for translation in expected]
    assert_close(answer["score"], [translation.score for translation in expected], rtol=1e-4)
    tokenizer = model.preprocessor.tokenizer
    for row, (text, translation) in enumerate(zip(TEXTS, expected, strict=True)):
        source = [*map(tokenizer.id_to_token, tokenizer([text])[0]), "</s>"]
        target = [*translation.tokens, "</s>"] if text.strip() else []
        assert [piece for piece in answer["source_tokens"][row] if piece] == source
        assert [piece for piece in answer["target_tokens"][row] if piece] == target
        weights = answer["alignment"][row]
        assert not weights[len(target) :].any()
        assert not weights[:, len(source) :].any()
        if target:
            assert_close(weights[: len(target), : len(source)], translation.alignment, atol=1e-5)


def test_the_score_signature_scores_as_the_model_does(model, served):
    sources, targets = TEXTS[:2], ["Der alte Bus.", "Ja."]
    answer = served("score", source=sources, target=targets)
    expected = model.score(sources, targets, per_token=True)
    assert_close(answer["log_probability"], [each.sum() for each in expected], rtol=1e-4)
    normalized = [each.sum() / gnmt(len(each), 0.6) for each in expected]
    assert_close(answer["normalized_score"], normalized, rtol=1e-4)


def test_a_target_beyond_the_positions_has_no_score(model, served):
    tokenizer, most = model.preprocessor.tokenizer, model.backbone.max_sequence_length - 1
    targets = [_text_of(tokenizer.of_targets(), length) for length in (most, most + 1)]
    answer = served("score", source=TEXTS[:1] * 2, target=targets)
    assert_close(answer["log_probability"][:1], model.score(TEXTS[:1], targets[:1]), rtol=1e-4)
    assert answer["log_probability"][1] == np.float32(NO_SCORE)
    assert answer["normalized_score"][1] < -1e28


def test_generate_ids_takes_and_gives_token_ids(model, served):
    tokenizer = model.preprocessor.tokenizer
    (ids,) = tokenize(TEXTS[:1], "texts", tokenizer, 100)
    (row,) = served("generate_ids", token_ids=[[*ids, 0, 0]])["token_ids"]
    assert row[0] == tokenizer.start_token_id
    pieces = [int(i) for i in row if i not in tokenizer.special_token_ids]
    assert tokenizer.detokenize([pieces]) == [model.translate(TEXTS[:1])[0].text]


def test_ids_that_do_not_exist_are_named(model, served):
    import tensorflow as tf

    size = model.backbone.vocabulary_size
    for wrong in (size, 2**31 - 1, -1, -size):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=rf"ids are 0 to {size - 1}\..*\[{wrong}\]"
        ):
            served("generate_ids", token_ids=[[5, wrong, 6, 3], [7, 8, 9, 3]])


@pytest.mark.parametrize("rows", [[[5, 3], [0, 0]], [[0]], np.zeros((1, 0), "int32")])
def test_ids_of_nothing_are_refused(served, rows):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError, match="nothing but padding in rows"):
        served("generate_ids", token_ids=rows)


def test_unequal_numbers_of_sources_and_targets_are_refused(served):
    import tensorflow as tf

    for sources, targets in ((1, 3), (3, 1), (2, 0)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="equal numbers of texts"):
            served("score", source=["Ja."] * sources, target=np.array(["Yes."] * targets, object))


def test_no_texts_have_no_translations(served):
    assert served("serving_default", text=np.array([], object))["translation"].shape == (0,)
    assert served("translate_nbest", text=np.array([], object))["translations"].shape == (0, 4)
    assert served("align", text=np.array([], object))["alignment"].shape[0] == 0
    nothing = np.array([], object)
    assert served("score", source=nothing, target=nothing)["log_probability"].shape == (0,)
    ids = served("generate_ids", token_ids=np.zeros((0, 3), "int32"))["token_ids"]
    assert ids.shape[0] == 0


@pytest.mark.slow
def test_a_text_longer_than_the_model_is_cut(model, served):
    limit = model.backbone.max_sequence_length
    tokenizer = model.preprocessor.tokenizer
    long_text = "bus " * limit
    pieces = tokenizer([long_text])[0][: limit - 1]
    cut = model.translate([tokenizer.detokenize([pieces])[0]])[0]
    answer = served("serving_default", text=[long_text])
    assert answer["translation"].tolist() == [cut.text]
    token_ids = [[*tokenizer([long_text])[0], tokenizer.end_token_id]]
    answer = served("generate_ids", token_ids=token_ids)
    assert_close(answer["score"], [cut.score], rtol=1e-4)


@pytest.fixture(scope="module")
def with_options(model, tmp_path_factory):
    """An export with every option set."""
    return Served(
        model.export(
            tmp_path_factory.mktemp("options") / "small",
            num_beams=3,
            length_penalty=1.5,
            length_penalty_offset=0,
            num_return_sequences=2,
            max_length=6,
            max_input_length=20,
            long_text="error",
        )
    )


@pytest.mark.slow
def test_options_are_fixed_in_the_graph(model, with_options):
    texts = ["Half past three.", "Ja."]
    options = {"length_penalty_offset": 0, "num_return_sequences": 2, "max_length": 6}
    expected = model.translate(texts, num_beams=3, length_penalty=1.5, **options)
    answer = with_options("translate_nbest", text=texts)
    assert answer["translations"].tolist() == [[h.text for h in t.hypotheses] for t in expected]
    normalized = [[h.score / (len(h.tokens) + 1) ** 1.5 for h in t.hypotheses] for t in expected]
    assert_close(answer["normalized_scores"], normalized, rtol=1e-4)


@pytest.mark.parametrize(
    ("signature", "inputs"),
    [
        ("serving_default", ["text"]),
        ("translate_nbest", ["text"]),
        ("align", ["text"]),
        ("score", ["source", "target"]),
    ],
)
def test_a_long_text_can_be_an_error_that_names_its_rows(model, with_options, signature, inputs):
    import tensorflow as tf

    twenty, more = (_text_of(model.preprocessor.tokenizer, length) for length in (20, 21))
    with_options(signature, **{name: [twenty] for name in inputs})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"more than 20 wordpieces.*\[1 2\]"):
        with_options(
            signature, **{name: ["Ja."] * 3 for name in inputs} | {inputs[0]: ["Ja.", more, more]}
        )


def test_many_ids_can_be_an_error_too(with_options):
    import tensorflow as tf

    with_options("generate_ids", token_ids=[[5] * 20 + [3, 0, 0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"`token_ids`: more than 20"):
        with_options("generate_ids", token_ids=[[5] * 21 + [3]])


def _text_of(tokenizer, length):
    """A text of so many wordpieces."""
    word = next(
        tokenizer.id_to_token(i)[1:]
        for i in range(4, tokenizer.vocabulary_size())
        if len(tokenizer.id_to_token(i)) > 2 and tokenizer.id_to_token(i)[0] == "▁"
    )
    text = " ".join([word] * length)
    assert len(tokenizer([text])[0]) == length
    return text


@pytest.mark.slow
def test_versions_count_up_and_are_never_overwritten(model, tmp_path):
    first = export_saved_model(model, tmp_path / "small", num_beams=1)
    second = export_saved_model(model, tmp_path / "small", num_beams=1)
    assert (first.name, second.name) == ("1", "2")
    with pytest.raises(FileExistsError, match="2 exists already"):
        export_saved_model(model, tmp_path / "small", version=2)
    assert sorted(path.name for path in (tmp_path / "small").glob("[0-9]*")) == ["1", "2"]


def test_an_existing_version_is_not_overwritten(model, tmp_path, note_version):
    note_version(tmp_path / "small", 2)
    with pytest.raises(FileExistsError, match="2 exists already"):
        export_saved_model(model, tmp_path / "small", version=2)
    assert [path.name for path in (tmp_path / "small").iterdir()] == ["2"]


@pytest.mark.parametrize("name", ["a b", "-a", "a\n    privileged: true", "ä", "a" * 101])
def test_a_name_that_is_more_than_a_name_is_refused(model, tmp_path, name):
    with pytest.raises(ValueError, match="The name of a served model is 1 to 100 letters"):
        export_saved_model(model, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_kit_is_found_before_a_version_is_written(model, tmp_path, note_version):
    note_version(tmp_path / "small", 1)
    (tmp_path / "small" / "models.config").write_text("model_config_list {}")
    with pytest.raises(ValueError, match=r"models\.config must configure one model"):
        export_saved_model(model, tmp_path / "small")
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == ["1", "models.config"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_beams": 0}, "`num_beams` must be at least 1"),
        ({"num_return_sequences": 5}, "at most `num_beams`. Received: num_return_sequences=5"),
        ({"max_length": 0}, "`max_length` must be at least 1"),
        ({"max_input_length": 256}, "less than the 256 positions"),
        ({"long_text": "cut"}, "`long_text` must be"),
        ({"precision": "int8"}, "`precision` must be"),
        ({"length_penalty": -1}, "`length_penalty` must be at least 0"),
        ({"warmup_texts": "Hello"}, "`warmup_texts` must be a list of strings"),
        ({"warmup_texts": [1]}, r"`warmup_texts\[0\]` must be a string"),
    ],
)
def test_a_failed_export_leaves_nothing(model, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        export_saved_model(model, tmp_path / "small", **options)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_card_is_checked_before_the_graph_is_written(model, tmp_path, monkeypatch):
    def fail(*args):
        pytest.fail("the graph was written")

    monkeypatch.setattr("aiayn_keras.export.saved_model.write_graph", fail)
    with pytest.raises(ValueError, match=r"`card`, field `card\.BLEU`.*The facts are short texts"):
        export_saved_model(model, tmp_path / "small", card={"BLEU": ["40.5"]})
    assert list(tmp_path.iterdir()) == []


def test_versions_of_another_origin_are_left_alone(model, tmp_path):
    (tmp_path / "small" / "7").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="small/7 was not written by this version"):
        export_saved_model(model, tmp_path / "small")
    assert [path.name for path in (tmp_path / "small").iterdir()] == ["7"]


def test_an_unknown_format_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"Unknown `format` 'onxx'. There are: saved_model"):
        model.export(tmp_path / "small", format="onxx")


@pytest.mark.slow
def test_the_committed_demo_model_translates():
    path = Path(__file__).parents[2] / "saved_models" / "demo_en_de" / "1"
    answer = call_in_fresh_process(
        path, "serving_default", text=["The girl is happy.", "Every day Paul works."]
    )
    assert answer["translation"] == ["Das Mädchen ist glücklich.", "Jeden Tag arbeitet Paul."]
    assert np.all(np.array(answer["score"]) < 0)


def test_a_kit_is_complete_or_not_there(model, tmp_path, monkeypatch):
    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr("aiayn_keras.export.saved_model.write_warmup", fail)
    with pytest.raises(OSError, match="disk full"):
        export_saved_model(model, tmp_path / "small", num_beams=1)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def without_graph(monkeypatch):
    module = "aiayn_keras.export.saved_model"
    monkeypatch.setattr(f"{module}.write_graph", lambda *args: None)
    monkeypatch.setattr(f"{module}.check_graph", lambda written: None)
    monkeypatch.setattr(
        f"{module}.write_warmup", lambda written, *args: (written / "assets.extra").mkdir()
    )


@pytest.mark.usefixtures("without_graph")
def test_a_version_that_another_export_has_written_meanwhile_stays_described(
    model, tmp_path, monkeypatch, note_version
):
    kit = tmp_path / "small"

    def export_the_same(*args):
        note_version(kit, 1, num_beams=7, long_text="error")
        write_kit(kit)

    monkeypatch.setattr("aiayn_keras.export.saved_model.check_graph", export_the_same)
    with pytest.raises(FileExistsError, match="1 exists already"):
        export_saved_model(model, kit, num_beams=1, measure_load=False)
    written = {path: path.read_bytes() for path in kit.rglob("*") if path.is_file()}
    write_kit(kit)
    assert {path: path.read_bytes() for path in kit.rglob("*") if path.is_file()} == written


@pytest.mark.usefixtures("without_graph")
def test_one_export_at_a_time_publishes_in_a_kit(model, tmp_path, monkeypatch):
    kit, is_written = tmp_path / "small", []

    def write(folder, new):
        descriptor = os.open(folder, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
        is_written.append(folder)

    monkeypatch.setattr("aiayn_keras.export.saved_model.write_kit", write)
    export_saved_model(model, kit, measure_load=False)
    assert is_written == [kit]
    with publishing_in(kit):  # the lock is free again
        pass


def test_checksums_are_those_of_every_file(version_folder):
    exported = version_folder
    lines = (exported / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    files = [path for path in exported.rglob("*") if path.is_file()]
    names = {path.relative_to(exported).as_posix() for path in files}
    assert sums.keys() == names - {"SHA256SUMS"}
    for name, checksum in sums.items():
        assert hashlib.sha256((exported / name).read_bytes()).hexdigest() == checksum


def test_a_model_without_tokenizer_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="no `preprocessor`"):
        TransformerSeq2SeqLM(model.backbone).export(tmp_path / "small")
    assert list(tmp_path.iterdir()) == []


class ModelDouble:
    """Has nothing to save: these processes load no model."""

    backbone = None

    def save_to_preset(self, preset):
        """Leaves the folder empty."""


def main():
    """Ends the process as its arguments say."""
    arguments = read_arguments()
    if signal_number := arguments.get("signal"):
        os.kill(os.getpid(), signal_number)
    if text := arguments.get("long_text"):
        sys.exit(f"read {len(text):,}")
    sys.exit(arguments["words"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signal": signal.SIGKILL}, "was killed by signal 9, perhaps for lack of memory"),
        pytest.param(
            *({"words": "first\nlast"}, "could not export the model: last$"), marks=pytest.mark.slow
        ),
        pytest.param(
            *({"long_text": "a" * 1_000_000}, "could not export the model: read 1,000,000$"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_it_is_told_how_the_process_ended(arguments, message):
    with pytest.raises(RuntimeError, match=message):
        run_in_tensorflow(__name__, ModelDouble(), **arguments)


FEW_TEXTS = [
    "The old bus arrived yesterday.",
    "She knows that the girl is happy.",
    "",
    "   ",
    "Half past three.",
    "I will call Maria because the forest costs 16 € – naïve ☃ words!",
]


@pytest.mark.slow
def test_bfloat16_is_the_models_own(trained_run, model, tmp_path):
    served = Served(model.export(tmp_path / "small", precision="bfloat16"))
    variables = {variable.dtype.name for variable in served.loaded.model_variables}
    assert "bfloat16" in variables
    half = TransformerSeq2SeqLM.from_preset(str(trained_run), dtype="bfloat16")
    expected = half.translate(FEW_TEXTS)
    answer = served("serving_default", text=FEW_TEXTS)
    assert answer["translation"].tolist() == [translation.text for translation in expected]
    assert_close(answer["score"], [t.score for t in expected], rtol=0.02, atol=0.02)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
@pytest.mark.slow
def test_another_backend_exports_the_same_kit(exported, served, trained_run, tmp_path):
    """JAX; PyTorch takes the same way, and tests/export/test_litert.py takes it there."""
    script = (
        "import sys; from aiayn_keras import TransformerSeq2SeqLM;"
        "print(TransformerSeq2SeqLM.from_preset(sys.argv[1]).export(sys.argv[2]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(trained_run), str(tmp_path / "small")],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    kit = tmp_path / "small"
    for name in ("models.config", "batching.config", "docker-compose.yml", "README.md"):
        assert (kit / name).read_text("utf-8") == (exported.parent / name).read_text("utf-8")
    assert (kit / "1" / WARMUP_FILE).read_bytes() == (exported / WARMUP_FILE).read_bytes()
    other = Served(kit / "1")
    expected = served("translate_nbest", text=FEW_TEXTS)
    answer = other("translate_nbest", text=FEW_TEXTS)
    assert answer["translations"].tolist() == expected["translations"].tolist()
    assert_close(answer["scores"], expected["scores"])
    assert_close(
        other("align", text=FEW_TEXTS)["alignment"],
        served("align", text=FEW_TEXTS)["alignment"],
    )


def test_the_last_line_of_a_process_that_fails_is_the_error(model, tmp_path, monkeypatch):
    (tmp_path / "tensorflow.py").write_text("raise ImportError('broken on this machine')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with pytest.raises(RuntimeError, match=r"could not export the model: .*broken on this machine"):
        model.export(tmp_path / "small", precision="bfloat16")
    assert not (tmp_path / "small").exists()
