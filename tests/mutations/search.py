"""Mistakes in the search for a translation (paper 6.1)."""

from tests.mutations.mutation import mistakes_in

MUTATIONS = [
    *mistakes_in(
        "samplers/length_penalty.py",
        "samplers/test_length_penalty.py",
        ("another constant", "(5.0 + ", "(6.0 + "),
        ("no exponent", "/ 6.0, alpha)", "/ 6.0, 1.0)"),
    ),
    *mistakes_in(
        "samplers/beam_state.py",
        "samplers/test_beam_state.py",
        (
            "all beams begin alike",
            "ops.where(is_first_beam, ops.zeros_like(nothing), nothing)",
            "ops.zeros_like(nothing)",
        ),
        (
            "what is not given is kept",
            "prompt = ops.where(mask, prompt, ops.zeros_like(prompt))",
            "pass",
        ),
        ("the search begins late", "convert_to_tensor(1,", "convert_to_tensor(2,"),
        ("beams of the first sentence", "dtype=beams.dtype) * num_beams", "dtype=beams.dtype)"),
    ),
    *mistakes_in(
        "samplers/beam_sampler.py",
        "samplers/test_beam_sampler.py",
        ("beams run dry", "ops.top_k(log_probs, 2 * num_beams)", "ops.top_k(log_probs, num_beams)"),
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
            "live_beams = gather_beams(beams, best)",
            "live_beams = 0 * beams[:, :num_beams] + ops.arange(num_beams)",
        ),
        (
            "tokens of the best beam for all",
            "ids = gather_beams(state.live_ids, beams)",
            "ids = gather_beams(state.live_ids, 0 * beams)",
        ),
        ("stops as if nothing would follow", "max_lengths + 1, self", "state.index, self"),
        ("stops when one has finished", "finished_scores[:, -1]", "finished_scores[:, 0]"),
        ("stops with the first sentence", "ops.any(can_improve)", "ops.all(can_improve)"),
        ("a limit one too short", "(index > max_lengths,", "(index >= max_lengths,"),
        (
            "forbidden tokens are chosen",
            "allowed = ops.logical_and(allowed, ops.not_equal(vocabulary, token_id))",
            "pass",
        ),
        (
            "nothing is forced",
            "allowed = ops.where(is_forced, ops.equal(vocabulary, given), allowed)",
            "pass",
        ),
        (
            "logits are taken for log-probabilities",
            'ops.log_softmax(ops.cast(logits, "float32"), axis=-1)',
            'ops.cast(logits, "float32")',
        ),
        (
            "half-precision scores",
            'ops.log_softmax(ops.cast(logits, "float32"), axis=-1)',
            "ops.log_softmax(logits, axis=-1)",
        ),
        (
            "scores come with their length penalty",
            "[state.finished_log_probs, ending]",
            "[state.finished_log_probs, scores[:, num_beams:]]",
        ),
        (
            "the worst candidates' texts",
            "state.finished_ids, ids[:, :num_beams]",
            "state.finished_ids, ids[:, num_beams:]",
        ),
        (
            "a hypothesis that does not exist has a text",
            "ops.where(exists, state.finished_ids, ops.zeros_like(state.finished_ids))",
            "state.finished_ids",
        ),
        ("another length penalty by default", "length_penalty=0.6):", "length_penalty=1.0):"),
        ("called like KerasHub's it gives the worst", "token_ids[:, 0]", "token_ids[:, -1]"),
    ),
    *mistakes_in(
        "models/decoding.py",
        "models/test_decoding.py models/test_transformer_seq2seq_lm.py",
        (
            "the model reads the token it is to write",
            "ops.reshape(index - 1, (1,))",
            "ops.reshape(index, (1,))",
        ),
        ("positions are one ahead", "last_ids, index - 1, projected", "last_ids, index, projected"),
        (
            "the source's padding is seen",
            "ops.not_equal(encoder_padding_mask, 0), axis=1)",
            "encoder_padding_mask >= 0, axis=1)",
        ),
        ("the end token counts as source", '"int32"), axis=1) - 1', '"int32"), axis=1)'),
        ("another limit", "EXTRA_LENGTH = 50", "EXTRA_LENGTH = 40"),
        (
            "translations beyond the last position",
            "ops.minimum(num_pieces + EXTRA_LENGTH, backbone.max_sequence_length - 1)",
            "num_pieces + EXTRA_LENGTH",
        ),
        ("the unknown token is written", "            tokenizer.unk_token_id,\n", ""),
        ("padding is scored", "loss * ops.cast(decoder_padding_mask, loss.dtype)", "loss"),
        ("smoothed scores", "label_smoothing=0.0", "label_smoothing=0.1"),
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
        "models/translation.py",
        "models/test_translation.py models/test_transformer_seq2seq_lm.py",
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
