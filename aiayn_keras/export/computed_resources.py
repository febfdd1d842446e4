"""Tensors that loading a served graph computes once, so that no request does."""


def make_computed(name, value, compute):
    """Makes a resource; it must be an attribute of the exported module, or loading misses it.

    A server runs the initializers of a SavedModel once, after it has restored the variables.

    Args:
        name: Name of the resource. Python's loader makes names unique, a runtime may not: other
            values need other names.
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
