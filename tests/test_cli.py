import json

import pytest
from click.testing import CliRunner

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.cli import main
from aiayn_keras.models import TRANSFORMER_PRESETS
from tests.runs import SETTINGS

SOURCES = ["The girl is happy.", "Every day Paul works."]


def run(*arguments, **options):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)


def assert_one_clear_line(result, *parts):
    """The command failed, and said why in one line."""
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.stderr
    error = result.stderr[result.stderr.index("Error: ") :]
    (line,) = error.splitlines()
    for part in parts:
        assert part in line


@pytest.fixture
def source_file(tmp_path):
    path = tmp_path / "source.en"
    path.write_text("".join(f"{line}\n" for line in SOURCES), encoding="utf-8")
    return path


@pytest.fixture
def expected(trained_run):
    model = TransformerSeq2SeqLM.from_preset(str(trained_run))
    return [translation.text for translation in model.translate(SOURCES)]


def test_info_prints_the_papers_parameters():
    result = run("info", "transformer_base", "--vocabulary-size", 37000)
    assert result.exit_code == 0
    assert "63,045,632" in result.stdout


def test_info_lists_every_preset():
    result = run("info", "--all")
    assert result.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    assert rows.keys() >= TRANSFORMER_PRESETS.keys()
    base = ["6", "512", "2048", "8", "64", "64", "0.1", "0.1", "63,045,632"]
    assert rows["transformer_base"] == base
    assert rows["transformer_base_k16"] == [*base[:4], "16", *base[5:8], "55,967,744"]


@pytest.mark.parametrize("arguments", [(), ("transformer_base", "--all")])
def test_info_is_told_what_to_describe(arguments):
    result = run("info", *arguments)
    assert result.exit_code == 2
    assert "--all" in result.stderr


def test_info_describes_a_model_folder(trained_run):
    result = run("info", trained_run)
    assert result.exit_code == 0
    assert "hidden_dim            32" in result.stdout


def test_info_names_the_presets():
    assert_one_clear_line(run("info", "transformer_bsae"), "transformer_tiny, transformer_base")


def test_translate_a_file(trained_run, source_file, expected):
    result = run("translate", trained_run, "--input", source_file)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == expected


def test_translate_standard_input(trained_run, source_file, expected):
    result = run("translate", trained_run, input=source_file.read_bytes())
    assert result.stdout.splitlines() == expected


def test_translate_keeps_empty_lines(trained_run):
    result = run("translate", trained_run, input="\n\nThe girl is happy.\n")
    assert result.stdout.split("\n")[:2] == ["", ""]
    assert len(result.stdout.split("\n")) == 4


def test_a_line_too_long_is_named(trained_run, tmp_path):
    path = tmp_path / "long.en"
    path.write_text("Good.\n" + "bus " * 300 + "\n")
    assert_one_clear_line(
        run("translate", trained_run, "--input", path), "long.en, line 2", "256 positions"
    )
    result = run("translate", trained_run, input=path.read_bytes())
    assert_one_clear_line(result, "standard input, line 2")


def test_a_line_that_is_not_utf8_is_named(trained_run, tmp_path):
    path = tmp_path / "latin.en"
    path.write_bytes(b"Good.\ncaf\xe9\n")
    assert_one_clear_line(run("translate", trained_run, "--input", path), "latin.en", "2")
    result = run("translate", trained_run, input=path.read_bytes())
    assert_one_clear_line(result, "standard input, line 2")


def test_evaluate_prints_bleu_with_its_signature(trained_run, source_file, tmp_path):
    reference = tmp_path / "reference.de"
    reference.write_text("Das Mädchen ist glücklich.\nJeden Tag arbeitet Paul.\n", "utf-8")
    arguments = ("evaluate", trained_run, "--source", source_file, "--reference", reference)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "BLEU = " in result.stdout
    assert "tok:13a" in result.stdout
    figures = json.loads(run(*arguments, "--json", "--tokenize", "none").stdout)
    assert figures["sentences"] == 2
    assert "tok:none" in figures["signature"]


def test_evaluate_refuses_unequal_files(trained_run, source_file, tmp_path):
    reference = tmp_path / "reference.de"
    reference.write_text("Das Mädchen ist glücklich.\n", "utf-8")
    result = run("evaluate", trained_run, "--source", source_file, "--reference", reference)
    assert_one_clear_line(result, "source.en", "2", "1")


def test_evaluate_refuses_an_unknown_tokenizer(trained_run, source_file):
    result = run(
        *("evaluate", trained_run, "--source", source_file, "--reference", source_file),
        *("--tokenize", "14a"),
    )
    assert_one_clear_line(result, "14a", "13a")


