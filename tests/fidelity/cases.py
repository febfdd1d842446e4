"""The numbers that several references are given."""

import numpy as np

from aiayn_keras.models import TransformerBackbone, TransformerSeq2SeqLM
from aiayn_keras.optimization import LabelSmoothedCrossEntropy
from tests.fidelity.gradients import run_keras
from tests.helpers import B, S, T

F = 11
"""intermediate_dim."""

MASK = np.array([np.tri(T, S, dtype=bool), np.arange(T * S).reshape(T, S) % 3 > 0])
"""The two sentences see different things, every query something."""

SOURCE_MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32")
TARGET_MASK = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1, 1]], "int32")
"""Padding on either side, in a different row."""

PAD = 0


def normal(random, *shape):
    return random.normal(size=shape).astype("float32")


def draw_batch(random, vocabulary_size):
    """The model's inputs and the labels `(B, T)`; padding is `PAD`."""
    source, target, labels = (
        random.integers(PAD + 1, vocabulary_size, size=(B, length)) for length in (S, T, T)
    )
    return {
        "encoder_token_ids": source * SOURCE_MASK,
        "encoder_padding_mask": SOURCE_MASK,
        "decoder_token_ids": target * TARGET_MASK,
        "decoder_padding_mask": TARGET_MASK,
    }, labels * TARGET_MASK


def build_model(**options):
    """Our translation model, without dropout and with the biases that the references have."""
    backbone = TransformerBackbone(
        dropout=0.0, attention_bias=True, max_sequence_length=16, **options
    )
    return TransformerSeq2SeqLM(backbone)


def run_model(model, batch, labels, label_smoothing):
    """Our model's loss, logits and gradients to all weights."""
    loss = LabelSmoothedCrossEntropy(label_smoothing)
    real = (labels != PAD).astype("float32")

    def loss_and_logits():
        logits = model(batch)
        return loss(labels, logits, sample_weight=real), logits

    return run_keras(loss_and_logits, model.trainable_variables)
