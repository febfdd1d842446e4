"""The versions of TensorFlow Serving that a kit names, and the ops of each."""

from dataclasses import dataclass
from importlib import resources

from aiayn_keras.common.kit_files import used_ops

OPS_FILE = "server_ops.txt"


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
TensorFlow and TensorFlow Text. The versions of the latter are those of the images' builds.
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
    """Words for the first thing in a GraphDef that a server lacks, or None."""
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
