import inspect

import pytest

from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone

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


@pytest.mark.parametrize(
    ("row", "changes", "expected"),
    [
        ("big", TRANSFORMER_PRESETS["transformer_big"]["config"], 214_171_648),
        ("B", {"key_dim": 16}, 55_967_744),
        ("B", {"key_dim": 32}, 58_327_040),
        ("C", {"num_layers": 2}, 33_644_544),
        ("C", {"num_layers": 4}, 48_345_088),
        ("C", {"num_layers": 8}, 77_746_176),
        ("C", {"hidden_dim": 256, "key_dim": 32, "value_dim": 32}, 26_816_512),
        ("C", {"hidden_dim": 1024, "key_dim": 128, "value_dim": 128}, 163_815_424),
        ("C", {"intermediate_dim": 1024}, 50_450_432),
        ("C", {"intermediate_dim": 4096}, 88_236_032),
    ],
)
def test_rows_of_table_3_have_these_parameters(row, changes, expected):
    assert num_parameters(**base(**changes)) == expected


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
