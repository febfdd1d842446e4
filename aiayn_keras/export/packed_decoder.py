"""A decoder whose weights are joined, cast and transposed when a served graph is loaded."""

import hashlib

import keras
from keras import ops, tree

from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.export.computed_resources import make_computed


class PackedDecoder:
    """The `FrozenDecoder` of a model, made when the graph is loaded and not for every request.

    On disk there are the model's weights alone; in memory what differs from them comes on top.

    Args:
        backbone: A `TransformerBackbone` of the TensorFlow backend.
        weights: `WholeWeights` or `HalfPrecisionWeights` of its model.

    Attributes:
        resources: List of the resources that loading makes, which must be an attribute of the
            exported module.
    """

    def __init__(self, backbone, weights):
        self._backbone = backbone
        self._decoder = decoder = freeze_decoder(backbone)
        sources = {_digest(variable): variable for variable in backbone.variables}
        self._sources, self._packed = {}, {}
        for number, leaf in enumerate(tree.flatten(decoder)):
            if leaf is decoder.positions or not ops.is_tensor(leaf):
                continue
            digest = _digest(leaf)
            if digest in sources:
                self._sources[number] = sources[digest]
            else:
                name, compute = f"packed_{digest}_{number}", self._compute(number, weights)
                self._packed[number] = make_computed(name, leaf, compute)
        self.resources = list(self._packed.values())

    def read(self):
        """The `FrozenDecoder`, traced."""
        leaves = tree.flatten(self._decoder)
        for number, variable in self._sources.items():
            leaves[number] = ops.convert_to_tensor(variable)
        for number, resource in self._packed.items():
            leaves[number] = resource.read()
        decoder = tree.pack_sequence_as(self._decoder, leaves)
        return decoder._replace(positions=self._backbone.decoder_embedding.table)

    def _compute(self, number, weights):
        def compute():
            with weights.loading_scope():
                return tree.flatten(freeze_decoder(self._backbone))[number]

        return compute


def _digest(tensor):
    """Text that only tensors of one shape, dtype and content share."""
    array = keras.ops.convert_to_numpy(tensor)
    dtype = keras.backend.standardize_dtype(tensor.dtype)
    description = f"{dtype}{array.shape}".encode()
    return hashlib.sha256(description + array.tobytes()).hexdigest()[:16]
