"""Token ids from token ids: beam search for `translate`, and the step behind `generate`."""

from keras import ops

from aiayn_keras.decoding.beam_sampler import BeamSampler
from aiayn_keras.decoding.beam_search import beam_search
from aiayn_keras.decoding.decoder_step import start_decoding, start_decoding_together

# Paper 6.1: "the maximum output length during inference to input length + 50".
EXTRA_LENGTH = 50


def search_translations(
    backbones,
    tokenizer,
    encoder_token_ids,
    encoder_padding_mask,
    options,
    prefix_token_ids=None,
):
    """Finds the best translations of a batch; pure, to be compiled or exported.

    Args:
        backbones: Tuple of one `TransformerBackbone`, or of several whose probabilities are
            averaged.
        tokenizer: A `TransformerTokenizer`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        options: `SearchOptions`.
        prefix_token_ids: Integer tensor `(B, P)`, pieces that a translation begins with, padded
            with the padding token.

    Returns:
        Token ids `(B, N, L)`, best first, padded with 0 behind the end token, and
        log-probabilities `(B, N)` in nats.
    """
    num_pieces = ops.sum(ops.cast(encoder_padding_mask, "int32"), axis=1) - 1
    if options.max_length is None:
        length = ops.shape(encoder_token_ids)[1] + EXTRA_LENGTH + 1
        max_lengths = num_pieces + EXTRA_LENGTH
    else:
        length = options.max_length + 2
        max_lengths = ops.zeros_like(num_pieces) + options.max_length
    max_positions = min(backbone.max_sequence_length for backbone in backbones)
    prompt, mask = _prompt(tokenizer, num_pieces, prefix_token_ids, length)
    next_token, cache = start_decoding_together(
        backbones,
        encoder_token_ids,
        encoder_padding_mask,
        length,
        options.num_beams,
        track_coverage=bool(options.coverage_penalty),
    )
    return beam_search(
        next_token,
        cache,
        prompt,
        mask,
        options,
        tokenizer.end_token_id,
        max_lengths=ops.minimum(max_lengths, max_positions - 1),
        forbidden_token_ids=(
            tokenizer.pad_token_id,
            tokenizer.unk_token_id,
            tokenizer.start_token_id,
        ),
    )


def _prompt(tokenizer, num_pieces, prefix_token_ids, length):
    """The start token and the prefix as `(B, L)`, and a mask of them."""
    prompt = ops.expand_dims(ops.zeros_like(num_pieces) + tokenizer.start_token_id, axis=1)
    if prefix_token_ids is not None:
        prompt = ops.concatenate([prompt, ops.cast(prefix_token_ids, prompt.dtype)], axis=1)
    width = ops.shape(prompt)[1]
    zeros = ops.zeros_like(prompt[:, :1]) + ops.zeros((length,), dtype=prompt.dtype)  # (B, L)
    prompt = ops.concatenate([prompt, zeros], axis=1)[:, :length]
    is_real = ops.not_equal(prompt, tokenizer.pad_token_id)
    return prompt, ops.logical_and(is_real, ops.arange(length) < width)


def generate_tokens(backbone, sampler, inputs, stop_token_ids, model):
    """Extends prompts by a sampler of KerasHub's kind.

    Args:
        backbone: A `TransformerBackbone`.
        sampler: A `keras_hub.samplers.Sampler`.
        inputs: Dictionary of four integer tensors, those of the encoder `(B, S)` and those of the
            decoder `(B, L)`.
        stop_token_ids: Tuple of the ids that end a text.
        model: Handed to the sampler.

    Returns:
        Token ids `(B, L)`.
    """
    prompt = inputs["decoder_token_ids"]
    # The beams of a sentence share one cache; other samplers repeat and gather its rows.
    shared = isinstance(sampler, BeamSampler)
    next_token, cache = start_decoding(
        backbone,
        inputs["encoder_token_ids"],
        inputs["encoder_padding_mask"],
        ops.shape(prompt)[1],
        sampler.options.num_beams if shared else None,
        track_coverage=shared and bool(sampler.options.coverage_penalty),
    )
    return sampler(
        next=next_token,
        prompt=prompt,
        cache=cache,
        index=1,
        mask=inputs["decoder_padding_mask"],
        stop_token_ids=stop_token_ids,
        model=model,
    )


def until_end(token_ids, stop_token_ids, prompt_mask):
    """True up to and including the first stop token behind the prompt."""
    is_end = ops.zeros_like(token_ids)
    for stop_token_id in stop_token_ids:
        is_end = ops.logical_or(is_end, ops.equal(token_ids, stop_token_id))
    is_end = ops.logical_and(is_end, ops.logical_not(ops.cast(prompt_mask, "bool")))
    is_end = ops.cast(is_end, "int32")
    return ops.equal(ops.cumsum(is_end, axis=1) - is_end, 0)