def test_average_writes_a_model_folder(trained_run, tmp_path):
    result = run("average", trained_run, "--last", 2, "--output", tmp_path / "mean")
    assert result.exit_code == 0, result.output
    assert "2 checkpoints, up to update-00000060" in result.stdout
    assert run("info", tmp_path / "mean").exit_code == 0


def test_export_writes_name_and_version(trained_run, source_file, tmp_path):
    result = run(
        *("export", trained_run, "--format", "saved_model", "--output", tmp_path),
        *("--name", "mine", "--num-beams", 2, "--n-best", 1, "--max-input-length", 40),
        *("--long-text", "error", "--license", "CC0", "--limits", "knows little"),
        *("--warmup", source_file),
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(tmp_path / "mine" / "1")
    assert (tmp_path / "mine" / "1" / "saved_model.pb").is_file()
    warmup = tmp_path / "mine" / "1" / "assets.extra" / "tf_serving_warmup_requests"
    assert SOURCES[0].encode() in warmup.read_bytes()
    card = (tmp_path / "mine" / "README.md").read_text("utf-8")
    for fact in ("CC0", "knows little", "40, then error", "name demo", "tok:13a"):
        assert fact in card


def test_export_names_a_missing_warmup_file(trained_run, tmp_path):
    arguments = ("export", trained_run, "--output", tmp_path, "--warmup", "nowhere.en")
    assert_one_clear_line(run(*arguments), "nowhere.en")
    assert list(tmp_path.iterdir()) == []


def test_export_writes_a_folder_for_ctranslate2(trained_run, tmp_path):
    pytest.importorskip("ctranslate2")
    arguments = ("export", trained_run, "--format", "ctranslate2", "--output", tmp_path)
    result = run(*arguments, "--quantization", "int8")
    assert result.exit_code == 0, result.output
    folder = tmp_path / trained_run.name
    assert result.stdout.strip() == str(folder)
    assert {path.name for path in folder.iterdir()} >= {"model.bin", "sentencepiece.model"}
    assert_one_clear_line(run(*arguments), f"{folder} exists already")
    result = run(*arguments, "--name", "other", "--quantization", "int7")
    assert_one_clear_line(result, "int8", "'int7'")
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    ("file_format", "option", "value", "other_format"),
    [
        ("ctranslate2", "--version", 2, "saved_model"),
        ("ctranslate2", "--num-beams", 4, "saved_model"),
        ("ctranslate2", "--length-penalty", 0.6, "saved_model"),
        ("ctranslate2", "--n-best", 2, "saved_model"),
        ("ctranslate2", "--long-text", "error", "saved_model"),
        ("saved_model", "--quantization", "int8", "ctranslate2"),
    ],
)
def test_export_refuses_another_formats_option(file_format, option, value, other_format, tmp_path):
    result = run("export", ".", "--format", file_format, "--output", tmp_path, option, value)
    assert result.exit_code == 2
    assert f"{option} is an option of --format {other_format}, not of {file_format}." in (
        result.stderr
    )
    assert list(tmp_path.iterdir()) == []


def test_train_trains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    settings += ["--set", "training.updates=20", "--set", "training.bleu_every=20"]
    result = run("train", "demo", *settings)
    assert result.exit_code == 0, result.output
    assert "BLEU = " in result.stdout
    assert result.stdout.count("reference:") == 5
    assert "The model is in runs/demo." in result.stdout
    again = run("train", "demo", *settings)
    assert_one_clear_line(again, "runs/demo holds a finished training")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("train", "dmeo"), ("no recipe 'dmeo'", "demo")),
        (("train", "mine.yaml"), ("mine.yaml",)),
        (("train", "demo", "--set", "training.update=3"), ("Did you mean `updates`?",)),
        (("train", "demo", "--set", "corpus.name=demmo"), ("demmo", "multi30k-en-de")),
        (("train", "demo", "--set", "tokenizer.vocabulary_size=90000"), ("vocabulary_size",)),
        (("train", "demo", "--set", "model.num_heads=7"), ("multiple of `num_heads`",)),
        (("train", "demo", "--set", "evaluation.bleu_tokenizer=14a"), ("14a", "13a")),
        (("train", "demo", "--set", "model.max_sequence_length=12"), ("demo", "line")),
        (("translate", "nowhere"), ("nowhere is no model folder", "does not exist")),
        (("translate", "."), ("no model folder", "task.json")),
        (("export", ".", "--output", "models"), ("no model folder",)),
        (("average", ".", "--output", "mean"), ("is no training",)),
    ],
)
def test_bad_input_gets_one_clear_line_and_leaves_nothing(arguments, parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_one_clear_line(run(*arguments), *parts)
    assert list(tmp_path.iterdir()) == []


def test_missing_input_file_is_named(trained_run):
    result = run("translate", trained_run, "--input", "nowhere.en")
    assert_one_clear_line(result, "nowhere.en")
