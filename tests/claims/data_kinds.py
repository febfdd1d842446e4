"""Calls `fit`, `evaluate` and `predict` with every kind of data, and compares with Keras' steps.

Run from the repository's root, on one backend after the other:

    KERAS_BACKEND=jax python -m tests.claims.data_kinds [--method fit] [--kind NAME]

Four pairs of texts, or their token ids, come as each kind of data that Keras takes, with and
without a weight for each pair, to a model with and without a preprocessor. The losses and logits
must be those of `keras.Model`'s steps on the arrays of the preprocessor; the only other right
answer is an error in one line. Exits with 1 if a number differs or an error has more lines.
"""

import sys

import click
import keras
import numpy as np

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)

ENGLISH = ["a red bus", "two birds", "the blue house", "one old man"]
GERMAN = ["ein roter Bus", "zwei Vögel", "das blaue Haus", "ein alter Mann"]
WEIGHTS = np.array([0.0, 2.0, 1.0, 3.0], "float32")
BATCH_SIZE = 2
METHODS = ("fit", "evaluate", "predict")


def make_model(with_preprocessor):
    """Returns a small compiled model, always of the same weights."""
    keras.utils.set_random_seed(1)
    tokenizer = TransformerTokenizer.train([*ENGLISH, *GERMAN], 40)
    backbone = TransformerBackbone(
        40, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32, dropout=0.0
    )
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 16, 16)
    model = TransformerSeq2SeqLM(backbone, preprocessor if with_preprocessor else None)
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    return model, preprocessor


def as_batches(data):
    """Cuts nested arrays into batches."""
    return [
        keras.tree.map_structure(lambda values, i=i: values[i : i + BATCH_SIZE], data)
        for i in range(0, len(ENGLISH), BATCH_SIZE)
    ]


class Batches(keras.utils.PyDataset):
    """A `PyDataset` of batches in memory."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def _tf_data(data):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(data).batch(BATCH_SIZE)


def _loader(data):
    import torch

    return torch.utils.data.DataLoader(as_batches(data), batch_size=None)


def _loader_of_rows(data):
    """A `DataLoader` that makes the batches itself, of strings or tensors."""
    import torch

    rows = [keras.tree.map_structure(lambda values, i=i: values[i], data) for i in range(4)]
    rows = [
        keras.tree.map_structure(lambda x: str(x) if isinstance(x, str) else x, r) for r in rows
    ]
    return torch.utils.data.DataLoader(rows, batch_size=BATCH_SIZE)


def _grain(data):
    import grain

    rows = [keras.tree.map_structure(lambda values, i=i: values[i], data) for i in range(4)]
    return grain.MapDataset.source(rows).batch(BATCH_SIZE)


SOURCES = {
    "tf.data": _tf_data,
    "PyDataset": lambda data: Batches(as_batches(data)),
    "generator": lambda data: (batch for batch in as_batches(data)),
    "DataLoader of batches": _loader,
    "DataLoader of rows": _loader_of_rows,
    "Grain": _grain,
}
"""Functions of `x`, `(x, y)` or `(x, y, sample_weight)` that make data which gives batches."""


def _texts(kind):
    """The texts in memory, as one kind of `x` and `y`."""
    named = {"encoder_text": ENGLISH, "decoder_text": GERMAN}
    return {
        "lists": (ENGLISH, GERMAN),
        "tuples": (tuple(ENGLISH), tuple(GERMAN)),
        "arrays": (np.array(ENGLISH), np.array(GERMAN)),
        "arrays of objects": (np.array(ENGLISH, dtype=object), np.array(GERMAN, dtype=object)),
        "bytes": ([text.encode() for text in ENGLISH], [text.encode() for text in GERMAN]),
        "a list and an array": (ENGLISH, np.array(GERMAN)),
        "a dictionary of lists": (named, None),
        "a dictionary of arrays": ({name: np.array(side) for name, side in named.items()}, None),
    }[kind]


IN_MEMORY = (
    *("lists", "tuples", "arrays", "arrays of objects", "bytes", "a list and an array"),
    *("a dictionary of lists", "a dictionary of arrays"),
)


def make_ways():
    """Yields `(name, has_preprocessor, weighted, make_arguments)` for every way of giving data.

    `make_arguments` is a function of the preprocessor that returns the positional arguments and
    keywords of a method.
    """
    for weighted in (False, True):
        weights = WEIGHTS if weighted else None
        for kind in IN_MEMORY:
            x, y = _texts(kind)
            options = {"batch_size": BATCH_SIZE, "sample_weight": weights}
            yield f"text: {kind}", True, weighted, lambda _, x=x, y=y, o=options: ((x, y), dict(o))
        for kind, make in SOURCES.items():
            for named in (True, False):
                if named and weighted:
                    continue  # a dictionary alone has no place for weights
                data = {"encoder_text": ENGLISH, "decoder_text": GERMAN}
                if not named:
                    data = (ENGLISH, GERMAN, *([WEIGHTS] if weighted else []))
                form = "a dictionary" if named else "pairs"
                data = keras.tree.map_structure_up_to(
                    _shape_of(data), lambda side: np.array(side), data
                )
                yield (
                    f"text: {kind} of {form}",
                    True,
                    weighted,
                    lambda _, make=make, data=data: ((make(data),), {}),
                )
        yield from _ways_of_ids(weighted)


def _shape_of(data):
    return dict.fromkeys(data, 0) if isinstance(data, dict) else (0,) * len(data)


def _ways_of_ids(weighted):
    def arrays(preprocessor):
        x, y, token_weights = map(_to_numpy, preprocessor(_texts("a dictionary of lists")[0]))
        return x, y, token_weights * WEIGHTS[:, np.newaxis] if weighted else token_weights

    def in_memory(preprocessor):
        *data, token_weights = arrays(preprocessor)
        return data, {"batch_size": BATCH_SIZE, "sample_weight": token_weights}

    def tensors(preprocessor):
        x, y, token_weights = keras.tree.map_structure(
            keras.ops.convert_to_tensor, arrays(preprocessor)
        )
        return (x, y), {"batch_size": BATCH_SIZE, "sample_weight": token_weights}

    yield "ids: arrays", False, weighted, in_memory
    yield "ids: tensors", False, weighted, tensors
    for kind, make in SOURCES.items():
        yield (
            f"ids: {kind}",
            False,
            weighted,
            lambda preprocessor, make=make: ((make(arrays(preprocessor)),), {}),
        )


def _to_numpy(data):
    return keras.tree.map_structure(keras.ops.convert_to_numpy, data)


def expected_result(method, weighted):
    """Returns what `keras.Model`'s own steps make of the arrays, batch by batch."""
    model, preprocessor = make_model(with_preprocessor=False)
    x, y, weights = map(_to_numpy, preprocessor(_texts("a dictionary of lists")[0]))
    if weighted:
        weights = weights * WEIGHTS[:, np.newaxis]
    batches = as_batches((x, y, weights))
    if method == "predict":
        return np.concatenate([model.predict_on_batch(x) for x, _, _ in batches])
    step = model.train_on_batch if method == "fit" else model.test_on_batch
    losses = []
    for batch in batches:
        losses.append(step(*batch, return_dict=True)["loss"])
        model.reset_metrics()
    return np.mean(losses)


