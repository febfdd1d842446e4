"""Models exported to OpenVINO, run as the README in their folder says."""

import importlib.util
from pathlib import Path

import pytest

from aiayn_keras.data.demo import generate_demo_pairs
from aiayn_keras.export import export_openvino
from aiayn_keras.models import TransformerSeq2SeqLM
from tests.export.random_model import build_hasty_model
from tests.snippets import read_sections

for package in ("openvino", "onnx", "tokenizers"):
    pytest.importorskip(package)

DEMO = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"


@pytest.fixture(scope="module")
def demo():
    return TransformerSeq2SeqLM.from_preset(str(DEMO))


@pytest.fixture(scope="module")
def exported(demo, tmp_path_factory):
    """Folders by the number format of their weights."""
    parent = tmp_path_factory.mktemp("openvino")
    return {
        weights: demo.export(parent / weights, format="openvino", weights=weights)
        for weights in ("float32", "float16")
    }


def readme_program(folder):
    """The README's program, as a function of the text."""
    readme = (folder / "README.md").read_text(encoding="utf-8")
    blocks = [block for section in read_sections(readme, "README") for block in section.blocks]
    (code,) = (block.text for block in blocks if block.language == "python")
    return lambda text: exec(code.replace("A text.", text), {})


def test_greedy_translations_are_ours(demo, exported, monkeypatch, capsys):
    sentences = generate_demo_pairs(3, seed=7, split="test").sources
    folders = exported["float32"], exported["float32"], exported["float16"]
    for folder, sentence in zip(folders, sentences, strict=True):
        monkeypatch.chdir(folder)
        readme_program(folder)(sentence)
    expected = demo.translate(list(sentences), num_beams=1, length_penalty=0.0)
    assert capsys.readouterr().out.splitlines() == [each.text for each in expected]


def test_the_readme_never_writes_nothing(demo, seed, tmp_path, monkeypatch, capsys):
    model = build_hasty_model(demo.preprocessor.tokenizer, seed)
    folder = export_openvino(model, tmp_path / "hasty")
    monkeypatch.chdir(folder)
    readme_program(folder)("Good.")
    expected = model.translate("Good.", num_beams=1, length_penalty=0.0).text
    assert capsys.readouterr().out.strip() == expected != ""


def test_float16_halves_the_files(exported):
    sizes = [sum(p.stat().st_size for p in f.glob("*.bin")) for f in exported.values()]
    assert sizes[1] < 0.51 * sizes[0]


def test_unknown_weights_are_refused(demo, tmp_path):
    with pytest.raises(ValueError, match=r"`weights` must be .*float16.*'int8'"):
        export_openvino(demo, tmp_path / "demo", weights="int8")
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_tokenizer_is_refused(demo, tmp_path):
    with pytest.raises(ValueError, match="no `preprocessor`"):
        export_openvino(TransformerSeq2SeqLM(demo.backbone), tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []


def test_without_openvino_the_error_says_what_to_install(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name != "openvino" or None)
    with pytest.raises(ImportError, match=r"package openvino, .*pip install 'aiayn-keras\[interop"):
        export_openvino(demo, tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []
