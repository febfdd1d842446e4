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
        self._layers = [layer for layer in layers if layer.kind == "sinusoidal"]
        shared = {layer.table.tobytes(): layer.table for layer in self._layers}
        shared = {key: tf.constant(table) for key, table in shared.items()}
        self._tables = [(layer.table, shared[layer.table.tobytes()]) for layer in self._layers]

    @contextlib.contextmanager
    def scope(self):
        """Context manager in which the model's layers, traced, read the shared tables."""
        for layer, (_, shared) in zip(self._layers, self._tables, strict=True):
            layer.table = shared
        try:
            yield
        finally:
            for layer, (own, _) in zip(self._layers, self._tables, strict=True):
                layer.table = own
