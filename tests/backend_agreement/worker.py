"""Writes one backend's answers:

    KERAS_BACKEND=… python -m tests.backend_agreement.worker FOLDER ANSWERS.npz

FOLDER is `tests.backend_agreement.toy.save_toy`'s.
"""

import sys
from pathlib import Path

import keras
import numpy as np

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.training import list_checkpoints, load_checkpoint
from tests.backend_agreement.toy import NUM_BEAMS, compile_as_in_the_paper
from tests.random_parser import SOURCES

# So great that beside the step the weights vanish, whose last digits it is added to; a power of
# two, by which dividing again changes no digit.
GRADIENT_SCALE = 2.0**12


def answer(folder):
    """Dictionary of arrays by name."""
    folder = Path(folder)
    model = TransformerSeq2SeqLM.from_preset(str(folder / "preset"))
    batch = dict(np.load(folder / "inputs.npz"))
    sources, targets = (batch.pop(name).tolist() for name in ("sources", "targets"))
    labels = batch.pop("labels")
    trained = TransformerSeq2SeqLM(model.backbone)
    return {
        "logits": trained.predict(batch, batch_size=len(labels), verbose=0),
        "pair_scores": model.score(sources, targets),
        **hypotheses(model, sources),
        **trees(TransformerSeq2SeqLM.from_preset(str(folder / "parser"))),
        **gradients(trained, batch, labels),
        **weights_after_one_update(trained, batch, labels, folder),
    }


def hypotheses(model, sources):
    """Of each source, best first: `texts` and `scores (N, W)`, `tokens (N, W, length)`."""
    found = model.translate(sources, num_beams=NUM_BEAMS, num_return_sequences=NUM_BEAMS)
    rows = [translation.hypotheses for translation in found]
    length = max(len(hypothesis.tokens) for row in rows for hypothesis in row)
    return {
        "texts": np.array([[h.text for h in row] for row in rows]),
        "scores": np.array([[h.score for h in row] for row in rows]),
        "tokens": np.array([[(*h.tokens, *[""] * length)[:length] for h in row] for row in rows]),
    }


def trees(parser):
    """Of each source of the parser, best first: `tree_texts` and `tree_scores (N, W)`."""
    options = {"num_beams": NUM_BEAMS, "num_return_sequences": NUM_BEAMS, "max_length": 12}
    found = parser.translate(SOURCES, constraint="brackets", **options)
    return {
        "tree_texts": np.array([[h.text for h in each.hypotheses] for each in found]),
        "tree_scores": np.array([[h.score for h in each.hypotheses] for each in found]),
    }


def gradients(model, batch, labels):
    """Of the loss to every weight, by an update of plain gradient descent that is taken back."""
    before = dict(weights(model))
    compile_as_in_the_paper(model, keras.optimizers.SGD(GRADIENT_SCALE))
    update(model, batch, labels)
    after = dict(weights(model))
    model.set_weights(list(before.values()))
    return {f"gradient/{name}": (before[name] - after[name]) / GRADIENT_SCALE for name in before}


def weights_after_one_update(model, batch, labels, folder):
    """The weights after one more update of the stopped training.

    The first update of a training would not do: Adam's is ±learning rate whatever a gradient's
    size, so that where it is zero but for rounding, rounding decides. Behind the checkpoint's
    running means a gradient counts by its size.
    """
    compile_as_in_the_paper(model)
    ((_, checkpoint),) = list_checkpoints(folder)
    load_checkpoint(model, checkpoint)
    start = {f"start/{name}": weight for name, weight in weights(model)}
    update(model, batch, labels)
    return start | {f"weights/{name}": weight for name, weight in weights(model)}


def update(model, batch, labels):
    is_real = (batch["decoder_padding_mask"] != 0).astype("float32")
    model.train_on_batch(batch, labels, sample_weight=is_real)


def weights(model):
    """Pairs of path and a copy, which a later update leaves as it is."""
    return [
        (variable.path, np.array(keras.ops.convert_to_numpy(variable)))
        for variable in model.weights
    ]


if __name__ == "__main__":
    np.savez(sys.argv[2], **answer(sys.argv[1]))
