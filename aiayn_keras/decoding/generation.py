"""Token ids from token ids: beam search for `translate`, and the step behind `generate`."""

from keras import ops

from aiayn_keras.decoding.beam_sampler import BeamSampler
from aiayn_keras.decoding.beam_search import beam_search
from aiayn_keras.decoding.decoder_step import start_decoding, start_decoding_together
from aiayn_keras.decoding.search_options import most_pieces


def search_translations(
    backbones,
    tokenizer,
    encoder_token_ids,
    encoder_padding_mask,
    options,
    prompt=None,
    max_lengths=None,
    min_length=None,
    decoders=None,
):
    """Finds the best translations of a batch; pure, to be compiled or exported.

    The limits of `options` are used where they are not given as tensors, of which a compiled
    function takes any.

    Args:
        backbones: Tuple of one `TransformerBackbone`, or of several whose probabilities are
            averaged.
        tokenizer: A `TransformerTokenizer`.
        encoder_token_ids: Integer tensor `(B, S)`, each row as `tokenize` gives it.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        options: `SearchOptions`.
        prompt: Integer tensor `(B, L)`, the start token and pieces that a translation begins with,
            padded with the padding token. L is the greatest length, start and end included.
        max_lengths: Integer tensor `(B,)`, most tokens between start and end, at most `L - 2`.
        min_length: Integer scalar, least number of tokens between start and end. It is read where
            `options.min_length` is not 0.
        decoders: The `FrozenDecoder`s of the backbones, where they are made already.

    Returns:
        Token ids `(B, N, L)`, best first, padded with 0 behind the end token, and
        log-probabilities `(B, N)` in nats.
    """
    inputs = search_inputs(
        backbones,
        tokenizer,
        encoder_token_ids,
        encoder_padding_mask,
        options,
        prompt,
        max_lengths,
        min_length,
        decoders,
    )
    return beam_search(**inputs)


def search_inputs(
    backbones,
    tokenizer,
    encoder_token_ids,
    encoder_padding_mask,
    options,
    prompt=None,
    max_lengths=None,
    min_length=None,
    decoders=None,
):
    """The arguments of `beam_search` in a dictionary; arguments as of `search_translations`."""
    if prompt is None:
        num_tokens = ops.sum(ops.cast(encoder_padding_mask, "int32"), axis=1)
        num_pieces = num_tokens - len(tokenizer.source_ids)
        max_positions = longest_sequence(backbones)
        max_lengths = ops.minimum(most_pieces(num_pieces, options), max_positions - 1)
        most_sources = ops.shape(encoder_token_ids)[1] - len(tokenizer.source_ids)
        length = most_sources + options.extra_length + 2
        if options.max_length is not None:
            length = min(options.max_length, max_positions - 1) + 2
        is_start = ops.equal(ops.arange(length), 0)
        start = ops.expand_dims(ops.zeros_like(num_pieces) + tokenizer.start_token_id, axis=1)
        prompt = ops.where(is_start, start, tokenizer.pad_token_id)
    rules, rule_state = None, ()
    if options.constraint is not None:
        rules = options.constraint.rules(tokenizer)
        rule_state = rules.initial_state(encoder_token_ids, encoder_padding_mask, options.num_beams)
    next_token, cache = start_decoding_together(
        backbones,
        encoder_token_ids,
        encoder_padding_mask,
        ops.shape(prompt)[1],
        options.num_beams,
        track_coverage=bool(options.coverage_penalty),
        decoders=decoders,
    )
    return {
        "next_token": next_token,
        "cache": cache,
        "prompt": prompt,
        "mask": ops.not_equal(prompt, tokenizer.pad_token_id),
        "options": options,
        "end_token_id": tokenizer.end_token_id,
        "max_lengths": max_lengths,
        "min_length": min_length,
        "forbidden_token_ids": (
            tokenizer.pad_token_id,
            tokenizer.unk_token_id,
            tokenizer.start_token_id,
        ),
        "rules": rules,
        "rule_state": rule_state,
    }


def search_one_translation(
    backbones, tokenizer, encoder_token_ids, encoder_padding_mask, options, *limits, decoders=None
):
    """`search_translations` for a batch of one, which TensorFlow then knows and makes use of."""
    encoder_token_ids, encoder_padding_mask = (
        ops.reshape(x, (1, -1)) for x in (encoder_token_ids, encoder_padding_mask)
    )
    if limits:
        prompt, max_lengths, *rest = limits
        limits = ops.reshape(prompt, (1, -1)), ops.reshape(max_lengths, (1,)), *rest
    return search_translations(
        backbones,
        tokenizer,
        encoder_token_ids,
        encoder_padding_mask,
        options,
        *limits,
        decoders=decoders,
    )


def longest_sequence(backbones):
    """Greatest number of positions that all of some `TransformerBackbone`s have."""
    return min(backbone.max_sequence_length for backbone in backbones)


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

    Raises:
        ValueError: If L is more than the backbone's positions.
    """
    prompt = inputs["decoder_token_ids"]
    length, limit = prompt.shape[1], backbone.max_sequence_length
    if length is not None and length > limit:
        raise ValueError(
            f"`max_length` must be at most {limit}, the positions of the model. "
            f"Received: max_length={length}."
        )
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
