"""Parts of one's own: the search computes what training computes, or an export refuses them."""

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM, TransformerSeq2SeqLMPreprocessor
from aiayn_keras.decoding.cached_decoding import start_decoding
from aiayn_keras.decoding.frozen_decoder import own_parts
from aiayn_keras.layers import AddNorm, DecoderBlock, MultiHeadAttention, make_attention_mask
from tests.helpers import assert_close, slow_but

SOURCES = ["drei sieben", "eins null vier neun", "zwei"]


class RMSNorm(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=shape[-1:], initializer="ones")

    def call(self, x):
        return x * ops.rsqrt(ops.mean(ops.square(x), axis=-1, keepdims=True) + 1e-6) * self.scale


class AddRMSNorm(AddNorm):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.layer_norm = RMSNorm()


class NearAttention(MultiHeadAttention):
    """ALiBi (https://arxiv.org/abs/2108.12409), with one slope: what is far counts less."""

    def _attend(self, query, key, value, mask, training):
        query, width = self._split_heads(query, self.key_dim), self.key_dim**0.5
        places = [ops.arange(ops.shape(x)[2], dtype="float32") for x in (query, key)]
        far = ops.abs(ops.expand_dims(places[0], 1) - places[1])
        scores = ops.matmul(query, ops.swapaxes(key, 2, 3)) / width - 0.5 * far
        if mask is not None:
            scores = ops.where(ops.expand_dims(mask, 1), scores, -1e9)
        return self.output_dense(self._join_heads(ops.matmul(ops.softmax(scores), value)))


class BlockWithRMSNorm(DecoderBlock):
    add_norm_cls = AddRMSNorm


class BlockWithNearAttention(DecoderBlock):
    attention_cls = NearAttention


class GatedBlock(DecoderBlock):
    """A gate beside the feed-forward network (https://arxiv.org/abs/2002.05202)."""

    def build(self, x_shape, memory_shape):
        super().build(x_shape, memory_shape)
        self.gate = keras.layers.Dense(x_shape[-1], activation="sigmoid")
        self.gate.build(x_shape)

    def call(self, x, memory, self_mask=None, memory_mask=None, training=None):
        return super().call(x, memory, self_mask, memory_mask, training) * self.gate(x)


BLOCKS = {
    "rms": (BlockWithRMSNorm, ["AddRMSNorm", "BlockWithRMSNorm", "OwnBackbone", "RMSNorm"]),
    "near": (BlockWithNearAttention, ["BlockWithNearAttention", "NearAttention", "OwnBackbone"]),
    "gated": (GatedBlock, ["GatedBlock", "OwnBackbone"]),
}


@pytest.fixture(scope="module", params=slow_but(["rms", "gated"], BLOCKS))
def block(request):
    return request.param


@pytest.fixture(scope="module")
def own_model(block, tokenizer):
    class OwnBackbone(TransformerBackbone):
        decoder_block_cls = block[0]

    return random_model(OwnBackbone, tokenizer)


def random_model(backbone_cls, tokenizer):
    keras.utils.set_random_seed(3)
    size = tokenizer.vocabulary_size()
    backbone = backbone_cls(size, 2, 2, 16, 32, max_sequence_length=24, dropout=0.0)
    for weight in backbone.trainable_variables:  # so that outputs differ from word to word
        weight.assign(2.5 * weight)
    return TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 24, 24))


def test_logits_of_layers_are_float32_in_half_precision():
    """An ensemble would average rounded ones."""

    class OwnBlock(DecoderBlock):
        def call(self, x, memory, self_mask=None, memory_mask=None, training=None):
            return super().call(x, memory, self_mask, memory_mask, training)

    class OwnBackbone(TransformerBackbone):
        decoder_block_cls = OwnBlock

    backbone = OwnBackbone(9, 1, 1, 4, 4, max_sequence_length=8, dtype="bfloat16")
    ids = ops.ones((1, 3), "int32")
    next_token, cache = start_decoding(backbone, ids, ids, 4, 2)
    logits, hidden_states, _ = next_token(ops.ones((2, 4), "int32"), cache, 1)
    assert {keras.backend.standardize_dtype(x.dtype) for x in (logits, hidden_states)} == {
        "float32"
    }


