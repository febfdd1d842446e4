"""The files that tell TensorFlow Serving how to run a kit.

`models.config` has the labels and the versions that the server loads; warm-up requests are run when
it loads a version. The versions of TensorFlow Serving that a kit names are here, with the ops of
each.
"""

import itertools
import os
import re
import time
from dataclasses import dataclass, field
from importlib import resources

from aiayn_keras.common.kit_files import WARMUP_FILE, read_served_model, run_warmup, used_ops
from aiayn_keras.export.serving_options import longest_whole_text

CONFIG = "models.config"
LABELS = ("stable", "canary")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_BEFORE = re.compile(rf"^# before: ({'|'.join(LABELS)}) ([1-9]\d{{0,18}})$", re.MULTILINE)
"""A comment, which the server skips: a label and the version that had it."""
OPS_FILE = "server_ops.txt"
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes to which TensorFlow Serving pads its batches; `batching.config` has them too."""
_FEW_BATCH_SIZES = (1, 8)
"""Sizes of the warm-up batches of the signatures that are rarely used."""
_WORDS_OF_TEXTS = (2, 4, 8, 16)
"""Lengths, in words, of the texts that are made from the vocabulary."""


@dataclass(frozen=True)
class ModelsConfig:
    """The one model of a `models.config`.

    Attributes:
        name: Name under which the model is served.
        base_path: Folder of the versions on the server.
        labels: Dictionary from a label to a version's number.
        versions: List of the numbers of the versions that the server loads.
        before: Dictionary from a label to the version that had it before its last move.
    """

    name: str
    base_path: str
    labels: dict[str, int]
    versions: list[int]
    before: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path):
        """Reads a file.

        Args:
            path: A `pathlib.Path`.

        Raises:
            OSError: If the file does not exist.
            ValueError: If it is not a configuration of one model.
        """
        model, text = read_served_model(path)
        return cls(
            name=model.name,
            base_path=model.base_path,
            labels=dict(model.version_labels),
            versions=list(model.model_version_policy.specific.versions),
            before={label: int(version) for label, version in _BEFORE.findall(text)},
        )

    def to_text(self):
        """Writes the text of the file."""
        from google.protobuf import text_format
        from tensorflow_serving.config import model_server_config_pb2

        config = model_server_config_pb2.ModelServerConfig()
        model = config.model_config_list.config.add(
            name=self.name, base_path=self.base_path, model_platform="tensorflow"
        )
        model.model_version_policy.specific.versions.extend(self.versions)
        model.version_labels.update(self.labels)
        comments = [f"# before: {label} {version}\n" for label, version in self.before.items()]
        return "".join(comments) + text_format.MessageToString(config)


def check_name(name):
    """Raises a ValueError for a model's name that paths, URLs and configurations do not take."""
    if not NAME.fullmatch(name):
        raise ValueError(
            "The name of a served model is 1 to 100 letters of ASCII, digits, `.`, `_` and `-`, "
            f"the first a letter or a digit. Received: {name!r:.120}."
        )


def kit_name(folder):
    """The name under which the model of a kit is served: that of its folder.

    If the folder is a link, the name is that of the link or, in older kits, that of its target.

    Args:
        folder: `pathlib.Path` of the folder `<name>`; it need not exist.

    Raises:
        ValueError: For a kit whose folder had another name when it was made.
    """
    names = os.path.basename(os.path.abspath(folder)), folder.resolve().name
    if not (folder / CONFIG).exists():
        return names[0]
    served = ModelsConfig.read(folder / CONFIG).name
    if served not in names:
        raise ValueError(
            f"{folder / CONFIG} serves the model {served!r:.120}, and its folder is {names[0]!r}: "
            "an export would rename the model, and running servers would lose it. Rename the "
            f'folder, or, for a model of its own, give that file `name: "{names[0]}"` and '
            f'`base_path: "/models/{names[0]}"`.'
        )
    return served


@dataclass(frozen=True)
class Server:
    """A version of TensorFlow Serving.

    Attributes:
        version: Tag of its image, which is the version of its TensorFlow.
        graph_def_version: The `TF_GRAPH_DEF_VERSION` of its TensorFlow, as its C library says.
        text: Version of the TensorFlow Text in the image.
    """

    version: str
    graph_def_version: int
    text: str

    @property
    def image(self):
        """Name of its Docker image."""
        return f"tensorflow/serving:{self.version}"


SERVERS = (
    Server("2.18.1", 1994, "2.12.1"),
    Server("2.19.1", 2129, "2.12.1"),
    Server("2.20.0", 2288, "2.20.0"),
)
"""Oldest first. Every export is checked against the oldest; the kit runs the newest.

`python -m tests.claims.server_ops` reads the ops and the graphs' version out of the wheels of
TensorFlow and TensorFlow Text. The versions of TensorFlow Text are those in the server's images.
"""

OLDEST, NEWEST = SERVERS[0], SERVERS[-1]


class UnsupportedGraphError(ValueError):
    """The oldest server of the kit cannot load a graph."""


def check_graph(folder):
    """Checks that the oldest server can load a SavedModel.

    Args:
        folder: `pathlib.Path` of the folder that holds `saved_model.pb`.

    Raises:
        UnsupportedGraphError: With an op or attribute that the server lacks, and the remedy.
    """
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((folder / "saved_model.pb").read_bytes())
    for meta_graph in saved_model.meta_graphs:
        missing = _missing(meta_graph.graph_def, OLDEST)
        if missing is not None:
            writer = meta_graph.meta_info_def.tensorflow_version
            raise UnsupportedGraphError(
                f"{OLDEST.image}, the oldest server that the kit names, cannot load the "
                f"graph of TensorFlow {writer}: it has no {missing}. "
                f"{_remedy(meta_graph.graph_def)}"
            )


