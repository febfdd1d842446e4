"""Token ids from token ids: beam search for translations, and what `generate` does."""

from keras import ops

from aiayn_keras.decoding.beam_sampler import BeamSampler
from aiayn_keras.decoding.decoder_cache import coverage_bonus, keep_sentences, reorder_hypotheses
from aiayn_keras.decoding.step_by_step import prepare_ensemble_search, prepare_search

# Paper 6.1: "the maximum output length during inference to input length + 50".
EXTRA_LENGTH = 50


def beam_search(
    backbones,
    tokenizer,
    encoder_token_ids,
    encoder_padding_mask,
    sampler,
    num_return_sequences=None,
    min_length=0,
    max_length=None,
    prefix_token_ids=None,
):
    """Finds the best translations of a batch; pure, to be compiled or exported.

    Args:
        backbones: Tuple of one `TransformerBackbone`, or of several whose probabilities are
            averaged.
        tokenizer: A `TransformerTokenizer`.
        encoder_token_ids: Integer tensor `(B, S)`, each row `pieces </s>`.
        encoder_padding_mask: Integer tensor `(B, S)`, 0 on padding.
        sampler: A `BeamSampler`.
        num_return_sequences: Number of translations N, the sampler's beams if not given.
        min_length: Least number of tokens of a translation, the end token not counted.
        max_length: Greatest number; the source's plus 50 if not given (paper 6.1).
        prefix_token_ids: Integer tensor `(B, P)`, pieces that a translation begins with, padded
            with the padding token.

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
    max_positions = min(backbone.max_sequence_length for backbone in backbones)
    max_lengths = ops.minimum(max_lengths, max_positions - 1)
    prompt, mask = _prompt(tokenizer, num_pieces, prefix_token_ids, length)
    next_token, cache, options = _prepare_beam_search(
        backbones, sampler, encoder_token_ids, encoder_padding_mask, length
    )
    return sampler.search(
        next_token,
        prompt=prompt,
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
        **options,
    )


def _prepare_beam_search(backbones, sampler, encoder_token_ids, encoder_padding_mask, length):
    """Step function, cache, and what `BeamSampler.search` must know to handle that cache."""
    beta = sampler.coverage_penalty
    next_token, cache = prepare_ensemble_search(
        backbones,
        encoder_token_ids,
        encoder_padding_mask,
        length,
        sampler.num_beams,
        track_coverage=bool(beta),
    )
    if len(backbones) == 1:
        reorder, bonus = reorder_hypotheses, lambda cache: coverage_bonus(cache, beta)
    else:

        def reorder(caches, beams):
            return tuple(reorder_hypotheses(cache, beams) for cache in caches)

        def bonus(caches):
            return sum(coverage_bonus(cache, beta) for cache in caches) / len(caches)

    options = {
        "reorder_cache": reorder,
        "keep_sentences": keep_sentences,
        "score_bonus": bonus if beta else None,
    }
    return next_token, cache, options


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
    sources = inputs["encoder_token_ids"], inputs["encoder_padding_mask"]
    prompt, mask = inputs["decoder_token_ids"], inputs["decoder_padding_mask"]
    length = ops.shape(prompt)[1]
    if isinstance(sampler, BeamSampler):  # whose beams share one cache
        next_token, cache, options = _prepare_beam_search((backbone,), sampler, *sources, length)
        token_ids, _ = sampler.search(
            next_token,
            prompt,
            mask,
            cache,
            sampler.end_token(stop_token_ids),
            num_return_sequences=1,
            **options,
        )
        return token_ids[:, 0]
    next_token, cache = prepare_search(backbone, *sources, length)
    return sampler(
        next=next_token,
        prompt=prompt,
        cache=cache,
        index=1,
        mask=mask,
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
