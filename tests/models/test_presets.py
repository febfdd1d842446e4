import inspect
import math
from pathlib import Path

import keras
import pytest

from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone, TransformerSeq2SeqLM

DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(TransformerBackbone).parameters.items()
}
V = 37_000


def num_parameters(
    num_layers,
    num_heads,
    hidden_dim,
    intermediate_dim,
    key_dim=None,
    value_dim=None,
    vocabulary_size=V,
    **without_weights,
):
    """Trainable parameters: one embedding matrix, no attention biases (paper 3)."""
    key_dim, value_dim = (dim or hidden_dim // num_heads for dim in (key_dim, value_dim))
    attention = 2 * hidden_dim * num_heads * (key_dim + value_dim)
    feed_forward = 2 * hidden_dim * intermediate_dim + intermediate_dim + hidden_dim
    norm = 2 * hidden_dim
    encoder_block = attention + feed_forward + 2 * norm
    decoder_block = 2 * attention + feed_forward + 3 * norm
    return vocabulary_size * hidden_dim + num_layers * (encoder_block + decoder_block)


def base(**changes):
    names = ("num_layers", "num_heads", "hidden_dim", "intermediate_dim")
    return {**{name: DEFAULTS[name] for name in names}, **changes}


def test_base_model_has_the_paper_s_parameters():
    model = TransformerBackbone.from_preset(
        "transformer_base", vocabulary_size=V, load_weights=False
    )
    assert model.count_params() == num_parameters(**base()) == 63_045_632


TABLE_3 = {
    "transformer_base": 63_045_632,
    **{f"transformer_base_h{heads}": 63_045_632 for heads in (1, 4, 16, 32)},
    "transformer_base_k16": 55_967_744,
    "transformer_base_k32": 58_327_040,
    "transformer_base_n2": 33_644_544,
    "transformer_base_n4": 48_345_088,
    "transformer_base_n8": 77_746_176,
    "transformer_base_d256": 26_816_512,
    "transformer_base_d1024": 163_815_424,
    "transformer_base_f1024": 50_450_432,
    "transformer_base_f4096": 88_236_032,
    "transformer_base_dropout_00": 63_045_632,
    "transformer_base_dropout_02": 63_045_632,
    "transformer_base_smoothing_00": 63_045_632,
    "transformer_base_smoothing_02": 63_045_632,
    "transformer_base_learned": 63_045_632 + 2 * 1024 * 512,
    "transformer_big": 214_171_648,
}


@pytest.mark.parametrize("name", TABLE_3)
def test_rows_of_table_3_have_these_parameters(name):
    with keras.StatelessScope(initialize_variables=False):  # shapes, no memory
        model = TransformerBackbone.from_preset(name, vocabulary_size=V, load_weights=False)
    trainable = sum(math.prod(variable.shape) for variable in model.trainable_variables)
    assert trainable == TABLE_3[name]


def test_every_preset_but_the_tiny_one_and_the_parser_is_a_row_of_table_3():
    others = {"transformer_tiny", "transformer_parsing"}
    assert TRANSFORMER_PRESETS.keys() - others == TABLE_3.keys()


def test_the_parser_is_section_6_3_s():
    config = TRANSFORMER_PRESETS["transformer_parsing"]["config"]
    assert (config["num_layers"], config["hidden_dim"]) == (4, 1024)
    rest = config.keys() - {"num_layers", "hidden_dim", "dropout", "attention_dropout"}
    assert not rest


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("transformer_base_h1", {"num_heads": 1, "key_dim": 512, "value_dim": 512}),
        ("transformer_base_h4", {"num_heads": 4, "key_dim": 128, "value_dim": 128}),
        ("transformer_base_h16", {"num_heads": 16, "key_dim": 32, "value_dim": 32}),
        ("transformer_base_h32", {"num_heads": 32, "key_dim": 16, "value_dim": 16}),
        ("transformer_base_k16", {"key_dim": 16}),
        ("transformer_base_d256", {"hidden_dim": 256, "key_dim": 32, "value_dim": 32}),
        ("transformer_base_d1024", {"hidden_dim": 1024, "key_dim": 128, "value_dim": 128}),
        ("transformer_base_dropout_00", {"dropout": 0.0}),
        ("transformer_base_dropout_02", {"dropout": 0.2}),
        ("transformer_base_smoothing_00", {}),
        ("transformer_base_smoothing_02", {}),
        ("transformer_base_learned", {"position_embedding": "learned"}),
    ],
)
def test_a_row_changes_what_the_paper_changes_and_nothing_else(name, changes):
    with keras.StatelessScope(initialize_variables=False):
        base, row = (
            TransformerBackbone.from_preset(preset, vocabulary_size=V, load_weights=False)
            for preset in ("transformer_base", name)
        )
    ignored = {"name": None, **changes}
    assert {**base.get_config(), **ignored} == {**row.get_config(), "name": None}


