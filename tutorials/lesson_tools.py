"""Helpers of the lessons: what would hide a cell's idea."""

import keras
import numpy as np


def losses_of_updates(model, inputs, labels, batch_size, epochs):
    """Trains a compiled model on the batches in their order, without shuffling.

    Args:
        model: A compiled `keras.Model`.
        inputs: An array, or a list or dictionary of arrays, whose first axis is the sentence.
        labels: Array with the same first axis, whose length is a multiple of `batch_size`.
        batch_size: Sentences in an update.
        epochs: How often every sentence is seen.

    Returns:
        Float32 array of the loss of each batch, before the update that it makes.
    """
    losses = []
    for batch in np.split(np.arange(len(labels)), len(labels) // batch_size) * epochs:
        x = keras.tree.map_structure(lambda array, batch=batch: array[batch], inputs)
        model.reset_metrics()
        losses.append(model.train_on_batch(x, labels[batch], return_dict=True)["loss"])
    return np.array(losses, "float32")
