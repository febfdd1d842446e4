"""Weights that are joined and transposed when a graph is loaded."""

import numpy as np
import pytest
from keras import ops, tree

from aiayn_keras.decoding.frozen_decoder import freeze_decoder
from aiayn_keras.export.served_weights import HalfPrecisionWeights, PackedDecoder, WholeWeights


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
    """What loading has made is read; what it is made of is not."""
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
