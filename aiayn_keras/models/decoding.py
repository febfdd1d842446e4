"""The model run for inference: encode once, then one step at a time, or score what is given."""

from keras import ops

from aiayn_keras.models.decoder_step import decoder_step, decoder_weights, project_memory
from aiayn_keras.optimization import label_smoothed_cross_entropy
from aiayn_keras.samplers import (
    add_position,
    append_position,
    empty_cache,
    initial_length,
    reorder_hypotheses,
    write_position,
)

# Paper 6.1: "the maximum output length during inference to input length + 50".
EXTRA_LENGTH = 50


def prepare_search(backbone, encoder_token_ids, encoder_padding_mask, length, num_beams=None):
    """Encodes sources once and returns what a sampler needs: a step function and a cache.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`.
        encoder_padding_mask: Integer tensor `(B, S)`.
        length: Greatest length of a target, start and end included.
        num_beams: Number of beams W of a sampler that reorders the cache by
            `reorder_hypotheses`. If not given, the cache is for one hypothesis a row, and a sampler
            may repeat and gather its rows.

    Returns:
        Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden states
        (B·W, D), cache)`, and an empty cache.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    memory_mask = ops.expand_dims(ops.not_equal(encoder_padding_mask, 0), axis=1)
    weights = decoder_weights(backbone)
    if num_beams is None:
        num_beams, append = 1, write_position
    else:
        length, append = initial_length(length, encoder_token_ids), append_position
    cache = empty_cache(project_memory(backbone, memory), memory_mask, num_beams, length)

    def next_token(token_ids, cache, index):
        last_ids = ops.take(token_ids, ops.reshape(index - 1, (1,)), axis=1)
        last_ids = ops.reshape(last_ids, (-1, num_beams))
        ancestors, mask = add_position(cache.ancestors, last_ids, append, index - 1)
        hidden_states, blocks = decoder_step(
            backbone,
            weights,
            last_ids,
            index - 1,
            cache.memory,
            cache.memory_mask,
            cache.blocks,
            lambda cached, new: append(cached, new, index - 1),
            mask,
        )
        cache = cache._replace(blocks=blocks, ancestors=ancestors)
        return weights.output(hidden_states), hidden_states, cache

    return next_token, cache


def beam_search(
    backbone,
    tokenizer,
    encoder_token_ids,
    encoder_padding_mask,
    sampler,
    num_return_sequences=None,
    min_length=0,
    max_length=None,
):
    """Finds the best translations of a batch; pure, to be compiled or exported.

    A translation has at most as many tokens as its source plus 50 (paper 6.1).

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        sampler: A `BeamSampler`.
        num_return_sequences: Number of translations N, the sampler's beams if not given.
        min_length: Least number of tokens of a translation, the end token not counted.
        max_length: Greatest number; the source's plus 50 if not given.

    Returns:
        Token ids `(B, N, L)`, best first, padded with 0 behind the end token, and
        log-probabilities `(B, N)` in nats.
    """
    num_pieces = ops.sum(ops.cast(encoder_padding_mask, "int32"), axis=1) - 1
    if max_length is None:
        length = ops.shape(encoder_token_ids)[1] + EXTRA_LENGTH + 1
        max_lengths = num_pieces + EXTRA_LENGTH
    else:
        length = max_length + 2
        max_lengths = ops.zeros_like(num_pieces) + max_length
    max_lengths = ops.minimum(max_lengths, backbone.max_sequence_length - 1)
    next_token, cache = prepare_search(
        backbone, encoder_token_ids, encoder_padding_mask, length, sampler.num_beams
    )
    # Only the start is given. `max_lengths >= 0` is always true: it lends the batch axis.
    is_start = ops.equal(ops.arange(length), 0)  # (L,)
    mask = ops.logical_and(is_start, ops.expand_dims(max_lengths >= 0, axis=1))  # (B, L)
    return sampler.search(
        next_token,
        prompt=ops.cast(mask, "int32") * tokenizer.start_token_id,
        mask=mask,
        cache=cache,
        end_token_id=tokenizer.end_token_id,
        max_lengths=max_lengths,
        min_length=min_length,
        forbidden_token_ids=(
            tokenizer.pad_token_id,
            tokenizer.unk_token_id,
            tokenizer.start_token_id,
        ),
        num_return_sequences=num_return_sequences,
        reorder_cache=reorder_hypotheses,
    )


def log_likelihood(
    backbone,
    encoder_token_ids,
    encoder_padding_mask,
    decoder_token_ids,
    decoder_padding_mask,
    labels,
):
    """Log-probabilities of given targets; pure, to be compiled or exported.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        decoder_token_ids: Integer tensor `(B, T)`, each row `<s> pieces`.
        decoder_padding_mask: Integer tensor `(B, T)`, 0 on padding.
        labels: Integer tensor `(B, T)`, each row `pieces </s>`.

    Returns:
        Float32 tensor `(B,)`, nats.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    hidden_states = backbone.decode(
        memory, encoder_padding_mask, decoder_token_ids, decoder_padding_mask, training=False
    )
    logits = backbone.token_embedding(hidden_states, reverse=True)
    loss = label_smoothed_cross_entropy(labels, logits, label_smoothing=0.0)
    return -ops.sum(loss * ops.cast(decoder_padding_mask, loss.dtype), axis=1)


def until_end(token_ids, stop_token_ids, prompt_mask):
    """True up to and including the first stop token behind the prompt."""
    is_end = ops.zeros_like(token_ids)
    for stop_token_id in stop_token_ids:
        is_end = ops.logical_or(is_end, ops.equal(token_ids, stop_token_id))
    is_end = ops.logical_and(is_end, ops.logical_not(ops.cast(prompt_mask, "bool")))
    is_end = ops.cast(is_end, "int32")
    return ops.equal(ops.cumsum(is_end, axis=1) - is_end, 0)
