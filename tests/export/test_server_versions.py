"""Every graph is one that the oldest server named in the kit can load."""

import shutil

import pytest
import yaml

from aiayn_keras.common.kit_files import check_kit_graph, used_ops
from aiayn_keras.export import export_saved_model
from aiayn_keras.export.server_files import (
    NEWEST,
    OLDEST,
    SERVERS,
    UnsupportedGraphError,
    check_graph,
    read_ops,
)

saved_model_pb2 = pytest.importorskip("tensorflow.core.protobuf.saved_model_pb2")


def read_graph(folder):
    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((folder / "saved_model.pb").read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    return meta_graph.graph_def


@pytest.fixture
def write_saved_model(tmp_path):
    """Function that changes the GraphDef of an empty SavedModel and gives its folder."""

    def write_saved_model(change):
        saved_model = saved_model_pb2.SavedModel()
        meta_graph = saved_model.meta_graphs.add()
        meta_graph.meta_info_def.tensorflow_version = "2.99.0"
        change(meta_graph.graph_def)
        (tmp_path / "saved_model.pb").write_bytes(saved_model.SerializeToString())
        return tmp_path

    return write_saved_model


def add_op(name, *attributes):
    """A change that adds an op, in a function, where a served graph has most of its ops."""

    def change(graph):
        node = graph.library.function.add().node_def.add(op=name)
        for attribute in attributes:
            node.attr[attribute].i = 1

    return change


def test_all_servers_have_all_ops_of_an_export(version_folder):
    check_graph(version_folder)
    check_kit_graph(version_folder)
    graph = read_graph(version_folder)
    for server in SERVERS:
        known = read_ops(server)
        assert used_ops(graph).keys() <= known.keys()
        for op, attributes in used_ops(graph).items():
            assert attributes <= known[op]
        assert graph.versions.min_consumer <= server.graph_def_version


def test_the_kit_pins_the_newest_server_and_names_all(version_folder):
    compose = yaml.safe_load((version_folder.parent / "docker-compose.yml").read_text("utf-8"))
    assert compose["services"]["serving"]["image"] == NEWEST.image
    card = (version_folder.parent / "README.md").read_text("utf-8")
    assert f'ro" {NEWEST.image} ' in card
    for server in SERVERS:
        assert f"| {server.image} | {server.text} |" in card


def test_the_ops_of_servers_are_known():
    oldest, newest = read_ops(OLDEST), read_ops(NEWEST)
    assert oldest["MatMul"] == {"T", "grad_a", "grad_b", "transpose_a", "transpose_b"}
    assert "SentenceFragmentsV2" in oldest
    assert "TFText>Utf8Binarize" in newest.keys() - oldest.keys()
    assert "use_shardy_partitioner" in newest["TPUReplicateMetadata"]
    assert "use_shardy_partitioner" not in oldest["TPUReplicateMetadata"]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (add_op("TFText>Utf8Binarize"), ["no op `TFText>Utf8Binarize`", f"{NEWEST.image} can"]),
        (add_op("MatMul", "T", "tiled"), ["no attribute `tiled` of op `MatMul`", "Nor can any"]),
        (
            lambda graph: setattr(graph.versions, "min_consumer", 2200),
            ["no graphs of version 2200", f"{NEWEST.image} can"],
        ),
    ],
)
def test_what_the_oldest_server_lacks_is_refused_with_its_remedy(write_saved_model, change, parts):
    with pytest.raises(UnsupportedGraphError) as raised:
        check_graph(write_saved_model(change))
    for part in [OLDEST.image, "TensorFlow 2.99.0", "server_files.py", *parts]:
        assert part in str(raised.value)


def test_hints_and_functions_are_no_ops_of_a_server(write_saved_model):
    def change(graph):
        function = graph.library.function.add()
        function.signature.name = "__inference_f_1"
        function.node_def.add(op="__inference_f_1").attr["_a_hint"].b = True
        graph.node.add(op="MatMul").attr["_another"].b = True

    check_graph(write_saved_model(change))


def test_an_export_that_is_refused_leaves_nothing(model, tmp_path, monkeypatch, write_saved_model):
    pytest.importorskip("tensorflow_serving")
    refused = write_saved_model(add_op("Utf9Decode"))

    def write_graph_double(model, path, *_):
        shutil.copy(refused / "saved_model.pb", path)

    monkeypatch.setattr("aiayn_keras.export.saved_model.write_graph", write_graph_double)
    with pytest.raises(UnsupportedGraphError, match="no op `Utf9Decode`"):
        export_saved_model(model, tmp_path / "models" / "small")
    assert not (tmp_path / "models").exists()
