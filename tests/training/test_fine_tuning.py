"""Trainings that begin with a model: whole, and with adapters (LoRA)."""

import json
import os
import signal
from pathlib import Path

import h5py
import keras
import pytest
import yaml

from aiayn_keras.data import ParallelText
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training import (
    RecipeError,
    list_checkpoints,
    load_recipe,
    train,
    write_average,
)
from aiayn_keras.training.building import build_model, build_translator, read_initial
from aiayn_keras.training.fitting import Checkpoints
from aiayn_keras.training.translation_scores import evaluate_bleu
from tests.cli.command import run
from tests.helpers import assert_close
from tests.runs import figures_of
from tests.training.fine_tuning import (
    FIELDS,
    PAIRS,
    RANK,
    SIZES,
    load,
    recipe_from,
    write_initial,
)

DEMO_MODEL = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"


@pytest.fixture(scope="module")
def initial(tmp_path_factory):
    return write_initial(tmp_path_factory.mktemp("models") / "initial")


@pytest.fixture(scope="module")
def adapted_run(initial, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "adapted"
    train(recipe_from(initial, f"model.lora_rank={RANK}"), folder)
    return folder


@pytest.fixture(scope="module")
def whole_run(initial, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    settings = ("training.updates=4", "training.bleu_every=4", "training.average_checkpoints=1")
    train(recipe_from(initial, "model.dropout=0.2", *settings), folder)
    return folder


def weights_of(folder):
    return {weight.path: keras.ops.convert_to_numpy(weight) for weight in load(folder).weights}


def changed(folder, initial):
    """Names of the weights that are not the initial ones, bit for bit."""
    ours, theirs = weights_of(folder), weights_of(initial)
    assert ours.keys() == theirs.keys()
    return {name for name in ours if ours[name].tobytes() != theirs[name].tobytes()}


@pytest.mark.slow
def test_the_warm_up_begins_with_the_first_update(adapted_run):
    rates = [row["learning_rate"] for row in json.loads((adapted_run / "history.json").read_text())]
    # Keras' optimizer is asked for the rate of the update to come.
    assert_close(rates, [0.02 * 5 / 20, 0.02 * 9 / 20])


@pytest.mark.slow
def test_rates_are_the_recipe_s_and_sizes_the_model_s(whole_run):
    backbone = load(whole_run).backbone
    assert backbone.dropout == 0.2
    assert {name: getattr(backbone, name) for name in SIZES} == SIZES
    assert backbone.attention_bias


def test_the_tokenizer_is_the_initial_model_s(whole_run, initial):
    protos = {load(folder).preprocessor.tokenizer.proto for folder in (whole_run, initial)}
    assert len(protos) == 1
    assert not (whole_run / "tokenizer.spm").exists()


def test_adapters_change_the_queries_and_values_and_nothing_else(adapted_run, initial):
    assert changed(adapted_run, initial) == {
        f"{attention}/{projection}/kernel"
        for attention in (
            "encoder_block_0/self_attention",
            "decoder_block_0/self_attention",
            "decoder_block_0/cross_attention",
        )
        for projection in ("query", "value")
    }


def test_the_search_is_that_of_the_recipe_and_otherwise_the_initial_model_s(whole_run):
    own = {"num_beams": 1}  # `max_length` may be there to evaluate sooner
    assert TransformerSeq2SeqLM.from_preset(str(whole_run)).search_defaults == own
    recipe = load_recipe(whole_run / "recipe.yaml")
    begun = read_initial(recipe)
    begun.model.search_defaults = {"num_beams": 5, "length_penalty": 1.0}
    model = build_model(recipe, begun.tokenizer, begun)
    translator = build_translator(model, recipe, begun.tokenizer, begun)
    assert translator.search_defaults == {"num_beams": 1, "length_penalty": 1.0}


def test_a_whole_training_changes_almost_everything(whole_run, initial):
    everything = weights_of(initial)
    # Attention does not depend on the biases of its keys.
    assert {name for name in everything if "key/bias" not in name} <= changed(whole_run, initial)


def interrupt_after_7_updates(self, batch, logs=None):
    """Test double of a person who presses Ctrl-C."""
    if int(self.model.optimizer.iterations) == 7:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def stopped_run(adapted_run, tmp_path_factory):
    """Folder of the same training, stopped."""
    folder = tmp_path_factory.mktemp("runs") / "stopped"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "on_train_batch_end", interrupt_after_7_updates)
        with pytest.raises(KeyboardInterrupt):
            train(load_recipe(adapted_run / "recipe.yaml"), folder)
    return folder


@pytest.fixture(name="of_other_weights")
def initial_model_of_other_weights(initial):
    """Changes the initial model for the time of a test."""
    paths = [initial / name for name in ("model.weights.h5", "SHA256SUMS")]
    kept = [path.read_bytes() for path in paths]
    paths[1].unlink()
    with h5py.File(paths[0], "a") as file:
        file.attrs["changed"] = "yes"
    yield
    for path, content in zip(paths, kept, strict=True):
        path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.usefixtures("of_other_weights")
def test_a_stopped_training_is_refused_with_another_initial_model(stopped_run, tmp_path):
    before = {path: path.read_bytes() for path in stopped_run.rglob("*.*") if path.is_file()}
    with pytest.raises(ValueError, match=r"the weights of .*initial \(`model.initial`\) changed"):
        train(load_recipe(stopped_run / "recipe.yaml"), stopped_run)
    with pytest.raises(ValueError, match="a fine-tuning of another model"):
        write_average(stopped_run, tmp_path / "mean", last=1)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.slow
def test_a_stopped_training_ends_with_the_very_same_weights(stopped_run, adapted_run):
    assert [update for update, _ in list_checkpoints(stopped_run / "checkpoints")] == [4]
    train(load_recipe(adapted_run / "recipe.yaml"), stopped_run)
    assert changed(stopped_run, adapted_run) == set()
    assert figures_of(stopped_run) == figures_of(adapted_run)
    ours, theirs = (run / "evaluation.json" for run in (stopped_run, adapted_run))
    assert ours.read_bytes() == theirs.read_bytes()


def test_checkpoints_hold_the_adapters_and_not_the_model(adapted_run):
    _, path = list_checkpoints(adapted_run / "checkpoints")[-1]
    with h5py.File(path) as file:
        assert file.keys() == {"adapters", "optimizer"}


def test_write_average_gives_the_model_that_the_training_gave(adapted_run, tmp_path):
    write_average(adapted_run, tmp_path / "mean")
    assert changed(tmp_path / "mean", adapted_run) == set()
    for name in ("adapters.h5", "inputs.json"):
        assert (tmp_path / "mean" / name).is_file()


# === The command ===


def test_info_says_what_a_model_was_fine_tuned_from(adapted_run, whole_run, initial):
    for folder, is_adapted in ((adapted_run, True), (whole_run, False)):
        result = run("info", folder)
        assert result.exit_code == 0, result.output
        assert f"fine-tuned from       {initial}" in result.stdout
        inputs = json.loads((folder / "inputs.json").read_text())
        assert inputs["initial"] in result.stdout
        assert (f"{RANK}; the adapters are merged" in result.stdout) == is_adapted
    assert "fine-tuned" not in run("info", initial).stdout


@pytest.fixture(scope="module")
def mixed_run(tmp_path_factory):
    """A fine-tuning of the demo model that harms it, with half of the text from another file."""
    folder = tmp_path_factory.mktemp("mixed")
    for name, pairs in (("new", PAIRS[:20]), ("old", PAIRS[20:]), ("held_out", PAIRS[:3])):
        lines = ("\t".join(pair) + "\n" for pair in pairs)
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    mix = {"train": [f"{folder}/old.tsv"], "test": [f"{folder}/held_out.tsv"], "share": 0.5}
    files = {"train": [f"{folder}/new.tsv"], "validation": [f"{folder}/held_out.tsv"]}
    recipe = {
        **FIELDS,
        "corpus": {**files, "mix": mix},
        "model": {"initial": str(DEMO_MODEL)},
        "optimizer": {"warmup_steps": 1, "peak_learning_rate": 1.0},
    }
    (folder / "mixed.yaml").write_text(yaml.safe_dump(recipe))
    printed = run("train", folder / "mixed.yaml", "--output", folder / "run")
    assert printed.exit_code == 0, printed.output
    return folder / "run", printed


@pytest.mark.slow
def test_old_text_is_mixed_in_and_both_domains_are_compared(mixed_run):
    folder, printed = mixed_run
    evaluation = json.loads((folder / "evaluation.json").read_text())
    new, old = evaluation["domains"]
    assert new == old  # here the same sentences stand for both
    assert (new["text"], new["bleu_after"]) == ("held_out.tsv", evaluation["bleu"])
    pairs = ParallelText(*zip(*PAIRS[:3], strict=True))
    settings = load_recipe(folder / "recipe.yaml").evaluation
    assert_close(new["bleu_before"], evaluate_bleu(load(DEMO_MODEL), pairs, settings).score)
    assert new["bleu_before"] > new["bleu_after"]
    row = f"held_out.tsv (3) {new['bleu_before']:.2f} {new['bleu_after']:.2f}"
    for output in (printed.output, run("info", folder).output):
        assert row in " ".join(output.split())


def test_prepared_shards_cannot_be_mixed(initial):
    with pytest.raises(RecipeError, match=r"`corpus\.mix` needs text"):
        recipe_from(initial, "corpus.shards=shards", "corpus.mix={name: demo}")
