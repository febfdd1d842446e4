import functools

import numpy as np
import pytest

from aiayn_keras.decoding.scoring import attention_maps_of_ids, next_log_probs
from aiayn_keras.layers import encoder_layer
from tests.helpers import assert_close
from tests.layers.helpers import to_numpy

SOURCE, TARGET = "drei fünf acht neun", "three five eight nine zero"


@pytest.fixture(scope="module")
def maps(model):
    return model.attention_maps(SOURCE, TARGET)


def test_tokens_are_what_encoder_and_decoder_read(maps, tokenizer):
    source, target = tokenizer([SOURCE, TARGET])
    assert maps.source_tokens == (*map(tokenizer.id_to_token, source), "</s>")
    assert maps.target_tokens == ("<s>", *map(tokenizer.id_to_token, target))


def test_there_is_one_map_for_each_layer_and_head(maps):
    N, H, S, T = 2, 2, len(maps.source_tokens), len(maps.target_tokens)
    assert S != T
    assert maps.encoder.shape == (N, H, S, S)
    assert maps.decoder.shape == (N, H, T, T)
    assert maps.cross.shape == (N, H, T, S)


def test_rows_sum_to_one_and_the_decoder_sees_no_future(maps):
    for weights in (maps.encoder, maps.decoder, maps.cross):
        assert weights.dtype == np.float32
        assert (weights >= 0).all()
        assert_close(weights.sum(axis=-1), np.ones(weights.shape[:-1]))
    assert (np.triu(maps.decoder, k=1) == 0).all()
    assert (maps.encoder > 0).all()


def attend(attention, weights, memory):
    """The output of an attention layer whose weights are given."""
    _, value = attention.project_memory(memory)  # (1, H, S, K_v)
    heads = weights @ to_numpy(value)[0]  # (H, T, K_v)
    return attention.output_dense(np.concatenate(heads, axis=-1)[np.newaxis].astype("float32"))


def test_the_model_looks_where_the_maps_say(model, maps, tokenizer):
    """The model's output can be computed from the maps, which take the place of its queries."""
    backbone = model.backbone
    source, target = tokenizer([SOURCE, TARGET])
    source, target = np.array([[*source, 3]]), np.array([[2, *target]])
    ones = {"source": np.ones_like(source), "target": np.ones_like(target)}

    x = backbone.encoder_embedding(backbone.token_embedding(source), ones["source"])
    for block, weights in zip(backbone.encoder_blocks, maps.encoder, strict=True):
        x = encoder_layer(block, x, functools.partial(attend, block.self_attention, weights))
    memory = x
    x = backbone.decoder_embedding(backbone.token_embedding(target), ones["target"])
    for block, weights, cross in zip(
        backbone.decoder_blocks, maps.decoder, maps.cross, strict=True
    ):
        add_norm = block.self_attention_add_norm
        x = add_norm(x, sublayer=functools.partial(attend, block.self_attention, weights))
        y = attend(block.cross_attention, cross, memory)
        x = block.cross_attention_add_norm(x, sublayer=lambda _, y=y: y)
        x = block.feed_forward_add_norm(x, sublayer=block.feed_forward)

    output = backbone(
        {
            "encoder_token_ids": source,
            "encoder_padding_mask": ones["source"],
            "decoder_token_ids": target,
            "decoder_padding_mask": ones["target"],
        }
    )
    assert_close(memory, output["encoder_sequence_output"], 1e-3, 1e-4)
    assert_close(x, output["decoder_sequence_output"], 1e-3, 1e-4)


def test_a_word_is_translated_by_looking_at_it(model):
    """Some head of some layer finds the third source word when the third word is due."""
    maps = model.attention_maps("drei fünf acht neun", "three five eight nine")
    assert maps.source_tokens[2] == "▁acht"
    assert 2 in maps.cross[:, :, 2].argmax(axis=-1)


def test_the_maps_of_a_hypothesis_are_those_of_its_own_wordpieces(model, tokenizer, maps):
    ids = list(map(int, tokenizer(TARGET)))
    found = attention_maps_of_ids(model.backbone, tokenizer, SOURCE, ids)
    assert found.target_tokens == maps.target_tokens
    assert_close(found.cross, maps.cross)
    reversed_ = attention_maps_of_ids(model.backbone, tokenizer, SOURCE, ids[::-1])
    assert reversed_.target_tokens == ("<s>", *maps.target_tokens[:0:-1])


def test_the_next_wordpieces_have_the_probabilities_of_the_score(model, tokenizer):
    ids = list(map(int, tokenizer(TARGET)))
    log_probs = next_log_probs(model.backbone, tokenizer, SOURCE, ids)
    assert log_probs.dtype == np.float32
    assert log_probs.shape == (len(ids) + 1, tokenizer.vocabulary_size())
    (expected,) = model.score([SOURCE], [TARGET], per_token=True)
    labels = [*ids, tokenizer.end_token_id]
    assert_close(log_probs[np.arange(len(labels)), labels], expected, 1e-4, 1e-4)
    assert_close(np.exp(log_probs).sum(axis=1), np.ones(len(labels)), 1e-4)
