import inspect

import keras
import numpy as np
import pytest

from aiayn_keras.models import TransformerBackbone
from tests.helpers import B, S, T, assert_close
from tests.layers.helpers import clone, normal, randomize, to_numpy

V, W = 19, 4
TINY = {"vocabulary_size": V, "num_layers": 2, "num_heads": 3, "hidden_dim": 12} | {
    "intermediate_dim": 11,
    "max_sequence_length": 16,
}
VARIANTS = {
    "paper": {},
    "pre-norm": {"normalize_first": True},
    "learned positions": {"position_embedding": "learned"},
    "biases": {"attention_bias": True},
    "other widths": {"key_dim": 2, "value_dim": 5, "activation": "swish"},
}
variants = pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)


def backbone(**options):
    return randomize(TransformerBackbone(**{**TINY, **options}))


def inputs(source_mask=None, target_mask=None):
    """Random tokens; where there is no mask, two whole sentences."""
    source_mask = np.ones((B, S), "int32") if source_mask is None else np.array(source_mask)
    target_mask = np.ones((B, T), "int32") if target_mask is None else np.array(target_mask)
    return {
        "encoder_token_ids": np.random.randint(4, V, source_mask.shape),
        "encoder_padding_mask": source_mask,
        "decoder_token_ids": np.random.randint(4, V, target_mask.shape),
        "decoder_padding_mask": target_mask,
    }


def outputs(model, x):
    y = model(x)
    return to_numpy(y["encoder_sequence_output"]), to_numpy(y["decoder_sequence_output"])


def close(actual, expected):
    assert_close(actual, expected, 1e-4, 1e-4)


@variants
def test_more_padding_changes_nothing(options):
    model, x = backbone(**options), inputs()
    padded = {name: np.pad(array, [(0, 0), (0, 3)]) for name, array in x.items()}
    padded["encoder_token_ids"][:, S:] = 7
    padded["decoder_token_ids"][:, T:] = 8
    (memory, hidden), (padded_memory, padded_hidden) = outputs(model, x), outputs(model, padded)
    close(padded_memory[:, :S], memory)
    close(padded_hidden[:, :T], hidden)


@variants
def test_packed_sentences_are_as_alone(options):
    """Sentences of 2, 3 and 4 source and 3, 1 and 2 target tokens in one row."""
    model = backbone(**options)
    sources, targets = (2, 3, 4), (3, 1, 2)
    x = inputs([np.repeat([1, 2, 3, 0], [*sources, 1])], [np.repeat([1, 2, 3, 0], [*targets, 1])])
    memory, hidden = outputs(model, x)
    for i in range(3):
        source = slice(sum(sources[:i]), sum(sources[: i + 1]))
        target = slice(sum(targets[:i]), sum(targets[: i + 1]))
        alone = {
            name: array[:, source if name.startswith("encoder") else target]
            for name, array in x.items()
        }
        for side in ("encoder", "decoder"):
            alone[f"{side}_padding_mask"] = np.ones_like(alone[f"{side}_padding_mask"])
        memory_alone, hidden_alone = outputs(model, alone)
        close(memory[:, source], memory_alone)
        close(hidden[:, target], hidden_alone)


@variants
def test_a_later_token_changes_no_earlier_output_and_its_own(options):
    model, x = backbone(**options), inputs()
    _, hidden = outputs(model, x)
    for t in (1, 4, T - 1):
        changed = {**x, "decoder_token_ids": x["decoder_token_ids"].copy()}
        changed["decoder_token_ids"][:, t:] = (changed["decoder_token_ids"][:, t:] + 1) % V
        _, new = outputs(model, changed)
        assert_close(new[:, :t], hidden[:, :t])
        assert (np.abs(new[:, t] - hidden[:, t]).max(axis=-1) > 1e-4).all()


def test_every_source_token_matters_to_every_target_position():
    model, x = backbone(), inputs()
    _, hidden = outputs(model, x)
    for s in range(S):
        changed = {**x, "encoder_token_ids": x["encoder_token_ids"].copy()}
        changed["encoder_token_ids"][:, s] = (changed["encoder_token_ids"][:, s] + 1) % V
        _, new = outputs(model, changed)
        assert (np.abs(new - hidden).max(axis=-1) > 1e-5).all()


