"""The program that scores a parser, run on a model with random weights."""

import json

import pytest
from click.testing import CliRunner

from aiayn_keras.models import TransformerSeq2SeqLM, text_preprocessor
from aiayn_keras.training import load_recipe
from aiayn_keras.training.training_data import read_corpus
from experiments.parsing.__main__ import main

PUNCTUATION = "(. .)"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A model folder of a training on trees that has not learned anything."""
    folder = tmp_path_factory.mktemp("parser")
    trees = [
        f"( (S (NP-SBJ (DT a) (NN n{n % 9})) (VP (VB v{n % 7}) (NP (NN n{n % 5}))) {PUNCTUATION}) )"
        for n in range(60)
    ]
    (folder / "trees.mrg").write_text("\n".join([*trees, f"(S (VP (VB go)) {PUNCTUATION})"]))
    recipe = load_recipe(
        "craft_parsing_small",
        [
            "corpus.name=null",
            f"corpus.train=[{folder}/trees.mrg]",
            f"corpus.validation=[{folder}/trees.mrg]",
            "corpus.tree_leaves=XX",
            "tokenizer.vocabulary_size=30",
            "model.num_layers=1",
            "model.num_heads=1",
            "model.hidden_dim=8",
            "model.intermediate_dim=8",
            "evaluation.num_beams=2",
            "evaluation.extra_length=20",
        ],
    )
    tokenizer = read_corpus(recipe).train.make_tokenizer()
    backbone = recipe.model.build(tokenizer.vocabulary_size(), "float32")
    model = TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone))
    model.save_to_preset(str(folder / "run"))
    (folder / "run" / "recipe.yaml").write_text(recipe.to_yaml())
    return folder / "run"


@pytest.mark.slow
def test_scores_of_both_searches_and_the_baselines_are_written_with_pictures(
    model_folder, tmp_path
):
    output = tmp_path / "scores"
    arguments = [str(model_folder), "--output", str(output), "--limit", "20"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    scores = json.loads((output / "scores.json").read_text())
    rows = {(row["parser"], row["words"]): row for row in scores["rows"]}
    assert rows["PCFG", "all"]["f1"] == 100.0
    # Of S(0,4) NP(0,2) VP(2,4) NP(3,4), a root S and three NP of it find the first and the last.
    assert rows["right-branching (NP)", "all"]["f1"] == pytest.approx(50.0, abs=2.0)
    assert rows["free", "all"]["well_formed"] < 50.0
    assert rows["free, repaired", "all"]["well_formed"] == 100.0
    # Whatever the weights are, only trees of the sentence can be written.
    assert rows["balanced", "all"]["well_formed"] == 100.0
    assert rows["balanced", "≤ 40"]["sentences"] == rows["free", "all"]["sentences"] == 16
    assert len((output / "balanced.txt").read_text().splitlines()) == 16
    assert scores["recipe"]["corpus"]["tree_leaves"] == "XX"
    assert scores["commit"]
    assert (output / "scores.md").read_text() in result.output


def test_a_corpus_without_trees_is_refused(model_folder, tmp_path):
    arguments = [str(model_folder), "--output", str(tmp_path / "no"), "--set", "corpus.name=demo"]
    settings = ["train", "validation", "tree_leaves"]
    settings = [part for name in settings for part in ("--set", f"corpus.{name}=null")]
    result = CliRunner().invoke(main, [*arguments, *settings])
    assert "The recipe's corpus holds no trees" in result.output
    assert not (tmp_path / "no").exists()


def test_a_baseline_alone_needs_no_weights(model_folder, tmp_path):
    (tmp_path / "run").mkdir()
    recipe = (model_folder / "recipe.yaml").read_text()
    (tmp_path / "run" / "recipe.yaml").write_text(recipe)
    arguments = [str(tmp_path / "run"), "--parser", "pcfg", "--output", str(tmp_path / "scores")]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    scores = json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert [row["parser"] for row in scores["rows"]] == ["PCFG"] * 2
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == [
        "scores.json",
        "scores.md",
    ]
