"""One version of a kit: its SavedModel, loaded, warmed up and asked."""

import contextlib
import threading

from aiayn_keras.common.kit_files import run_warmup
from aiayn_keras.common.kit_graphs import check_kit_graph
from aiayn_keras.serving.model_server.refusals import RefusedError, invalid
from aiayn_keras_light.files import check_checksums, check_is_utf8, check_regular_file

_CODES = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    12: "UNIMPLEMENTED",
    14: "UNAVAILABLE",
}
"""Names of the codes of TensorFlow's errors; any other is INTERNAL."""

_NO_TRACES = "<stack traces unavailable>\n"
_LOADING = threading.Lock()
"""TensorFlow loads one SavedModel at a time."""


class ServedVersion:
    """A version that answers requests; threads may share it.

    Args:
        folder: `pathlib.Path` of the version.
        trust: Whether to load a graph that may do more than those of this package's exports.

    Attributes:
        signature_defs: Dictionary from a signature's name to its `SignatureDef`.

    Raises:
        OSError: If a file is missing.
        ValueError: If its graph has operations that no export of this package has; if it is not a
            SavedModel, or one of its files is damaged.
        ImportError: If TensorFlow or TensorFlow Text is not installed.
    """

    def __init__(self, folder, trust=False):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - the graph has its ops
        from tensorflow.core.protobuf import saved_model_pb2

        check_is_utf8(folder)
        check_regular_file(folder / "saved_model.pb")
        check_checksums(folder)
        if not trust:
            check_kit_graph(folder)
        with _LOADING, _no_gradients():
            self._module = tf.saved_model.load(str(folder))
        saved = saved_model_pb2.SavedModel()
        saved.ParseFromString((folder / "saved_model.pb").read_bytes())
        self.signature_defs = dict(saved.meta_graphs[0].signature_def)
        self._functions = self._module.signatures
        self._folder = folder

    def input_types(self, signature):
        """Finds the inputs of a signature.

        Args:
            signature: Its name.

        Returns:
            Dictionary from an input's name to a `tf.TensorSpec`; None for an unknown signature.
        """
        if signature not in self._functions:
            return None
        return self._functions[signature].structured_input_signature[1]

    def warm_up(self):
        """Runs the recorded requests, as TensorFlow Serving does before a version is available."""
        run_warmup(self._folder, self.run)

    def run(self, signature, inputs):
        """Computes the outputs of a signature.

        Args:
            signature: Its name.
            inputs: Dictionary from each input's name to an array; texts are bytes.

        Returns:
            Dictionary from an output's name to an array.

        Raises:
            RefusedError: With the error of the graph.
        """
        import tensorflow as tf

        function = self._functions[signature]
        specs = function.structured_input_signature[1]
        try:
            outputs = function(
                **{name: tf.constant(value, specs[name].dtype) for name, value in inputs.items()}
            )
        except tf.errors.OpError as error:
            code = _CODES.get(error.error_code, "INTERNAL")
            raise RefusedError(code, _message(error)) from error
        except (TypeError, ValueError) as error:
            raise invalid(str(error)) from error
        return {name: value.numpy() for name, value in outputs.items()}


@contextlib.contextmanager
def _no_gradients():
    """Has TensorFlow forget the custom gradients of a SavedModel that the block loads.

    Its registry would keep them, and with them all functions of the graph, until the process ends.
    A server differentiates nothing.
    """
    from tensorflow.python.framework import ops

    registered = ops.gradient_registry._registry  # TensorFlow has no public way to take one out
    before = {*registered}
    try:
        yield
    finally:
        for name in registered.keys() - before:
            del registered[name]


def _message(error):
    """The error of the graph itself, as a server gives it, without what TensorFlow adds to it."""
    text = error.message.rpartition(_NO_TRACES)[2]
    return text.rpartition(" [Op:")[0] or text