def test_a_search_computes_what_the_layers_do(own_model, block):
    assert own_parts(own_model.backbone) == block[1]
    assert own_parts(TransformerBackbone(9, 1, 1, 4, 4)) == []
    greedy = own_model.translate(SOURCES, 1, 0.0)
    found = own_model.translate(SOURCES, num_beams=3, max_length=8)
    for source, translations in zip(SOURCES, zip(greedy, found, strict=True), strict=True):
        for each in translations:  # the layers over the very tokens that were found
            assert_close(each.score, score_of(own_model, source, each), 1e-4, 1e-4)
    one = own_model.translate(SOURCES[:1], num_beams=3, max_length=8)[0]
    assert (one.text, one.tokens) == (found[0].text, found[0].tokens)
    own_model.compile(sampler="greedy")
    generated = own_model.generate(SOURCES, max_length=24)
    assert all(map(str.startswith, (each.text for each in greedy), generated))


def score_of(model, source, translation):
    tokenizer = model.preprocessor.tokenizer
    ids = [tokenizer.token_to_id(token) for token in translation.tokens] + [tokenizer.end_token_id]
    encoder = ops.convert_to_tensor([[*tokenizer(source), tokenizer.end_token_id]], "int32")
    decoder = ops.convert_to_tensor([[tokenizer.start_token_id, *ids[:-1]]], "int32")
    inputs = {"encoder_token_ids": encoder, "encoder_padding_mask": ops.ones_like(encoder)}
    inputs |= {"decoder_token_ids": decoder, "decoder_padding_mask": ops.ones_like(decoder)}
    log_probs = ops.convert_to_numpy(ops.log_softmax(ops.cast(model(inputs), "float32")))
    return sum(log_probs[0, place, token] for place, token in enumerate(ids))


def test_what_needs_the_usual_decoder_is_refused_by_name(own_model, block, tmp_path):
    names = ", ".join(block[1])
    with pytest.raises(ValueError, match=f"`coverage_penalty` .*{names}"):
        own_model.translate(SOURCES, coverage_penalty=0.2)
    with pytest.raises(ValueError, match=f"parts of your own, {names}"):
        own_model.record_search(SOURCES[0])
    pytest.importorskip("ctranslate2")
    pytest.importorskip("onnx")
    pytest.importorskip("tokenizers")
    for form in ("ctranslate2", "onnx", "hf_marian"):
        with pytest.raises(ValueError, match=r"cannot hold parts of your own, .*A SavedModel can"):
            own_model.export(tmp_path / form, format=form)
        assert not (tmp_path / form).exists()
    pytest.importorskip("tensorflow")
    with pytest.raises(ValueError, match=rf"LiteRT cannot hold parts of your own, {names}"):
        own_model.export(tmp_path / "litert", format="litert")


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="One backend is enough.")
def test_a_saved_model_computes_it_too(own_model, block, tmp_path):
    if block is not BLOCKS["near"]:
        pytest.skip("One part is enough.")
    from tests.export.served import Served

    served = Served(own_model.export(tmp_path / "own"))
    answer = served("serving_default", text=[*SOURCES, ""])
    expected = own_model.translate([*SOURCES, ""])
    assert answer["translation"].tolist() == [each.text for each in expected]
    assert_close(answer["score"], [each.score for each in expected], 1e-4, 1e-4)


# === Known parts that are changed ===


def change_activation(model, _):
    for block in model.backbone.decoder_blocks:
        block.feed_forward.activation = keras.activations.gelu


def change_epsilon(model, _):
    model.backbone.decoder_blocks[0].feed_forward_add_norm.layer_norm.epsilon = 50.0


def replace_positions(model, _):
    for layer in (model.backbone.encoder_embedding, model.backbone.decoder_embedding):
        layer.table = layer.table * 0.5


