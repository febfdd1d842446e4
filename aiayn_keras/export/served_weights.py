"""The weights of a served graph: shared tables, packed decoders, halved matrices."""

import contextlib
import functools
import hashlib

import keras
from keras import ops, tree

from aiayn_keras.common.weight_files import as_float16
from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.layers import PositionalEmbedding


def _make_computed(name, value, compute):
    """Makes a resource; it must be an attribute of the exported module, or loading misses it.

    A server runs the initializers of a SavedModel once, after it has restored the variables.

    Args:
        name: Name of the resource. Python's loader makes names unique, but a runtime may not, so
            different values need different names.
        value: Anything with the shape and the dtype of the tensor.
        compute: Function without arguments that gives the tensor, of variables.

    Returns:
        A trackable resource whose method `read` gives the tensor.
    """
    import tensorflow as tf

    dtype, shape = tf.as_dtype(value.dtype), tuple(value.shape)

    class Computed(tf.saved_model.experimental.TrackableResource):
        """The resource."""

        def __init__(self):
            super().__init__()
            self._initialize()

        def _create_resource(self):
            return tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name=name, container="")

        def _initialize(self):
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=compute())

        def read(self):
            value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=dtype)
            return tf.ensure_shape(value, shape)

    return Computed()


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
        """Context manager in which the model's layers read the shared tables when traced."""
        for layer, table in self._own:
            layer.table = self._shared[table.tobytes()]
        try:
            yield
        finally:
            for layer, table in self._own:
                layer.table = table


class PackedDecoder:
    """The `FrozenDecoder` of a model, made when the graph is loaded and not for every request.

    Only the model's own weights are on disk. In memory, whatever is packed differently is added.

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
                self._packed[number] = _make_computed(name, leaf, compute)
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


class HalfPrecisionWeights:
    """The matrices of a model as float16 variables, from which loading makes float32 ones.

    The graph computes in float32, and casts nothing while it answers: a server runs the
    initializers of a SavedModel once, after it has restored the variables. Biases and the scales
    of layer normalization stay as they are.

    Args:
        model: A Keras model of the TensorFlow backend with float32 weights.

    Attributes:
        variables: List of the TensorFlow variables that are written.
        restored: List of the resources that loading makes. Both lists must be attributes of the
            exported module; otherwise loading misses them.
    """

    def __init__(self, model):
        import tensorflow as tf

        matrices = [v for v in model.variables if len(v.shape) >= 2 and v.dtype == "float32"]
        names = {id(matrix) for matrix in matrices}
        others = [v.value for v in model.variables if id(v) not in names]
        halves = [as_float16(v.path, keras.ops.convert_to_numpy(v)) for v in matrices]
        # Python's loader makes names unique, but a runtime may not: only equal weights share one.
        digest = hashlib.sha256(b"".join(half.tobytes() for half in halves)).hexdigest()[:16]
        self._halves = [tf.Variable(half, trainable=False) for half in halves]
        self.restored = [
            _make_computed(f"half_{digest}_{number}", matrix, functools.partial(_as_float32, half))
            for number, (matrix, half) in enumerate(zip(matrices, self._halves, strict=True))
        ]
        self.variables = [*others, *self._halves]
        self._matrices = matrices

    def scope(self):
        """Context manager in which the model's layers read the restored weights when traced."""
        return self._mapping(restored.read() for restored in self.restored)

    def loading_scope(self):
        """Like `scope`, for what runs at the same time as the restored weights' initializers."""
        return self._mapping(map(_as_float32, self._halves))

    def _mapping(self, values):
        mapping = list(zip(self._matrices, values, strict=True))
        return keras.StatelessScope(mapping, initialize_variables=False)


def _as_float32(half):
    return keras.ops.cast(half, "float32")


class WholeWeights:
    """The weights of a model as they are, with the attributes of `HalfPrecisionWeights`."""

    restored = ()

    def __init__(self, model):
        self.variables = [variable.value for variable in model.variables]

    def scope(self):
        """Context manager that changes nothing."""
        return contextlib.nullcontext()

    loading_scope = scope
