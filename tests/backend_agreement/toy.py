"""One small trained model and what it is asked, as files that every backend reads."""

import random
from pathlib import Path

import keras
import numpy as np

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
)
from aiayn_keras.optimization import WarmupSchedule
from aiayn_keras.training import save_checkpoint
from tests.number_words import number_words, train_tokenizer
from tests.random_parser import build_random_parser

NUM_SENTENCES = 20
NUM_BEAMS = 4

# Sentences and lengths in tokens of the batch for logits, scores and training steps.
B, S, T = 6, 14, 17


def paper_optimizer(hidden_dim):
    """The paper's Adam and warm-up (5.3), with a peak that suits so short a training."""
    schedule = WarmupSchedule(hidden_dim, warmup_steps=30, peak_learning_rate=0.01)
    return keras.optimizers.Adam(schedule, beta_1=0.9, beta_2=0.98, epsilon=1e-9)


def compile_as_in_the_paper(model, optimizer=None):
    model.compile(
        optimizer or paper_optimizer(model.backbone.hidden_dim),
    )


def save_toy(folder):
    """Trains a model and writes `preset/`, `inputs.npz` and a checkpoint of the training.

    Beside it is `parser/`, the preset of a model of random weights, for constrained searches.

    The training stops before the model is sure of itself, so that the hypotheses of a sentence
    compete and a small difference would change their order.
    """
    folder = Path(folder)
    random.seed(3)  # Keras draws its unset seeds from here.
    tokenizer = train_tokenizer()
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(),
        num_layers=2,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=48,
        dropout=0.0,
        max_sequence_length=70,
    )
    model = TransformerSeq2SeqLM(backbone)
    compile_as_in_the_paper(model)
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, S, T)
    sources, targets = zip(*number_words(2048, 2), strict=True)
    x, y, weights = preprocessor({"encoder_text": list(sources), "decoder_text": list(targets)})
    model.fit(x, y, sample_weight=weights, batch_size=32, epochs=2, verbose=0)
    save_checkpoint(model, folder, update=int(model.optimizer.iterations))
    TransformerSeq2SeqLM(backbone, preprocessor).save_to_preset(str(folder / "preset"))
    build_random_parser().save_to_preset(str(folder / "parser"))

    sources, targets = zip(*number_words(NUM_SENTENCES, 4), strict=True)
    np.savez(folder / "inputs.npz", sources=sources, targets=targets, **packed_batch(tokenizer))


def packed_batch(tokenizer):
    """A batch with padding in every row and two sentences in some: the model's inputs and labels.

    Returns:
        Dictionary of int32 arrays `(B, S)` for the encoder, `(B, T)` for the decoder and labels.
    """
    pairs = number_words(B + B // 2, 5)
    rows = [[pair] for pair in pairs[:B]]
    for row, pair in zip(rows, pairs[B:], strict=False):
        row.append(pair)
    batch = {f"encoder_{name}": np.zeros((B, S), "int32") for name in ("token_ids", "padding_mask")}
    batch |= {
        f"decoder_{name}": np.zeros((B, T), "int32") for name in ("token_ids", "padding_mask")
    }
    batch["labels"] = np.zeros((B, T), "int32")
    for b, row in enumerate(rows):
        s = t = 0
        for number, texts in enumerate(row, start=1):
            source, target = ([*ids, tokenizer.end_token_id] for ids in tokenizer(list(texts)))
            here = b, slice(s, s := s + len(source))
            batch["encoder_token_ids"][here] = source
            batch["encoder_padding_mask"][here] = number
            here = b, slice(t, t := t + len(target))
            batch["decoder_token_ids"][here] = [tokenizer.start_token_id, *target[:-1]]
            batch["decoder_padding_mask"][here] = number
            batch["labels"][here] = target
    return batch
