"""Models of other toolkits are recognized by their files and addresses."""

import json
import os

import keras_hub
import pytest
import safetensors
from click.testing import CliRunner
from huggingface_hub.errors import EntryNotFoundError

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.convert import convert
from aiayn_keras.convert.foreign_models import write_model_card
from aiayn_keras_cli import main
from aiayn_keras_cli.convert import find_license
from tests.number_words import number_words

pytest.importorskip("torch")
pytest.importorskip("transformers")

SOURCES = [source for source, _ in number_words(5, seed=7)]
ADDRESS = "hf://nobody/opus-mt-de-en"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tests.convert.marian_models import write_marian_model

    folder = tmp_path_factory.mktemp("marian")
    write_marian_model(folder)
    return folder


def texts(model):
    return [translation.text for translation in model.translate(SOURCES, 1, max_length=9)]


def test_from_preset_converts_a_folder_of_hugging_face(folder):
    expected = texts(convert(folder))
    assert texts(TransformerSeq2SeqLM.from_preset(folder)) == expected
    assert any(expected)


def test_the_command_writes_a_model_folder(folder, tmp_path):
    output = tmp_path / "model"
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    result = CliRunner().invoke(main, ["convert", str(folder), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == str(output)
    assert texts(keras_hub.models.Seq2SeqLM.from_preset(str(output))) == texts(convert(folder))
    readme = (output / "README.md").read_text("utf-8")
    assert 'license: "cc-by-4.0"\n---\n\n# model\n' in readme
    assert f"converted from\n`{folder.name}`. License of the original: cc-by-4.0." in readme
    assert "aiayn-keras translate model <" in readme
    (tmp_path / "my model").mkdir()
    write_model_card(tmp_path / "my model", "tea")
    readme = (tmp_path / "my model" / "README.md").read_text("utf-8")
    assert "aiayn-keras translate 'my model' <" in readme
    assert "License of the original: not stated in its files." in readme
    (folder / "LICENSE").write_text("You may.")
    write_model_card(tmp_path / "my model", folder)
    readme = (tmp_path / "my model" / "README.md").read_text("utf-8")
    assert "License of the original: see its file `LICENSE`." in readme
    again = CliRunner().invoke(main, ["convert", str(folder), "--output", str(output)])
    assert again.exit_code == 1
    assert "exists already" in again.output


@pytest.mark.parametrize(
    ("field", "option", "stated"),
    [
        ("cc-by-4.0", ["--license", "mit"], ('"mit"', "mit")),
        pytest.param("[mit, gpl]", [], ('["mit", "gpl"]', "mit, gpl"), marks=pytest.mark.slow),
        pytest.param("{a: 1}", ["--license", "mit"], ('"mit"', "mit"), marks=pytest.mark.slow),
    ],
)
def test_the_license_is_that_of_the_option_else_those_of_the_readme(
    folder, tmp_path, field, option, stated
):
    (folder / "README.md").write_text(f"---\nlicense: {field}\n---\n")
    arguments = ["convert", str(folder), "--output", str(tmp_path / "model"), *option]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    readme = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert f"\nlicense: {stated[0]}\n---\n" in readme
    assert f"License of the original: {stated[1]}.\n" in readme


@pytest.fixture
def hub_double(folder, monkeypatch):
    """A double of the Hugging Face Hub that serves the folder; gives the names of the files."""
    found = []

    def download_double(handle, name):
        assert f"hf://{handle}" == ADDRESS
        if not (folder / name).exists():
            raise EntryNotFoundError(name)
        found.append(name)
        return str(folder / name)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download_double)
    return found


@pytest.mark.slow
def test_an_address_on_the_hub_is_downloaded_file_by_file(folder, hub_double):
    assert texts(TransformerSeq2SeqLM.from_preset(ADDRESS)) == texts(convert(folder))
    files = {"config.json", "source.spm", "target.spm", "vocab.json", "model.safetensors"}
    files |= {"tokenizer_config.json", "generation_config.json"}  # the settings of a search
    assert set(hub_double) == files


@pytest.mark.slow
def test_the_shards_that_an_index_names_are_downloaded(folder, hub_double):
    expected = texts(convert(folder))
    weights, moved = folder / "model.safetensors", folder / "model-1.safetensors"
    index = folder / "model.safetensors.index.json"
    with safetensors.safe_open(weights, "numpy") as file:
        index.write_text(json.dumps({"weight_map": dict.fromkeys(file.keys(), moved.name)}))
    weights.rename(moved)
    try:
        assert texts(TransformerSeq2SeqLM.from_preset(ADDRESS)) == expected
    finally:
        moved.rename(weights)
        index.unlink()
    assert {"model.safetensors.index.json", "model-1.safetensors"} <= set(hub_double)


def test_the_license_of_a_model_on_the_hub_is_found(folder, hub_double):
    (folder / "README.md").unlink(missing_ok=True)
    assert find_license(ADDRESS) is None
    (folder / "README.md").write_text("---\nlicense: mit\n---\n")
    assert find_license(ADDRESS) == "mit"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.safetensors", "neither model.safetensors nor .*index.json nor pytorch_model.bin"),
        ("vocab.json", "vocab.json. Or the hub cannot be reached"),
    ],
)
def test_what_is_missing_on_the_hub_is_named(folder, hub_double, name, message):
    (folder / name).rename(folder / "moved")
    try:
        with pytest.raises(FileNotFoundError, match=message):
            convert(ADDRESS)
    finally:
        (folder / "moved").rename(folder / name)


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="not a model that can be converted"):
        convert(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        convert(tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b'{"model_type": "mar', b"[1]"])
def test_a_damaged_configuration_is_named(content, tmp_path):
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"config\.json: .*It is damaged: copy it again"):
        convert(tmp_path)


def test_the_readme_names_folders_whose_names_are_not_utf_8(tmp_path):
    folder = tmp_path / os.fsdecode(b"model\xff")
    folder.mkdir()
    write_model_card(folder, tmp_path / os.fsdecode(b"opus\xfe"))
    assert "converted from\n`opus\\udcfe`" in (folder / "README.md").read_text("utf-8")


def test_a_converted_model_has_its_weights(folder):
    with pytest.raises(ValueError, match="`load_weights` must be True"):
        TransformerSeq2SeqLM.from_preset(folder, load_weights=False)


@pytest.mark.slow
def test_the_command_takes_the_engine_s_folder(folder, tmp_path):
    model = convert(folder)
    model.export(tmp_path / "engine", format="ctranslate2")
    output = tmp_path / "model"
    result = CliRunner().invoke(
        main, ["convert", str(tmp_path / "engine"), "--output", str(output)]
    )
    assert result.exit_code == 0, result.output
    assert texts(TransformerSeq2SeqLM.from_preset(output)) == texts(model)


def test_the_command_takes_a_checkpoint_with_its_dictionary(tmp_path):
    arguments = ["convert", str(tmp_path / "model.pt"), "--output", str(tmp_path / "model")]
    (tmp_path / "dict.en.txt").write_text("a 1\n")
    (tmp_path / "model.pt").write_text("damaged")
    result = CliRunner().invoke(main, [*arguments, "--dictionary", str(tmp_path / "dict.en.txt")])
    assert result.exit_code == 1
    assert "model.pt" in result.output
    assert not (tmp_path / "model").exists()
