"""The model run for inference: encode once, then one step at a time, or score what is given."""

from keras import ops, tree

from aiayn_keras.optimization import label_smoothed_cross_entropy

# Paper 6.1: "the maximum output length during inference to input length + 50".
EXTRA_LENGTH = 50


def prepare_search(backbone, encoder_token_ids, encoder_padding_mask, length):
    """Encodes sources once and returns what a sampler needs: a step function and a cache.

    Args:
        backbone: A `TransformerBackbone`.
        encoder_token_ids: Integer tensor `(B, S)`.
        encoder_padding_mask: Integer tensor `(B, S)`.
        length: Greatest length of a target, start and end included.

    Returns:
        Function `(token ids (B·W, L), cache, index) -> (logits (B·W, V), hidden states
        (B·W, D), cache)` for any number of beams W, and an empty cache for one beam.
    """
    memory = backbone.encode(encoder_token_ids, encoder_padding_mask, training=False)
    projected_memory = backbone.project_memory(memory)
    memory_mask = ops.expand_dims(ops.not_equal(encoder_padding_mask, 0), axis=1)

    def next_token(token_ids, cache, index):
        last_ids = ops.take(token_ids, ops.reshape(index - 1, (1,)), axis=1)
        hidden_states, cache = backbone.decode_step(
            last_ids, index - 1, projected_memory, memory_mask, cache
        )
        logits = backbone.token_embedding(hidden_states, reverse=True)
        return logits[:, 0], hidden_states[:, 0], cache

    return next_token, backbone.empty_cache(ops.shape(encoder_token_ids)[0], length)


def beam_search(backbone, tokenizer, encoder_token_ids, encoder_padding_mask, sampler):
    """Finds the best translations of a batch; pure, to be compiled or exported.

    A translation has at most as many tokens as its source plus 50 (paper 6.1).

    Args:
        backbone: A `TransformerBackbone`.
        tokenizer: A `TransformerTokenizer`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        sampler: A `BeamSampler`.

    Returns:
        Token ids `(B, W, L)`, best first, padded with 0 behind the end token, and
        log-probabilities `(B, W)` in nats.
    """
    length = ops.shape(encoder_token_ids)[1] + EXTRA_LENGTH + 1
    num_pieces = ops.sum(ops.cast(encoder_padding_mask, "int32"), axis=1) - 1
    max_lengths = ops.minimum(num_pieces + EXTRA_LENGTH, backbone.max_sequence_length - 1)
    next_token, cache = prepare_search(backbone, encoder_token_ids, encoder_padding_mask, length)
    # Only the start is given. `max_lengths >= 0` is always true: it lends the batch axis.
    is_start = ops.equal(ops.arange(length), 0)  # (L,)
    mask = ops.logical_and(is_start, ops.expand_dims(max_lengths >= 0, axis=1))  # (B, L)
    return sampler.search(
        next_token,
        prompt=ops.cast(mask, "int32") * tokenizer.start_token_id,
        mask=mask,
        cache=tree.map_structure(lambda x: ops.repeat(x, sampler.num_beams, axis=0), cache),
        end_token_id=tokenizer.end_token_id,
        max_lengths=max_lengths,
        forbidden_token_ids=(
            tokenizer.pad_token_id,
            tokenizer.unk_token_id,
            tokenizer.start_token_id,
        ),
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
