"""Weights kept in half the space, on small Keras models and on a whole export."""

import keras
import numpy as np
import pytest
from keras import ops, tree

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.export.served_weights import (
    HalfPrecisionWeights,
    PackedDecoder,
    SharedTables,
    WholeWeights,
)
from tests.export.served import Served, call_in_fresh_process
from tests.helpers import assert_close

TEXTS = ["The old bus arrived yesterday.", "", "Half past three."]


def write_dense(path, kernel):
    """Writes a SavedModel of one dense layer of half-precision weights."""
    import tensorflow as tf

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, bias_initializer="ones")])
    model.layers[0].kernel.assign(kernel)
    weights = HalfPrecisionWeights(model)
    module = tf.Module()
    module.variables_, module.restored = weights.variables, weights.restored

    spec = tf.TensorSpec([None, 2], tf.float32, name="x")

    @tf.function(input_signature=[spec], autograph=False)
    def serving_default(x):
        with weights.scope():
            return {"y": model(x)}

    tf.saved_model.save(module, str(path), signatures={"serving_default": serving_default})


def test_matrices_are_rounded_and_biases_are_whole(tmp_path):
    kernel = np.array([[1 / 3, 2.0], [0.1, -5.0]], "float32")
    write_dense(tmp_path / "a", kernel)
    served = Served(tmp_path / "a")
    assert {v.dtype.name for v in served.loaded.variables_} == {"float16", "float32"}
    expected = kernel.astype("float16").astype("float32") + 1
    np.testing.assert_array_equal(served("serving_default", x=np.eye(2, dtype="f"))["y"], expected)


def resource_names(path):
    """Names by which a runtime finds the resources that a graph makes."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((path / "saved_model.pb").read_bytes())
    functions = saved_model.meta_graphs[0].graph_def.library.function
    nodes = [node for function in functions for node in function.node_def]
    nodes += saved_model.meta_graphs[0].graph_def.node
    names = {node.attr["shared_name"].s for node in nodes if node.op == "VarHandleOp"}
    return {name for name in names if name.startswith(b"half_")}


def test_only_the_same_weights_share_a_name(tmp_path):
    kernels = {"a": 2.0, "again": 2.0, "b": 3.0}
    for name, value in kernels.items():
        write_dense(tmp_path / name, np.full((2, 2), value, "float32"))
    names = {name: resource_names(tmp_path / name) for name in kernels}
    assert len(names["a"]) == 1
    assert names["a"] == names["again"] != names["b"]


def test_two_models_in_a_process_keep_their_own_weights(tmp_path):
    kernels = [np.full((2, 2), value, "float32") for value in (2.0, 3.0)]
    for name, kernel in zip("ab", kernels, strict=True):
        write_dense(tmp_path / name, kernel)
    models = [Served(tmp_path / name) for name in "ab"]
    for model, kernel in zip(models, kernels, strict=True):
        np.testing.assert_array_equal(
            model("serving_default", x=np.eye(2, dtype="f"))["y"], kernel + 1
        )


@pytest.fixture(scope="module")
def exported_half(model, tmp_path_factory):
    return model.export(tmp_path_factory.mktemp("half") / "small", weights="float16")


@pytest.mark.slow
def test_a_served_model_is_the_model_folder_of_the_same_weights(model, exported_half, tmp_path):
    model.save_to_preset(tmp_path / "half", weights="float16")
    half = TransformerSeq2SeqLM.from_preset(str(tmp_path / "half"))
    answer = call_in_fresh_process(exported_half, "serving_default", text=TEXTS)
    expected = half.translate(TEXTS)
    assert answer["translation"] == [translation.text for translation in expected]
    assert_close(np.array(answer["score"]), [translation.score for translation in expected])


@pytest.mark.slow
def test_the_files_are_smaller_and_the_card_says_so(exported, exported_half):
    sizes = [
        (folder / "variables" / "variables.data-00000-of-00001").stat().st_size
        for folder in (exported, exported_half)
    ]
    assert sizes[1] < 0.6 * sizes[0]
    card = (exported_half.parent / "README.md").read_text("utf-8")
    assert "float32, matrices kept in float16" in card


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "int8"}, '`weights` must be "float32" or "float16"'),
        ({"weights": "float16", "precision": "bfloat16"}, "that computes in float32"),
    ],
)
def test_impossible_weights_are_refused(model, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        model.export(tmp_path / "small", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("weights", "tolerance"), [(WholeWeights, 0.0), (HalfPrecisionWeights, 2**-11)]
)
def test_a_packed_decoder_is_the_frozen_one(model, weights, tolerance):
    packed = PackedDecoder(model.backbone, weights(model))
    pairs = zip(*map(tree.flatten, (packed.read(), freeze_decoder(model.backbone))), strict=True)
    for ours, expected in pairs:
        if callable(expected) or isinstance(expected, str | None):
            assert ours == expected
        else:
            ours, expected = map(ops.convert_to_numpy, (ours, expected))
            np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)


def test_only_what_differs_from_the_weights_is_packed(model):
    """Queries, keys and values of every layer as one matrix, and the output matrix."""
    packed = PackedDecoder(model.backbone, WholeWeights(model))
    D, V = model.backbone.hidden_dim, model.backbone.vocabulary_size
    shapes = [tuple(resource.read().shape) for resource in packed.resources]
    assert sorted(shapes) == sorted([*model.backbone.num_layers * [(D, 3 * D)], (D, V)])


def test_no_request_joins_or_transposes_weights(exported):
    """Only the computed tables are read after loading, not their sources."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((exported / "saved_model.pb").read_bytes())
    functions = saved_model.meta_graphs[0].graph_def.library.function
    searches = [f for f in functions if f.signature.name.startswith("__inference_search")]
    assert len(searches) == 2  # for the best translation and for several
    for search in searches:
        assert any(node.op == "ReadVariableOp" for node in search.node_def)
        packing = ("ConcatV2", "Transpose")
        assert not [
            n for n in search.node_def if n.op in packing and "ReadVariableOp" in n.input[0]
        ]


def test_the_graph_holds_the_position_table_once(model, exported):
    table = np.asarray(model.backbone.encoder_embedding.table)
    assert (exported / "saved_model.pb").read_bytes().count(table.tobytes()) == 1


def test_the_layers_have_their_own_tables_again(model):
    embeddings = (model.backbone.encoder_embedding, model.backbone.decoder_embedding)
    own = [each.table for each in embeddings]
    tables = SharedTables(model)
    with tables.scope():
        encoder, decoder = (each.table for each in embeddings)
        assert encoder is decoder is not own[0]
        np.testing.assert_array_equal(encoder, own[0])
    assert all(each.table is table for each, table in zip(embeddings, own, strict=True))
