"""Graphs whose parts can be switched off, compared with models that lack these parts."""

import numpy as np
import pytest
from keras import ops

from aiayn_keras.export.hugging_face_files import write_tokenizers
from aiayn_keras.export.onnx import write_graphs
from aiayn_keras.models import TransformerSeq2SeqLM
from tests.export.random_model import build_random_model
from tests.helpers import assert_close
from tests.number_words import train_tokenizer

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")

from tests.export.onnx_search import OnnxModel

SOURCES, TARGETS = np.array([[5, 6, 7, 3]]), np.array([[2, 8, 9, 10, 5]])
LAYERS = 2


@pytest.fixture
def model():
    return build_random_model(train_tokenizer(), 3, num_layers=LAYERS, position_embedding="learned")


@pytest.fixture
def graphs(model, tmp_path):
    """The model's graphs, made before a test changes the model."""
    write_tokenizers(tmp_path, model.preprocessor.tokenizer)
    write_graphs(model.backbone, tmp_path / "onnx", attention=True, switches=True)
    return OnnxModel(tmp_path)


def values(heads, **changes):
    """The inputs of encoder and decoder with everything on but for changes by input name."""
    shared = {
        "score_scale": np.ones(1, "float32"),
        "position_scale": np.ones(1, "float32"),
        "layer_mask": np.ones(LAYERS, bool),
    }
    masks = {
        name: np.ones((LAYERS, heads), "float32")
        for name in ("head_mask", "decoder_head_mask", "cross_attn_head_mask")
    }
    encoder = {**shared, "head_mask": masks.pop("head_mask")}
    decoder = {**shared, **masks, "causal": np.ones(1, bool)}
    return [
        {name: np.asarray(changes.get(name, value), value.dtype) for name, value in side.items()}
        for side in (encoder, decoder)
    ]


def logits_of(graphs, model, **changes):
    encoder, decoder = values(model.backbone.num_heads, **changes)
    mask = np.ones_like(SOURCES)
    inputs = {"input_ids": SOURCES, "attention_mask": mask, **encoder}
    memory = graphs.encoder.run(["last_hidden_state"], inputs)[0]
    memory = {"encoder_hidden_states": memory, "encoder_attention_mask": mask}
    return graphs.step({**memory, **decoder}, TARGETS)[0]


def expected_logits(model):
    return model(
        {
            "encoder_token_ids": SOURCES,
            "encoder_padding_mask": np.ones_like(SOURCES),
            "decoder_token_ids": TARGETS,
            "decoder_padding_mask": np.ones_like(TARGETS),
        }
    )


def blocks_of(model):
    return [*model.backbone.encoder_blocks, *model.backbone.decoder_blocks]


def attentions_of(model):
    for block in blocks_of(model):
        yield block.self_attention
    for block in model.backbone.decoder_blocks:
        yield block.cross_attention


def test_with_everything_on_it_is_the_model(graphs, model):
    assert_close(logits_of(graphs, model), expected_logits(model), rtol=0, atol=1e-4)


def test_a_head_that_is_off_adds_nothing(graphs, model):
    heads = model.backbone.num_heads
    mask = np.ones((LAYERS, heads))
    mask[1, 0] = 0
    names = ("head_mask", "decoder_head_mask", "cross_attn_head_mask")
    found = logits_of(graphs, model, **dict.fromkeys(names, mask))
    encoder, decoder = model.backbone.encoder_blocks[1], model.backbone.decoder_blocks[1]
    for attention in (encoder.self_attention, decoder.self_attention, decoder.cross_attention):
        kernel = ops.convert_to_numpy(attention.output_dense.kernel).copy()  # --> (H·K_v, D)
        kernel[: attention.value_dim] = 0
        attention.output_dense.kernel.assign(kernel)
    assert_close(found, expected_logits(model), rtol=0, atol=1e-4)
    assert not np.allclose(found, logits_of(graphs, model), atol=1e-2)


def test_the_weights_of_a_head_that_is_off_are_still_shown(graphs, model):
    encoder, _ = values(
        model.backbone.num_heads, head_mask=np.zeros((LAYERS, model.backbone.num_heads))
    )
    inputs = {"input_ids": SOURCES, "attention_mask": np.ones_like(SOURCES), **encoder}
    (weights,) = graphs.encoder.run(["encoder_attentions.0"], inputs)
    assert_close(weights.sum(axis=-1), np.ones(weights.shape[:-1]), atol=1e-5)


def test_a_layer_that_is_left_out_passes_on_its_input(graphs, model):
    found = logits_of(graphs, model, layer_mask=[True, False])
    backbone = first_layers(model.backbone)
    assert_close(found, expected_logits(TransformerSeq2SeqLM(backbone)), rtol=0, atol=1e-4)


def first_layers(backbone):
    """A backbone of one layer a side, with the weights of the first ones of another backbone."""
    shallow = type(backbone).from_config({**backbone.get_config(), "num_layers": 1})
    for name in ("token_embedding", "encoder_embedding", "decoder_embedding"):
        getattr(shallow, name).set_weights(getattr(backbone, name).get_weights())
    for name in ("encoder_blocks", "decoder_blocks"):
        getattr(shallow, name)[0].set_weights(getattr(backbone, name)[0].get_weights())
    return shallow


def test_a_scale_of_scores_is_one_of_the_queries(graphs, model):
    found = logits_of(graphs, model, score_scale=[3])
    for attention in attentions_of(model):
        for weight in attention.query_dense.weights:
            weight.assign(3 * weight)
    assert_close(found, expected_logits(model), rtol=0, atol=1e-4)


def test_without_positions_their_table_is_zero(graphs, model):
    found = logits_of(graphs, model, position_scale=[0])
    for embedding in (model.backbone.encoder_embedding, model.backbone.decoder_embedding):
        embedding.table.assign(np.zeros(embedding.table.shape))
    assert_close(found, expected_logits(model), rtol=0, atol=1e-4)


@pytest.mark.parametrize("causal", [True, False])
def test_without_the_causal_mask_the_first_position_sees_the_last(graphs, model, causal):
    before = logits_of(graphs, model, causal=[causal])
    TARGETS[0, -1] += 1
    try:
        after = logits_of(graphs, model, causal=[causal])
    finally:
        TARGETS[0, -1] -= 1
    assert np.allclose(before[:, 0], after[:, 0], atol=1e-5) == causal