def result_of(method, has_preprocessor, make_arguments):
    """Returns the loss of an epoch, or the logits."""
    model, preprocessor = make_model(has_preprocessor)
    arguments, options = make_arguments(preprocessor)
    if method == "predict":
        options.pop("sample_weight", None)
        x = arguments[0]
        if has_preprocessor and arguments[1:] and arguments[1] is not None:  # no targets in Keras
            x = {"encoder_text": arguments[0], "decoder_text": arguments[1]}
        return model.predict(x, verbose=0, **options)
    if method == "fit":
        return model.fit(*arguments, shuffle=False, verbose=0, **options).history["loss"][0]
    return model.evaluate(*arguments, verbose=0, return_dict=True, **options)["loss"]


def verdict(method, way, expected):
    """Returns whether a way is right or refused, and a line for the table."""
    _, has_preprocessor, _, make_arguments = way
    try:
        found = result_of(method, has_preprocessor, make_arguments)
    except (ValueError, TypeError) as error:
        lines = str(error).splitlines()
        return len(lines) == 1, f"refused: {lines[0]:.90}"
    equal = np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    return equal, "equal" if equal else f"WRONG: {np.max(np.abs(found - expected)):.4f} off"


@click.command()
@click.option("--method", "methods", multiple=True, type=click.Choice(METHODS), default=METHODS)
@click.option("--kind", default="", help="Only ways whose name contains this.")
def main(methods, kind):
    """Call `fit`, `evaluate` and `predict` with every kind of data."""
    expected = {
        (method, weighted): expected_result(method, weighted)
        for method in methods
        for weighted in (False, True)
    }
    verdicts = []
    for way in make_ways():
        name, _, weighted, _ = way
        if kind not in name:
            continue
        for method in methods:
            if method == "predict" and weighted:
                continue
            right, line = verdict(method, way, expected[method, weighted])
            verdicts.append(right)
            weights = "weights" if weighted else ""
            print(f"{'' if right else '! '}{name:42} {weights:8} {method:9} {line}", flush=True)
    print(f"{len(verdicts)} ways on {keras.config.backend()}: {verdicts.count(False)} wrong")
    sys.exit(not all(verdicts))


if __name__ == "__main__":
    main()
