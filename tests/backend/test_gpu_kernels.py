"""TensorFlow has a GPU kernel for every operation of a compiled step; no GPU is needed to look."""

import functools
from pathlib import Path

import keras
import pytest

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM
from aiayn_keras.backend import build_optimizer
from aiayn_keras.common.kit_files import read_meta_graph
from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import TranslationSearch
from benchmarks.random_models import word_tokenizer
from tests.helpers import D, H, slow_but

KIT = Path(__file__).parents[2] / "saved_models" / "tatoeba_en_es" / "1"
V = 11
DTYPES = ("float32", "mixed_bfloat16", "mixed_float16")

# Messages of Keras' assertions. On a GPU an assertion does nothing, and so they are never copied.
MESSAGES = {"Const(string)"}

# The rest is only in a kit, once for every batch of texts, before the search and after it: strings
# are never in the memory of a GPU. What goes there are the ids of the wordpieces and a mask, int32
# `(B, S)`, and what comes back are the ids of the translations `(B, N, L)` and their scores: some
# kilobytes for a batch of 64 sentences, two copies for a whole search.
STRINGS = {
    f"{op}(string)"
    for op in (
        *("ConcatV2", "Equal", "Fill", "GatherV2", "NotEqual", "Pack", "Reshape", "Roll", "Select"),
        *("SelectV2", "Size", "StridedSlice", "Tile", "ZerosLike"),
    )
}
TEXT = {
    *("SentenceFragmentsV2", "SentencepieceDetokenizeOp", "SentencepieceIdToStringOp"),
    *("SentencepieceOp", "SentencepieceTokenizeOp", "SentencepieceTokenizeWithOffsetsOp"),
    *("StaticRegexFullMatch", "StaticRegexReplace", "StringJoin", "StringLength", "StringSplit"),
    *("Substr", "UnicodeDecodeWithOffsets", "UnicodeTranscode", "UnsortedSegmentJoin"),
}
# Words, sentences and wordpieces of the texts, and how many of them there are: in between
# operations on strings, so that their numbers are on the host already.
RAGGED = {
    *("RaggedGather", "RaggedRange", "RaggedTensorToTensor", "DenseBincount(int64)"),
    *("UnsortedSegmentMax(int64)", "UnsortedSegmentMin(int64)", "UnsortedSegmentSum(int64)"),
}
# When a model is loaded or saved.
FILES = {"MergeV2Checkpoints", "RestoreV2", "SaveV2", "ShardedFilename"}


@pytest.fixture(scope="module", autouse=True)
def kernels_for_gpus():
    """Skip where the registry cannot know: on other backends, and in wheels for CPUs alone."""
    if keras.config.backend() != "tensorflow":
        pytest.skip("kernels of TensorFlow")
    import tensorflow as tf

    if not tf.test.is_built_with_cuda():
        pytest.skip("This TensorFlow was built without GPU kernels.")


@functools.cache
def gpu_kernels(op):
    """`KernelDef`s of an operation on a GPU, or on any device."""
    from tensorflow.python.framework import kernels

    registered = kernels.get_registered_kernels_for_op(op).kernel
    return [kernel for kernel in registered if kernel.device_type in ("GPU", "DEFAULT")]


def operations(graph):
    """Nodes of a `GraphDef` and of its functions that do not call one of the functions."""
    functions = graph.library.function
    names = {function.signature.name for function in functions}
    nodes = [*graph.node, *(node for function in functions for node in function.node_def)]
    return [node for node in nodes if node.op not in names]


def types_of(attribute):
    """The dtypes that an attribute of a node names."""
    return [attribute.type] if attribute.type else list(attribute.list.type)


def takes(kernel, node):
    """True if a kernel is for the dtypes of a node."""
    return all(
        set(types_of(node.attr[constraint.name])) <= set(constraint.allowed_values.list.type)
        for constraint in kernel.constraint
    )


def without_gpu_kernel(nodes):
    """Names of operations that no GPU can compute, with the dtype if GPUs have it for others."""
    import tensorflow as tf

    found = set()
    for node in nodes:
        kernels = gpu_kernels(node.op)
        if any(takes(kernel, node) for kernel in kernels):
            continue
        named = {name for kernel in kernels for name in (c.name for c in kernel.constraint)}
        refused = [
            tf.as_dtype(dtype).name
            for name in sorted(named)
            for dtype in types_of(node.attr[name])
            if not any(takes_type(kernel, name, dtype) for kernel in kernels)
        ]
        found.add(f"{node.op}({', '.join(refused)})" if refused else node.op)
    return found


def takes_type(kernel, name, dtype):
    """True if a kernel can have a dtype as one of its attributes."""
    allowed = [c.allowed_values.list.type for c in kernel.constraint if c.name == name]
    return all(dtype in dtypes for dtypes in allowed)


