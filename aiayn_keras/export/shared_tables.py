"""Position tables as one constant of a served graph, instead of one in each of its functions."""

import contextlib

from aiayn_keras.layers import PositionalEmbedding


class SharedTables:
    """The sinusoidal tables of a model as tensors that all traced functions share.

    Args:
        model: A `TransformerSeq2SeqLM` of the TensorFlow backend.
    """

    def __init__(self, model):
        import tensorflow as tf

        layers = [
            layer for layer in model.backbone.layers if isinstance(layer, PositionalEmbedding)
        ]
        self._own = [(layer, layer.table) for layer in layers if layer.kind == "sinusoidal"]
        self._shared = {table.tobytes(): tf.constant(table) for _, table in self._own}

    @contextlib.contextmanager
    def scope(self):
        """Context manager in which the model's layers, traced, read the shared tables."""
        for layer, table in self._own:
            layer.table = self._shared[table.tobytes()]
        try:
            yield
        finally:
            for layer, table in self._own:
                layer.table = table
