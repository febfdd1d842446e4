"""The mean of the last checkpoints (paper 6.1)."""

from aiayn_keras.training.checkpoints import load_checkpoint


def average_checkpoints(model, paths):
    """Sets the model's trainable weights to the mean over checkpoints.

    Args:
        model: The model that the checkpoints are of.
        paths: Checkpoint files, at least one.

    Raises:
        ValueError: If there is no path.
    """
    if not paths:
        raise ValueError("`paths` must name at least one checkpoint. Received none.")
    sums = None
    for path in paths:
        load_checkpoint(model, path)
        # In float64, so that the order of the sum does not matter.
        values = [variable.numpy().astype("float64") for variable in model.trainable_variables]
        sums = values if sums is None else [a + b for a, b in zip(sums, values, strict=True)]
    for variable, total in zip(model.trainable_variables, sums, strict=True):
        variable.assign((total / len(paths)).astype(variable.dtype))
