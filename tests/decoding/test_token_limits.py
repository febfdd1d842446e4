import numpy as np
from keras import ops

from aiayn_keras.decoding.beam_search import Sentences
from aiayn_keras.decoding.candidates import TokenLimits

NUM_BEAMS, VOCABULARY_SIZE, END = 2, 50, 3


def test_forbidden_tokens_and_an_early_end_take_nobody_s_place():
    """The most probable tokens may not be chosen: 2·W others are there nevertheless."""
    logits = np.tile(-np.arange(VOCABULARY_SIZE, dtype="float32"), (NUM_BEAMS, 1))
    prompt = np.zeros((1, 8), "int32")
    sentences = Sentences(
        np.array([0], "int32"), prompt, prompt > 0, np.array([6], "int32"), np.ones(1, "float32")
    )
    limits = TokenLimits(END, min_length=4, forbidden_token_ids=(0, 1, 2))
    tokens, log_probs = map(
        ops.convert_to_numpy,
        limits.candidates(
            ops.convert_to_tensor(logits),
            ops.zeros((NUM_BEAMS, 8), dtype="int32"),
            ops.convert_to_tensor(2, dtype="int32"),
            NUM_BEAMS,
            Sentences(*map(ops.convert_to_tensor, sentences)),
        ),
    )
    for beam in range(NUM_BEAMS):
        allowed = tokens[0, beam][np.isfinite(log_probs[0, beam])]
        np.testing.assert_array_equal(np.sort(allowed), [4, 5, 6, 7])