def results_on_host(nodes):
    """Nodes whose GPU kernels write all their results into the host's memory."""
    from tensorflow.python.framework import op_def_registry

    def is_one(node):
        kernels = [kernel for kernel in gpu_kernels(node.op) if takes(kernel, node)]
        results = {result.name for result in op_def_registry.get(node.op).output_arg}
        on_host = [results <= set(kernel.host_memory_arg) for kernel in kernels]
        return bool(results and kernels) and all(on_host)

    return [node for node in nodes if is_one(node)]


def build_model(dtype="float32"):
    backbone = TransformerBackbone(V, 1, H, D, 20, max_sequence_length=16, dtype=dtype)
    return TransformerSeq2SeqLM(backbone)


def training_graph(model):
    """The graph that `fit` makes of a step, for batches of any shape."""
    import tensorflow as tf

    build_optimizer(model)
    ids, weights = (tf.TensorSpec((None, None), dtype) for dtype in ("int32", "float32"))
    step = tf.function(model.train_step, autograph=False)
    batch = dict.fromkeys(model.input, ids), ids, weights
    return step.get_concrete_function(batch).graph.as_graph_def()


def search_graph(model, options, name="find"):
    """The graph that `translate` makes of a search, for batches of any shape."""
    import tensorflow as tf

    find = getattr(TranslationSearch((model.backbone,), word_tokenizer(V), options), name)
    specs = [tf.TensorSpec([None] * rank, "int32") for rank in (2, 2, 2, 1, 0)]
    search = tf.function(find, input_signature=specs, autograph=False)
    return search.get_concrete_function().graph.as_graph_def()


@pytest.mark.parametrize("dtype", slow_but(["float32", "mixed_float16"], DTYPES))
def test_a_training_step_runs_on_a_gpu(dtype):
    model = build_model(dtype)
    model.compile(optimizer=keras.optimizers.Adam(gradient_accumulation_steps=2))
    nodes = operations(training_graph(model))
    assert "MatMul" in {node.op for node in nodes}
    assert without_gpu_kernel(nodes) <= MESSAGES


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("find", {"num_beams": 1}),
        ("find", {"num_beams": 4}),
        ("find_one", {"num_beams": 4}),
        (
            "find",
            {
                "coverage_penalty": 0.2,
                "no_repeat_ngram_size": 2,
                "constraint": TokenAutomaton.of_sequences([[5, 6], [7]]),
            },
        ),
    ],
    ids=["greedy", "beams", "one sentence", "penalties and a constraint"],
)
def test_a_search_runs_on_a_gpu(name, options):
    nodes = operations(search_graph(build_model(), SearchOptions(max_length=8, **options), name))
    assert "MatMul" in {node.op for node in nodes}
    assert without_gpu_kernel(nodes) <= MESSAGES


def test_of_the_gpu_kernels_only_those_for_integers_compute_on_the_host():
    import tensorflow as tf

    graph = search_graph(build_model(), SearchOptions(max_length=8))
    dtypes = {
        (node.op, dtype)
        for node in results_on_host(operations(graph))
        for attribute in node.attr.values()
        for dtype in types_of(attribute)
    }
    assert ("FloorDiv", tf.int32.as_datatype_enum) in dtypes  # token ids from places among all
    of_floats = {op for op, dtype in dtypes if tf.as_dtype(dtype).is_floating}
    assert of_floats == {"Shape"}


@pytest.fixture(scope="module")
def kit():
    """The graph of the kit in this repository."""
    return read_meta_graph(KIT).graph_def


def test_a_kit_leaves_nothing_but_texts_to_the_host(kit):
    assert without_gpu_kernel(operations(kit)) == MESSAGES | STRINGS | TEXT | RAGGED | FILES


def test_no_step_of_a_kits_search_needs_the_host(kit):
    functions = {function.signature.name: function.node_def for function in kit.library.function}
    loops = [functions[n.attr["body"].func.name] for n in operations(kit) if n.op.endswith("While")]
    searches = [body for body in loops if "MatMul" in {node.op for node in body}]
    assert searches
    for body in searches:
        called = {value.func.name for node in body for value in node.attr.values()} - {""}
        nodes = [*body, *(node for name in called for node in functions[name])]
        assert without_gpu_kernel(nodes) == set()


def test_an_operation_for_the_host_is_seen_in_a_training_step():
    import tensorflow as tf

    def loss(labels, logits):
        printed = tf.strings.to_number(tf.strings.as_string(logits))  # there and back
        rolled = tf.roll(tf.strings.as_string(labels), 1, axis=0)
        ones = tf.ones_like(tf.strings.length(rolled), "float32")
        return keras.losses.sparse_categorical_crossentropy(labels, logits, True) + ones * printed

    model = build_model()
    model.compile(loss=loss, weighted_metrics=[])
    found = without_gpu_kernel(operations(training_graph(model)))
    assert found - MESSAGES == {"AsString", "StringToNumber", "Roll(string)", "StringLength"}
