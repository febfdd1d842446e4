"""Every row differs from the base model in what it says, and in nothing else."""

import keras
import pytest

from experiments.table3.layers import (
    BackboneWithoutResiduals,
    BackboneWithUnscaledAttention,
    BackboneWithUnscaledEmbedding,
    NoWarmup,
)
from experiments.table3.row_recipe import fingerprint, row_recipe
from experiments.table3.rows import BASE_RECIPE, PAPER_BASE, ROWS

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="The sweep runs on TensorFlow."
)
BY_NAME = {row.name: row for row in ROWS}
V = 10_000


def inverse_root(hidden_dim):
    """The peak of the learning rate by equation 3, which has d_model to the power of -0.5."""
    return pytest.approx(0.0035 * (128 / hidden_dim) ** 0.5, rel=1e-4)


DIFFERENCES = {
    "base": {},
    "h1": {"model.num_heads": 1},
    "h2": {"model.num_heads": 2},
    "h8": {"model.num_heads": 8},
    "k8": {"model.key_dim": 8},
    "k16": {"model.key_dim": 16},
    "n2": {"model.num_layers": 2},
    "n6": {"model.num_layers": 6},
    "d64": {"model.hidden_dim": 64, "optimizer.peak_learning_rate": inverse_root(64)},
    "d256": {"model.hidden_dim": 256, "optimizer.peak_learning_rate": inverse_root(256)},
    "f128": {"model.intermediate_dim": 128},
    "f512": {"model.intermediate_dim": 512},
    "dropout_00": {"model.dropout": 0.0},
    "smoothing_00": {"optimizer.label_smoothing": 0.0},
    "learned": {"model.position_embedding": "learned"},
    "no_key_scale": {},
    "no_embedding_scale": {},
    "no_residuals": {},
    "no_warmup": {},
    "pre_norm": {"model.normalize_first": True},
}
# Base, by hand: a layer of the encoder has 4·128² (attention) + 2·128·256 + 256 + 128
# (feed-forward) + 2·256 (norms) = 131,968, one of the decoder 197,760; four of each, and 10,000·128
# embeddings.
PARAMETERS = {
    "base": 2_598_912,
    "h1": 2_598_912,
    "k8": 2_598_912 - 12 * 2 * 128 * (128 - 32),  # 12 attentions, queries and keys
    "k16": 2_598_912 - 12 * 2 * 128 * (128 - 64),
    "n2": 2_598_912 - 2 * (131_968 + 197_760),
    "n6": 2_598_912 + 2 * (131_968 + 197_760),
    "d64": 1_103_872,
    "d256": 6_768_640,
    "f128": 2_598_912 - 8 * (2 * 128 * 128 + 128),
    "f512": 2_598_912 + 8 * (2 * 128 * 256 + 256),
    "learned": 2_598_912 + 2 * 256 * 128,  # a table on either side
    "no_key_scale": 2_598_912,
    "no_residuals": 2_598_912,
    "pre_norm": 2_598_912 + 2 * 2 * 128,  # one more normalization on either side
}


def settings(recipe):
    sections = recipe.model_dump(mode="json")
    return {
        f"{section}.{name}": value
        for section, fields in sections.items()
        for name, value in fields.items()
    }


@pytest.mark.parametrize("name", BY_NAME)
def test_a_row_differs_from_the_base_in_its_settings(name):
    base = settings(row_recipe(BY_NAME["base"], BASE_RECIPE, seed=3))
    row = settings(row_recipe(BY_NAME[name], BASE_RECIPE, seed=3))
    assert {key: row[key] for key in row if row[key] != base[key]} == DIFFERENCES[name]
    assert base["training.seed"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_row_has_the_parameters_that_it_says(name):
    model = row_recipe(BY_NAME[name], BASE_RECIPE, seed=1).model.build(V, "float32")
    assert sum(int(keras.ops.size(each)) for each in model.trainable_variables) == PARAMETERS[name]


@pytest.mark.parametrize(
    ("name", "backbone_cls"),
    [
        ("no_key_scale", BackboneWithUnscaledAttention),
        ("no_embedding_scale", BackboneWithUnscaledEmbedding),
        ("no_residuals", BackboneWithoutResiduals),
    ],
)
def test_a_row_without_a_part_trains_such_a_model(name, backbone_cls):
    recipe = row_recipe(BY_NAME[name], BASE_RECIPE, seed=1)
    assert type(recipe.build_model(20).backbone) is backbone_cls


def test_the_row_without_warmup_trains_with_such_a_schedule():
    optimizer = row_recipe(BY_NAME["no_warmup"], BASE_RECIPE, seed=1).optimizer.build(128)
    base = row_recipe(BY_NAME["base"], BASE_RECIPE, seed=1).optimizer
    assert float(optimizer._learning_rate(0)) == pytest.approx(base.peak_learning_rate)
    assert type(optimizer._learning_rate) is NoWarmup
    assert (optimizer.beta_2, optimizer.epsilon) == (0.98, 1e-9)


def test_fingerprints_tell_rows_and_base_recipes_apart(tmp_path):
    assert len({fingerprint(row, BASE_RECIPE) for row in ROWS}) == len(ROWS)
    same, other = tmp_path / "same.yaml", tmp_path / "other.yaml"
    text = BASE_RECIPE.read_text("utf-8")
    same.write_text(f"# another comment\n{text}", "utf-8")
    other.write_text(text.replace("warmup_steps: 2", "warmup_steps: 3"), "utf-8")
    row = BY_NAME["h1"]
    assert fingerprint(row, BASE_RECIPE) == fingerprint(row, same) != fingerprint(row, other)


def test_the_papers_rows_are_those_of_its_table():
    # Table 3 of the paper: BLEU on newstest2013.
    ours = {row.name: row.paper.bleu for row in ROWS if row.paper is not None}
    assert ours == {
        "base": 25.8, "h1": 24.9, "h2": 25.5, "h8": 25.8, "k8": 25.1, "k16": 25.4, "n2": 25.3,
        "n6": 25.5, "d64": 24.5, "d256": 26.0, "f128": 25.4, "f512": 26.2, "dropout_00": 24.6,
        "smoothing_00": 25.3, "learned": 25.7,
    }  # fmt: skip
    assert PAPER_BASE.perplexity == 4.92