def _missing(graph, server):
    """Names the first thing in a GraphDef that a server lacks; None if it lacks nothing."""
    if graph.versions.min_consumer > server.graph_def_version:
        return f"graphs of version {graph.versions.min_consumer}"
    known = read_ops(server)
    for op, attributes in sorted(used_ops(graph).items()):
        if op not in known:
            return f"op `{op}`"
        for attribute in sorted(attributes - known[op]):
            return f"attribute `{attribute}` of op `{op}`"
    return None


def _remedy(graph):
    """A sentence that says how to get a graph that loads, or a server that loads this one."""
    for server in SERVERS[1:]:
        if _missing(graph, server) is None:
            return f"{server.image} can: make it the first of `SERVERS` in {__file__}."
    return (
        "Nor can any newer one that is known: export with the TensorFlow of constraints.txt, or "
        f"add a server that can to `SERVERS` in {__file__} (`python -m tests.claims.server_ops`)."
    )


def read_ops(server):
    """Dictionary of the ops that a server and all newer ones have: from name to attributes.

    Args:
        server: One of `SERVERS`.
    """
    text = (resources.files("aiayn_keras.export") / OPS_FILE).read_text("utf-8")
    versions = [each.version for each in SERVERS]
    known = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            since, op, *attributes = line.split()
            if versions.index(since) <= versions.index(server.version):
                known.setdefault(op, set()).update(attributes)
    return known


def write_warmup(folder, model_name, tokenizer, texts, options):
    """Writes requests to every signature as `PredictionLog` records of a TFRecord file.

    Args:
        folder: `pathlib.Path` of a SavedModel.
        model_name: Name under which it is served.
        tokenizer: Its `TransformerTokenizer`.
        texts: List of typical texts; if it is empty, texts are made from words of the vocabulary.
        options: The `ServingOptions`. Where a long text is an error, which would keep the server
            from loading the model, those that are too long are left out.
    """
    import tensorflow as tf

    path, texts = folder / WARMUP_FILE, texts or _texts_of(tokenizer)
    if options.long_text == "error":
        texts = _short_enough(texts, tokenizer, options.max_input_length)
    long_texts = _long_texts(texts, tokenizer, options)
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for log in _warmup_logs(model_name, tokenizer, texts, long_texts, options.documents):
            writer.write(log.SerializeToString(deterministic=True))


def seconds_to_load(folder):
    """Loads a SavedModel with its warm-up requests, as a server does, and measures the time.

    Args:
        folder: `pathlib.Path` of the SavedModel.

    Raises:
        tf.errors.OpError: If it cannot be loaded, or a request fails.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - the graph has its ops

    begin = time.monotonic()
    signatures = tf.saved_model.load(str(folder)).signatures
    run_warmup(
        folder,
        lambda signature, inputs: signatures[signature](
            **{name: tf.constant(value) for name, value in inputs.items()}
        ),
    )
    return time.monotonic() - begin


def _warmup_logs(model_name, tokenizer, texts, long_texts, documents):
    """Yields a `PredictionLog` for each signature and batch size, of short texts and of long."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    texts = sorted(texts, key=len)
    middle = len(texts) // 2
    halves = [half for half in (texts[:middle], texts[middle:]) if half]

    def log_of(signature, **inputs):
        log = prediction_log_pb2.PredictionLog()
        request = log.predict_log.request
        request.model_spec.name = model_name
        request.model_spec.signature_name = signature
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        return log

    def batches(sizes):
        for size, half in itertools.product(sizes, halves):
            yield list(itertools.islice(itertools.cycle(half), size))

    for batch in batches(BATCH_SIZES):
        yield log_of("serving_default", text=batch)
    for batch in batches(_FEW_BATCH_SIZES):
        yield log_of("translate_nbest", text=batch)
        yield log_of("align", text=batch)
        yield log_of("score", source=batch, target=batch)
        rows = tf.ragged.constant(
            [[*ids, *tokenizer.source_ids] for ids in tokenizer(batch)], dtype=tf.int32
        )
        yield log_of("generate_ids", token_ids=rows.to_tensor().numpy())
        if documents:
            yield log_of("translate_document", text=["\n".join(batch)])
    for text in long_texts:
        yield log_of("serving_default", text=[text])
        yield log_of("translate_nbest", text=[text])


def _short_enough(texts, tokenizer, limit):
    """The texts with at most `limit` wordpieces on either side; an empty text if none is left."""
    lengths = zip(tokenizer(texts), tokenizer.of_targets()(texts), strict=True)
    kept = zip(texts, (max(map(len, sides)) for sides in lengths), strict=True)
    return [text for text, length in kept if length <= limit] or [""]


def _long_texts(texts, tokenizer, options):
    """A list of a text that is translated by sentence; empty if the limit rules out such texts."""
    longest = longest_whole_text(tokenizer, options)
    if longest is None:
        return []
    joined = ""
    for text in itertools.islice(itertools.cycle(texts), longest):
        joined += f"{text.rstrip('.')}. "
        length = len(tokenizer(joined))
        if length + len(tokenizer.source_ids) > longest:
            return [joined] if length <= options.max_input_length else []
    return []


def _texts_of(tokenizer):
    """Makes texts of several lengths from words of the vocabulary."""
    pieces = map(tokenizer.id_to_token, range(tokenizer.vocabulary_size()))
    words = [piece[1:] for piece in pieces if piece[0] == "▁" and piece[1:].isalpha()]
    words = itertools.cycle(words or ["a"])
    return [" ".join(itertools.islice(words, length)) for length in _WORDS_OF_TEXTS]
