"""Mistakes in the search for a translation (paper 6.1)."""

from tests.mutations.mutation import mistakes_in

MUTATIONS = [
    *mistakes_in(
        "decoding/length_penalty.py",
        "decoding/test_length_penalty.py",
        ("another constant", "(5.0 + ", "(6.0 + "),
        ("no exponent", "/ 6.0, alpha)", "/ 6.0, 1.0)"),
    ),
    *mistakes_in(
        "decoding/beam_state.py",
        "decoding/test_beam_state.py",
        ("all beams begin alike", "0.0, NEVER)", "0.0, 0.0)"),
        (
            "what is not given is kept",
            "ops.where(sentences.mask, sentences.prompt, ops.zeros_like(sentences.prompt))",
            "sentences.prompt",
        ),
        ("the search begins late", "convert_to_tensor(1,", "convert_to_tensor(2,"),
        ("beams of the first sentence", "dtype=beams.dtype) * num_beams", "dtype=beams.dtype)"),
    ),
    *mistakes_in(
        "decoding/candidates.py",
        "decoding/test_candidates.py decoding/test_beam_sampler.py",
        ("one block too few is searched", "axis=-1), k)", "axis=-1), k - 1)"),
        ("candidates of the first row's blocks", "1) * num_blocks", "1) * 0"),
        ("tokens are those within a block", "places, axis=1) * block_size", "places, axis=1) * 0"),
        (
            "what lies behind the blocks is forgotten",
            "if num_blocks * block_size < vocabulary_size:",
            "if False:",
        ),
        ("probabilities sum to anything", "values[:, :1] - ops.log(best_probability)", "0.0"),
    ),
    *mistakes_in(
        "decoding/constraints.py",
        "decoding/test_constraints.py decoding/test_beam_sampler.py",
        ("half-precision scores", 'ops.cast(logits, "float32")', "logits"),
        ("a limit one too short", "index > sentences.max", "index >= sentences.max"),
        ("a forbidden token is chosen", "ops.equal(tokens, token_id), NEVER", "tokens < 0, NEVER"),
        (
            "no place for the forbidden",
            "num_forbidden = len(self.forbidden_token_ids) +",
            "num_forbidden =",
        ),
        (
            "nothing is forced",
            "is_forced = ops.take(sentences.mask, index, axis=1)",
            "is_forced = index < 0",
        ),
        ("the minimum counts the end", "index <= self.min_length", "index < self.min_length"),
        (
            "what must be written is certain",
            "ops.take_along_axis(logits, only, axis=1) - log_normalizer",
            "0.0 * log_normalizer",
        ),
        (
            "what must be written comes as often as it can",
            "ops.where(is_first, only_log_prob, NEVER)",
            "only_log_prob + 0.0 * log_probs",
        ),
    ),
    *mistakes_in(
        "decoding/finished_sentences.py",
        "decoding/test_finished_sentences.py",
        ("who leaves is forgotten", "results=results,", "results=state.results,"),
        (
            "who is done stays",
            "ops.nonzero(state.can_improve)[0]",
            "ops.nonzero(ops.ones_like(state.can_improve))[0]",
        ),
        ("others' prompts", "tree.map_structure(keep, state.sentences)", "state.sentences"),
        ("nobody leaves", "8 * num_left <= 7 *", "8 * num_left <= 0 *"),
    ),
    *mistakes_in(
        "decoding/repetition.py",
        "decoding/test_repetition.py decoding/test_beam_sampler.py",
        ("longer n-grams only", "range(1, ngram_size)", "range(1, ngram_size + 1)"),
        ("the start is a word", "positions >= ngram_size", "positions >= ngram_size - 1"),
        (
            "another row's tokens",
            "expand_dims(ops.arange(ops.shape(token_ids)[0]), axis=1)",
            "zeros((1, 1))",
        ),
    ),
    *mistakes_in(
        "decoding/beam_sampler.py",
        "decoding/test_beam_sampler.py",
        ("beams run dry", "min(2 * num_beams, num_beams *", "min(num_beams, num_beams *"),
        (
            "the end token is not counted",
            "ending / length_penalty(state.index,",
            "ending / length_penalty(state.index - 1,",
        ),
        (
            "no length penalty",
            "scores = ending / length_penalty(state.index, self.length_penalty)",
            "scores = ending",
        ),
        (
            "ended hypotheses live on",
            "ops.top_k(ops.where(is_end, NEVER, log_probs), num_beams)",
            "ops.top_k(log_probs, num_beams)",
        ),
        (
            "the cache is not reordered",
            "state._replace(cache=reorder_cache(cache, beams))",
            "state._replace(cache=cache)",
        ),
        (
            "tokens of the best beam for all",
            "ids = gather_beams(state.live_ids, beams)",
            "ids = gather_beams(state.live_ids, 0 * beams)",
        ),
        (
            "stops as if nothing would follow",
            "state.sentences.max_lengths + 1, self",
            "state.index, self",
        ),
        ("stops when one has finished", "finished_scores[:, -1]", "finished_scores[:, 0]"),
        ("stops with the first sentence", "ops.any(state.can", "ops.all(state.can"),
        (
            "scores come with their length penalty",
            "[state.finished_log_probs, ending]",
            "[state.finished_log_probs, scores[:, num_finished:]]",
        ),
        (
            "the worst candidates' texts",
            "state.finished_ids, ids[:, :num_beams]",
            "state.finished_ids, ids[:, num_beams:]",
        ),
        (
            "another hypothesis' bonus",
            "(bonus, beams[:, :num_beams], axis=1)",
            "(bonus, 0 * beams[:, :num_beams], axis=1)",
        ),
        (
            "another length penalty by default",
            "length_penalty=0.6, coverage",
            "length_penalty=1.0, coverage",
        ),
        (
            "called like KerasHub's it gives no beams",
            "ops.repeat(leaf, self.num_beams, axis=0), cache)",
            "leaf, cache)",
        ),
    ),
    *mistakes_in(
        "decoding/decoder_cache.py",
        "decoding/test_decoder_cache.py decoding/test_decoder_step.py "
        "decoding/test_translate_options.py",
        (
            "a hypothesis sees its sisters",
            "ops.equal(visible[:, :, :, None], slots)",
            "visible[:, :, :, None] + slots >= 0",
        ),
        (
            "hypotheses keep their slots' past",
            "ancestors=gather_beams(cache.ancestors, beams)",
            "ancestors=cache.ancestors",
        ),
        (
            "all write into one slot",
            "ops.zeros_like(token_ids) + slots",
            "ops.zeros_like(token_ids)",
        ),
        (
            "coverage stays with the slot",
            "coverage=gather_beams(cache.coverage, beams)",
            "coverage=cache.coverage",
        ),
        ("coverage of the first head", "ops.mean(attention, axis=1)", "attention[:, 0]"),
        ("too much attention is a merit", "1e-9, 1.0)", "1e-9, 9.0)"),
        (
            "padding must be covered",
            "ops.where(cache.memory_mask, ops.log(covered), 0.0)",
            "ops.log(covered)",
        ),
    ),
    *mistakes_in(
        "decoding/decoder_step.py",
        "decoding/test_decoder_step.py",
        ("embeddings are not scaled", " * backbone.hidden_dim**0.5", ""),
        (
            "keys and values are exchanged",
            "map(append, block_cache, (key, value))",
            "map(append, block_cache, (value, key))",
        ),
        ("always post-norm", "backbone.normalize_first\n", "False\n"),
        ("no last normalization", "if weights.norm is not None:", "if False:"),
        (
            "biases of the first projection only",
            "for layer in layers])",
            "for layer in layers[:1] * len(layers)])",
        ),
        ("always ReLU", 'backbone.activation(block["hidden"](x))', 'ops.relu(block["hidden"](x))'),
        ("a quantized layer's bias counts twice", " - (layer.bias if layer.use_bias else 0.0)", ""),
        ("another epsilon", "axis=-1, epsilon=epsilon)", "axis=-1, epsilon=1e-2)"),
    ),
    *mistakes_in(
        "decoding/step_by_step.py",
        "decoding/test_decoder_step.py decoding/test_translate_options.py",
        (
            "the model reads the token it is to write",
            "ops.reshape(index - 1, (1,))",
            "ops.reshape(index, (1,))",
        ),
        ("positions are one ahead", "            index - 1,\n", "            index,\n"),
        (
            "the source's padding is seen",
            "ops.not_equal(encoder_padding_mask, 0), axis=1)",
            "encoder_padding_mask >= 0, axis=1)",
        ),
        ("an ensemble sums up", " - math.log(len(results))", ""),
        (
            "an ensemble follows its first model",
            "ops.logsumexp(ops.stack(log_probs), axis=0)",
            "log_probs[0] + math.log(2)",
        ),
    ),
    *mistakes_in(
        "decoding/generation.py",
        "decoding/test_generation.py models/test_transformer_seq2seq_lm.py "
        "decoding/test_translate_options.py",
        ("the end token counts as source", '"int32"), axis=1) - 1', '"int32"), axis=1)'),
        ("another limit", "EXTRA_LENGTH = 50", "EXTRA_LENGTH = 40"),
        (
            "translations beyond the last position",
            "ops.minimum(max_lengths, max_positions - 1)",
            "max_lengths",
        ),
        ("the unknown token is written", "            tokenizer.unk_token_id,\n", ""),
        (
            "prefixes are not forced",
            "ops.logical_and(is_real, ops.arange(length) < width)",
            "ops.logical_and(is_real, ops.arange(length) < 1)",
        ),
        (
            "the end token is cut off",
            "ops.cumsum(is_end, axis=1) - is_end",
            "ops.cumsum(is_end, 1)",
        ),
        (
            "an end in the prompt ends",
            'is_end = ops.logical_and(is_end, ops.logical_not(ops.cast(prompt_mask, "bool")))',
            "pass",
        ),
    ),
    *mistakes_in(
        "decoding/scoring.py",
        "decoding/test_generation.py decoding/test_translate_options.py",
        (
            "padding is scored",
            "ops.where(ops.not_equal(decoder_padding_mask, 0), -loss, 0.0)",
            "-loss",
        ),
        ("smoothed scores", "label_smoothing=0.0", "label_smoothing=0.1"),
        ("one head's alignment", "ops.mean(weights, axis=1)", "weights[:, 0]"),
        ("the first layer's alignment", "*blocks, last = backbone", "last, *blocks = backbone"),
    ),
    *mistakes_in(
        "decoding/translation.py",
        "decoding/test_translation.py models/test_transformer_seq2seq_lm.py",
        ("translations in the order of lengths", "translations[row] =", "translations[i] ="),
        (
            "decoder reads the labels",
            "decoder_ids = np.roll(labels, 1, axis=1)",
            "decoder_ids = labels.copy()",
        ),
        (
            "a text of all positions is refused",
            "len(sequence) > max_sequence",
            "len(sequence) >= max_sequence",
        ),
    ),
]