def test_label_smoothing_is_the_paper_s():
    rates = {name: preset["label_smoothing"] for name, preset in TRANSFORMER_PRESETS.items()}
    assert rates.pop("transformer_base_smoothing_00") == 0.0
    assert rates.pop("transformer_base_smoothing_02") == 0.2
    assert set(rates.values()) == {0.1}


@pytest.mark.parametrize(
    "changes",
    [{}, {"num_layers": 3}, {"key_dim": 2}, {"value_dim": 5}, {"hidden_dim": 18}],
    ids=str,
)
def test_built_models_have_the_parameters_of_the_formula(changes):
    config = {
        "vocabulary_size": 19,
        "num_layers": 2,
        "num_heads": 3,
        "hidden_dim": 12,
        "intermediate_dim": 11,
        **changes,
    }
    assert TransformerBackbone(**config).count_params() == num_parameters(**config)


@pytest.mark.parametrize("name", TRANSFORMER_PRESETS)
def test_presets_name_arguments_of_the_backbone(name):
    preset = TRANSFORMER_PRESETS[name]
    assert preset["description"]
    assert preset["config"].keys() <= DEFAULTS.keys()


def test_big_model_is_the_paper_s():
    config = {**DEFAULTS, **TRANSFORMER_PRESETS["transformer_big"]["config"]}
    assert (config["num_layers"], config["num_heads"], config["dropout"]) == (6, 16, 0.3)
    assert (config["hidden_dim"], config["intermediate_dim"]) == (1024, 4096)


def test_base_model_is_the_paper_s():
    assert TRANSFORMER_PRESETS["transformer_base"]["config"] == {}
    assert DEFAULTS["num_layers"] == 6
    assert DEFAULTS["num_heads"] == 8
    assert (DEFAULTS["hidden_dim"], DEFAULTS["intermediate_dim"]) == (512, 2048)
    assert DEFAULTS["dropout"] == 0.1
    assert DEFAULTS["activation"] == "relu"
    assert DEFAULTS["position_embedding"] == "sinusoidal"
    assert not DEFAULTS["attention_bias"] | DEFAULTS["normalize_first"]


def test_arguments_replace_the_preset_s():
    model = TransformerBackbone.from_preset(
        "transformer_tiny", vocabulary_size=19, num_layers=1, load_weights=False
    )
    assert (model.num_layers, model.hidden_dim, model.vocabulary_size) == (1, 128, 19)


def test_a_named_architecture_has_no_weights_to_load():
    with pytest.raises(ValueError, match=r"pass `load_weights=False`"):
        TransformerBackbone.from_preset("transformer_base", vocabulary_size=V)


def test_a_named_architecture_needs_a_vocabulary_size():
    with pytest.raises(ValueError, match="needs `vocabulary_size`"):
        TransformerBackbone.from_preset("transformer_base", load_weights=False)


def test_an_unknown_preset_is_refused(tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match="transformer_huge"):
        TransformerBackbone.from_preset(str(tmp_path / "transformer_huge"), load_weights=False)


@pytest.mark.slow
def test_weights_that_were_saved_before_are_found():
    """The shipped model's file names weights by the classes of their layers."""
    folder = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
    model = TransformerSeq2SeqLM.from_preset(str(folder))
    assert model.translate(["The girl is happy."])[0].text == "Das Mädchen ist glücklich."