def cap_logits(model, _):
    model.backbone.token_embedding.logit_soft_cap = 1.5


def join_otherwise(model, _):
    for block in model.backbone.decoder_blocks:
        block.feed_forward_add_norm.join = lambda x, *_: 0.7 * x


def replace_call(model, _):
    block = model.backbone.decoder_blocks[0]
    usual = block.call
    block.call = lambda x, *args, **options: 1.5 * usual(x, *args, **options)


def replace_call_of_class(model, monkeypatch):
    usual = MultiHeadAttention.call
    monkeypatch.setattr(
        MultiHeadAttention, "call", lambda *args, **options: -usual(*args, **options)
    )


def see_the_first_token_alone(model, _):
    model.backbone.cross_mask.call = lambda query, key: ops.logical_and(
        make_attention_mask(query, key), ops.arange(ops.shape(key)[1]) < 1
    )


CHANGES = {
    "AttentionMask.call": see_the_first_token_alone,
    "PositionwiseFeedForward.activation": change_activation,
    "LayerNormalization.epsilon": change_epsilon,
    "PositionalEmbedding.table": replace_positions,
    "ReversibleEmbedding.logit_soft_cap": cap_logits,
    "AddNorm.join": join_otherwise,
    "DecoderBlock.call": replace_call,
    "MultiHeadAttention.call": replace_call_of_class,
}


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["AttentionMask.call", "DecoderBlock.call", "PositionalEmbedding.table"], list(CHANGES)
    ),
)
def test_a_changed_part_is_searched_as_it_is_now(name, tokenizer, monkeypatch, tmp_path):
    model = random_model(TransformerBackbone, tokenizer)
    before = model.translate(SOURCES, 2, max_length=8)
    assert own_parts(model.backbone) == []
    CHANGES[name](model, monkeypatch)
    assert own_parts(model.backbone) == [name]
    after = model.translate(SOURCES, 2, max_length=8)
    for source, was, now in zip(SOURCES, before, after, strict=True):
        assert abs(was.score - now.score) > 1e-3
        assert_close(now.score, score_of(model, source, now), 1e-4, 1e-4)
    with pytest.raises(ValueError, match=f"not hold what was changed .*{name.split('.')[1]}"):
        model.save_to_preset(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_changed_encoder_is_run_as_it_is_now(tokenizer):
    model = random_model(TransformerBackbone, tokenizer)
    before = model.translate(SOURCES, 2, max_length=8)
    model.backbone.encoder_mask.causal = True
    after = model.translate(SOURCES, 2, max_length=8)
    for source, was, now in zip(SOURCES, before, after, strict=True):
        assert abs(was.score - now.score) > 1e-3
        assert_close(now.score, score_of(model, source, now), 1e-4, 1e-4)


def test_maps_are_those_of_changed_masks(tokenizer):
    model = random_model(TransformerBackbone, tokenizer)
    target = model.translate(SOURCES[0], max_length=4).text
    model.backbone.encoder_mask.causal = True
    see_the_first_token_alone(model, None)
    maps = model.attention_maps(SOURCES[0], target)
    assert_close(maps.encoder, np.tril(maps.encoder))
    assert_close(maps.cross[..., 1:], np.zeros_like(maps.cross[..., 1:]))
    alignment = model.translate(SOURCES[0], max_length=4, return_alignments=True).alignment
    assert_close(alignment[:, 1:], np.zeros_like(alignment[:, 1:]))


@pytest.mark.parametrize("block_cls", [BlockWithNearAttention, GatedBlock])
def test_maps_of_attention_that_is_not_known_are_refused(block_cls, tokenizer):
    """They were those of the usual attention."""

    class OwnBackbone(TransformerBackbone):
        decoder_block_cls = block_cls

    model = random_model(OwnBackbone, tokenizer)
    with pytest.raises(ValueError, match=r"NearAttention\.weights_of|`call` is your own"):
        model.attention_maps(SOURCES[0], "three")