def test_both_embeddings_are_one_matrix():
    model = backbone()
    matrices = [weight for weight in model.weights if V in weight.shape]
    assert [tuple(matrix.shape) for matrix in matrices] == [(V, 12)]
    x = inputs()
    before = outputs(model, x)
    model.token_embedding.embeddings.assign(normal(V, 12))
    for old, new in zip(before, outputs(model, x), strict=True):
        assert np.abs(new - old).max() > 0.1


def test_embeddings_start_with_unit_length():
    embeddings = to_numpy(
        TransformerBackbone(**{**TINY, "hidden_dim": 120}).token_embedding.embeddings
    )
    assert 0.9 < np.sqrt((embeddings**2).sum(axis=-1)).mean() < 1.1


def test_pre_norm_ends_with_a_normalization():
    model = TransformerBackbone(**TINY, normalize_first=True)
    for y in outputs(model, inputs()):
        assert_close(y.mean(axis=-1), np.zeros(y.shape[:2]), atol=1e-4)
        assert_close(y.std(axis=-1), np.ones(y.shape[:2]), rtol=1e-2)


def test_attention_bias_and_learned_positions_are_weights():
    paper = TransformerBackbone(**TINY).count_params()
    attention_biases = 2 * 3 * 4 * 12  # layers, attentions, projections, width
    assert TransformerBackbone(**TINY, attention_bias=True).count_params() - paper == (
        attention_biases
    )
    tables = 2 * 16 * 12  # one on either side
    learned = TransformerBackbone(**TINY, position_embedding="learned")
    assert learned.count_params() - paper == tables
    norms = 2 * 2 * 12
    assert TransformerBackbone(**TINY, normalize_first=True).count_params() - paper == norms


def test_half_precision_stays_near():
    model = backbone()
    half = TransformerBackbone(**TINY, dtype="mixed_bfloat16")
    half.set_weights(model.get_weights())
    x = inputs()
    y = half(x)["decoder_sequence_output"]
    assert keras.backend.standardize_dtype(y.dtype) == "bfloat16"
    assert np.abs(to_numpy(y) - outputs(model, x)[1]).mean() < 0.05


@pytest.mark.parametrize("widths", [{}, {"key_dim": 4}, {"value_dim": 4}])
def test_heads_that_do_not_divide_the_width_are_refused(widths):
    with pytest.raises(ValueError, match=r"multiple of `num_heads`.*hidden_dim=14, num_heads=3"):
        TransformerBackbone(V, num_heads=3, hidden_dim=14, **widths)


ALL_OPTIONS = {
    **TINY,
    "num_layers": None,
    "num_encoder_layers": 3,
    "num_decoder_layers": 1,
    "key_dim": 2,
    "value_dim": 5,
    "dropout": 0.25,
    "attention_dropout": 0.125,
    "activation_dropout": 0.0625,
    "activation": "gelu",
    "attention_bias": True,
    "normalize_first": True,
    "tie_weights": False,
    "logits_bias": True,
    "position_embedding": "given",
    "layer_norm_epsilon": 1e-3,
}


def test_the_options_above_are_all_there_are():
    parameters = inspect.signature(TransformerBackbone).parameters
    assert ALL_OPTIONS.keys() == parameters.keys() - {"dtype", "kwargs"}
    assert all(ALL_OPTIONS[name] != parameters[name].default for name in ALL_OPTIONS)


def test_config_round_trip():
    model = TransformerBackbone(**ALL_OPTIONS)
    config = clone(model).get_config()
    assert config == model.get_config()
    assert ALL_OPTIONS.items() <= config.items()


@pytest.mark.parametrize("options", [{}, ALL_OPTIONS], ids=["paper", "everything"])
def test_a_preset_and_a_keras_file_hold_the_model(options, tmp_path):
    model, x = backbone(**options), inputs()
    model.save_to_preset(tmp_path / "preset")
    model.save(tmp_path / "model.keras")
    for other in (
        TransformerBackbone.from_preset(str(tmp_path / "preset")),
        keras.saving.load_model(tmp_path / "model.keras"),
    ):
        assert isinstance(other, TransformerBackbone)
        for actual, expected in zip(outputs(other, x), outputs(model, x), strict=True):
            assert_close(actual, expected)
