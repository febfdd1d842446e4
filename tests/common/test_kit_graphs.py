"""Graphs of kits: those of exports pass, and what else a SavedModel may do is refused."""

from pathlib import Path

import keras
import pytest

from aiayn_keras.common.kit_files import (
    UntrustedGraphError,
    check_kit_graph,
    known_ops,
    read_meta_graph,
    used_ops,
)
from tests.claims import kit_ops

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="One backend is enough."
)
KITS = sorted((Path(__file__).parents[2] / "saved_models").glob("*/1"))
TEXT = [tf.TensorSpec([None], tf.string, name="text")]


def save(folder, function, **attributes):
    """Writes a SavedModel whose signature is a function of texts."""
    module = tf.Module()
    module.function = tf.function(function, input_signature=TEXT, autograph=False)
    for name, value in attributes.items():
        setattr(module, name, value)
    tf.saved_model.save(module, str(folder), signatures=module.function)
    return folder


def change(folder, function):
    """Changes the `MetaGraphDef` of a SavedModel."""
    meta_graph = read_meta_graph(folder)
    message = type(meta_graph)()
    message.CopyFrom(meta_graph)
    function(message)
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    saved_model.meta_graphs.add().CopyFrom(message)
    (folder / "saved_model.pb").write_bytes(saved_model.SerializeToString())


def savers_of(graph):
    return [f.signature.name for f in graph.library.function if "traced_save" in f.signature.name]


def harmless(text):
    return {"translation": tf.identity(text)}


@pytest.fixture
def folder(tmp_path):
    return save(tmp_path / "kit", harmless, variable=tf.Variable([1.0]))


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.parent.name)
def test_committed_kits_pass(kit):
    check_kit_graph(kit)


def test_a_harmless_graph_passes(folder):
    check_kit_graph(folder)


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda text: {"x": tf.io.read_file(text[0])}, "ReadFile"),
        (lambda text: {"x": [tf.raw_ops.WriteFile(filename="x", contents=text[0]), text][1]},
         "WriteFile"),
        (lambda text: {"x": tf.numpy_function(len, [text], tf.int64)}, "PyFunc"),
        (lambda text: {"x": tf.io.matching_files(text)}, "MatchingFiles"),
        (lambda text: {"x": [tf.print(text, output_stream="file://x"), text][1]}, "PrintV2"),
        (lambda text: {"x": tf.map_fn(tf.io.read_file, text)}, "ReadFile"),
    ],
)  # fmt: skip
def test_an_operation_that_no_export_has_is_refused_by_name(tmp_path, function, op):
    folder = save(tmp_path / "kit", function)
    with pytest.raises(UntrustedGraphError, match=r"operation `\w+`.* with --trust"):
        check_kit_graph(folder)
    assert op in used_ops(read_meta_graph(folder).graph_def)
    assert op not in known_ops()


def test_files_are_written_by_nobody_but_the_saver(tmp_path):
    def write(text):
        tf.raw_ops.SaveV2(prefix="x", tensor_names=["a"], shape_and_slices=[""], tensors=[text])
        return harmless(text)

    with pytest.raises(UntrustedGraphError, match="an operation on files outside of"):
        check_kit_graph(save(tmp_path / "kit", write))


def call_the_saver(message):
    (saver,) = savers_of(message.graph_def)
    other = next(f for f in message.graph_def.library.function if f.signature.name != saver)
    other.node_def.add(name="n", op="StatefulPartitionedCall").attr["f"].func.name = saver


def call_the_saver_by_its_name(message):
    (saver,) = savers_of(message.graph_def)
    message.graph_def.library.function[0].node_def.add(name="n", op=saver)


def branch_to_the_saver(message):
    (saver,) = savers_of(message.graph_def)
    node = message.graph_def.library.function[0].node_def.add(name="n", op="If")
    node.attr["branches"].list.func.add(name=saver)


def offer_the_saver(message):
    (saver,) = savers_of(message.graph_def)
    message.object_graph_def.concrete_functions[saver].bound_inputs.extend([])


def start_the_saver(message):
    (saver,) = savers_of(message.graph_def)
    message.graph_def.node.add(name="n", op="PartitionedCall").attr["f"].func.name = saver


@pytest.mark.parametrize(
    "tamper",
    [
        call_the_saver,
        call_the_saver_by_its_name,
        branch_to_the_saver,
        offer_the_saver,
        start_the_saver,
    ],
)
def test_the_saver_is_called_by_nobody_else(folder, tamper):
    change(folder, tamper)
    with pytest.raises(UntrustedGraphError, match="an operation on files outside of"):
        check_kit_graph(folder)


def hide_an_operation(message):
    message.graph_def.library.function.add().signature.name = "ReadFile"
    message.graph_def.library.function[0].node_def.add(name="n", op="ReadFile")


def add_an_object(message):
    message.object_graph_def.nodes.add().user_object.identifier = "_tf_keras_layer"


def register_an_object(message):
    message.object_graph_def.nodes[0].registered_name = "somebody.Else"


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (hide_an_operation, "a function of the name `ReadFile`"),
        (add_an_object, "an object of the kind `_tf_keras_layer`"),
        (register_an_object, r"an object of the kind `somebody\.Else`"),
        (lambda message: message.ClearField("object_graph_def"), "not a SavedModel that Tensor"),
    ],
)
def test_what_else_no_export_has_is_refused(folder, tamper, message):
    change(folder, tamper)
    with pytest.raises(UntrustedGraphError, match=message):
        check_kit_graph(folder)


def test_a_second_graph_is_refused(folder):
    content = (folder / "saved_model.pb").read_bytes()
    (folder / "saved_model.pb").write_bytes(2 * content)  # Protocol Buffers join the two
    with pytest.raises(UntrustedGraphError, match="not a SavedModel that TensorFlow 2 wrote"):
        check_kit_graph(folder)
    (folder / "saved_model.pb").write_bytes(content[:-5])
    with pytest.raises(ValueError, match=r"saved_model\.pb is damaged"):
        check_kit_graph(folder)


def test_the_program_without_the_package_knows_the_same_operations():
    text = kit_ops.PROGRAM.read_text("utf-8")
    listed = text.partition('KNOWN_OPS = """')[2].partition('"""')[0].split()
    assert listed == sorted(known_ops())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize` method")
def test_exports_with_all_options_pass():
    assert kit_ops.all_ops() == known_ops()
