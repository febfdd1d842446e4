"""Files of a kit that both its export and its server read: configurations, requests and graphs.

The export and the server import nothing of each other. Loading a SavedModel runs functions of its
graph, and TensorFlow has operations that read, write and delete files. So a graph may have only
operations that graphs of this package's export use.
"""

import re
from importlib import resources
from pathlib import Path

from aiayn_keras_light.files import read_bytes

MAX_CONFIG_BYTES = 1 << 20
WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"
"""Requests that a server runs before a version answers."""
OPS_FILE = "kit_ops.txt"
_FILE_OPS = frozenset({"MergeV2Checkpoints", "RestoreV2", "SaveV2", "ShardedFilename"})
"""Operations of the two functions that save and restore variables, and of no others."""
_OBJECTS = frozenset(
    {"_generic_user_object", "signature_map"}
    | {f"trackable_{kind}_wrapper" for kind in ("list", "dict", "tuple")}
)
"""Objects that TensorFlow makes again when it loads a kit; others have code of their own."""
_FUNCTION_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*_[0-9]+", re.ASCII)
"""Names that TensorFlow gives to functions; no operation's ends like that."""


def parse_config(path, message, **options):
    """Reads a configuration.

    Args:
        path: A `pathlib.Path`.
        message: An empty message of protocol buffers, which is filled.
        **options: Those of `google.protobuf.text_format.Parse`.

    Returns:
        The text of the file.

    Raises:
        OSError: If the file does not exist.
        ValueError: If it has other content.
    """
    from google.protobuf import text_format

    try:
        text = read_bytes(path, MAX_CONFIG_BYTES).decode("utf-8")
        text_format.Parse(text, message, **options)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TensorFlow Serving configuration: {error}") from error
    return text


def read_served_model(path):
    """Reads the one model of a `models.config`.

    Args:
        path: A `pathlib.Path`.

    Returns:
        TensorFlow Serving's message `ModelConfig`, and the text of the file.

    Raises:
        OSError: If the file does not exist.
        ValueError: If it is not the configuration of one model with a name.
    """
    from tensorflow_serving.config import model_server_config_pb2

    config = model_server_config_pb2.ModelServerConfig()
    text = parse_config(path, config)
    models = config.model_config_list.config
    if len(models) != 1 or not models[0].name:
        raise ValueError(
            f"{path} must configure one model, with a name. Received: {len(models)} models."
        )
    return models[0], text


def run_warmup(folder, run):
    """Runs the recorded requests of a version, if it has any.

    Args:
        folder: `pathlib.Path` of the version.
        run: Function of a signature's name and a dictionary from each input's name to an array.

    Raises:
        tf.errors.DataLossError: If the file is damaged.
    """
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = folder / WARMUP_FILE
    if not path.is_file():
        return
    for record in tf.data.TFRecordDataset(str(path)):
        request = prediction_log_pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
        run(request.model_spec.signature_name or "serving_default", inputs)


class UntrustedGraphError(ValueError):
    """Raised for a SavedModel that may do what no export of this package does."""


def check_kit_graph(folder):
    """Checks that a SavedModel only has operations that this package's export uses.

    Args:
        folder: `pathlib.Path` of the folder that holds `saved_model.pb`.

    Raises:
        UntrustedGraphError: If the graph has anything else; the message names it.
        ValueError: If the file is not a SavedModel.
        OSError: If it cannot be read.
    """
    problem = _problem(read_meta_graph(folder))
    if problem is not None:
        raise UntrustedGraphError(
            f"{folder} may do more than translate: its graph has {problem}, which graphs from "
            "`aiayn-keras export saved-model` never have. A SavedModel is a program with your "
            "rights on this machine. Load it only if you trust its author, with --trust."
        )


def read_meta_graph(folder):
    """Reads the `MetaGraphDef` of a SavedModel of TensorFlow 2; see `check_kit_graph`."""
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    path = Path(folder) / "saved_model.pb"
    saved_model = saved_model_pb2.SavedModel()
    try:
        saved_model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise ValueError(f"{path} is damaged: {error}. Copy it again.") from error
    # Otherwise TensorFlow loads it in an older way, which runs operations of its main graph.
    if len(saved_model.meta_graphs) != 1 or not saved_model.meta_graphs[0].HasField(
        "object_graph_def"
    ):
        raise UntrustedGraphError(f"{path} is not a SavedModel that TensorFlow 2 wrote.")
    return saved_model.meta_graphs[0]


def known_ops():
    """The names of the operations that graphs of the export use, as a set."""
    text = (resources.files("aiayn_keras.common") / OPS_FILE).read_text("utf-8")
    return {line for line in text.splitlines() if not line.startswith("#")}


def used_ops(graph):
    """The ops of a GraphDef and its functions, each with its attributes, as sets by name.

    Function calls are not ops. Attributes that begin with `_` are hints that any server accepts.
    """
    functions = graph.library.function
    nodes = [*graph.node, *(node for function in functions for node in function.node_def)]
    used = {}
    for node in nodes:
        attributes = {name for name in node.attr if not name.startswith("_")}
        used.setdefault(node.op, set()).update(attributes)
    for function in functions:
        used.pop(function.signature.name, None)
    return used


def _problem(meta_graph):
    """Words for the first thing in a MetaGraphDef that no export has, or None."""
    graph, objects = meta_graph.graph_def, meta_graph.object_graph_def
    for op in sorted(used_ops(graph).keys() - known_ops()):
        return f"the operation `{op}`"
    for function in graph.library.function:
        if not _FUNCTION_NAME.fullmatch(function.signature.name):  # it might hide an operation
            return f"a function of the name `{function.signature.name:.60}`"
    # The functions that save and restore variables are called by nobody but the saver.
    savers = {f.signature.name for f in graph.library.function if _has_file_ops(f.node_def)}
    others = [node for f in graph.library.function for node in f.node_def]
    ends = {meta_graph.saver_def.save_tensor_name.split(":")[0]}
    ends.add(meta_graph.saver_def.restore_op_name)
    others += [node for node in graph.node if node.name not in ends]
    called = set(objects.concrete_functions).union(*map(_functions_of, others))
    if savers & called or _has_file_ops(graph.node):
        return "an operation on files outside of the functions that save and restore variables"
    for each in objects.nodes:
        identifier = each.user_object.identifier
        if each.registered_name not in ("", "tf.TrackableConstant") or (
            each.WhichOneof("kind") == "user_object" and identifier not in _OBJECTS
        ):
            return f"an object of the kind `{each.registered_name or identifier:.60}`"
    return None


def _has_file_ops(nodes):
    return any(node.op in _FILE_OPS for node in nodes)


def _functions_of(node):
    """The names of the functions that a node may call."""
    values = node.attr.values()
    return {node.op, *(v.func.name for v in values), *(f.name for v in values for f in v.list.func)}
