"""The number of operations of a decoding step on TensorFlow: small models wait for little else."""

import collections

import keras
import pytest

from aiayn_keras import TransformerBackbone
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import TranslationSearch
from tests.number_words_model import tokenizer

__all__ = ["tokenizer"]

PER_LAYER = {"find_one": 62, "find": 68}
"""Operations of a step for every decoder layer; constants are not counted."""

BESIDE = {"find_one": 94, "find": 104}
"""Operations of a step beside the layers."""

MAX_SHAPES = 2
"""Number of times that a step asks for the shape of a tensor."""


def operations_of_a_step(find, tokenizer, num_layers):
    """Counts the operations in a step of the search; a rare branch counts as one."""
    import tensorflow as tf

    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), num_layers, num_heads=2, hidden_dim=8, intermediate_dim=16
    )

    search = TranslationSearch((backbone,), tokenizer, SearchOptions())
    signature = 2 * [tf.TensorSpec([None, None], tf.int32)]
    traced = tf.function(getattr(search, find), input_signature=signature, autograph=False)
    graph = traced.get_concrete_function().graph.as_graph_def()
    (loop,) = (node for node in graph.node if node.op in ("While", "StatelessWhile"))
    functions = {function.signature.name: function for function in graph.library.function}
    body = functions[loop.attr["body"].func.name]
    ignored = {"Const", "Identity", "NoOp"}
    return collections.Counter(node.op for node in body.node_def if node.op not in ignored)


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="of TensorFlow's graphs")
@pytest.mark.parametrize("find", BESIDE)
def test_a_step_has_few_operations(find, tokenizer):
    one, two = (operations_of_a_step(find, tokenizer, num_layers) for num_layers in (1, 2))
    per_layer = two - one
    assert per_layer.total() <= PER_LAYER[find], per_layer.most_common()
    assert (one - per_layer).total() <= BESIDE[find], (one - per_layer).most_common()
    assert one["Shape"] <= MAX_SHAPES
    assert not {"StopGradient", "BroadcastTo", "Tile"} & one.keys()
