"""Batches whose first two have a size in common that others have not."""

import contextlib
import functools
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grain
import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM
from aiayn_keras.backend import (
    CompiledFunctions,
    bfloat16_products,
    compilation,
    compile_inference,
    cond_without_lowering,
    for_small_operations,
    in_parallel,
    while_loop,
    with_free_shapes,
)
from tests.helpers import B, D, S, T, assert_close


@pytest.fixture
def model():
    inputs = keras.Input((None, D))
    x = keras.layers.Dense(D)(inputs)
    outputs = keras.layers.Dropout(0.5)(x)
    return keras.Model(inputs, outputs)


@pytest.fixture
def compiled(model):
    """A compiled function of two inputs, and the list of shapes that it was traced for."""
    traces = []

    def function(x, bias):
        traces.append(tuple(x.shape))
        return {"y": model(x, training=False) + bias, "x": x}

    return compile_inference(function, model), traces


def inputs(length, seed=0):
    random = np.random.default_rng(seed)
    return random.normal(size=(B, length, D)).astype("float32"), np.array([[[7.0]]], "float32")


def test_compiled_equals_eager(model, compiled):
    function, _ = compiled
    x, bias = inputs(T)
    result = function(x, bias)
    assert_close(result["y"], model(x) + 7.0)
    assert_close(result["x"], x)


@pytest.mark.skipif(keras.config.backend() == "torch", reason="PyTorch compiles nothing")
def test_the_same_shape_is_not_traced_again(compiled):
    function, traces = compiled
    function(*inputs(T))
    first = len(traces)
    for seed in range(3):
        function(*inputs(T, seed))
    assert len(traces) == first


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="TensorFlow's own ability")
def test_one_trace_serves_all_shapes(compiled):
    function, traces = compiled
    for length in (S, T, 1, S):
        function(*inputs(length))
    assert len(traces) == 1


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="JAX compiles shapes at once")
def test_threads_that_come_together_wait_for_one_trace():
    traces = []

    def function(x):
        traces.append(x)
        time.sleep(0.1)  # a thread that did not wait would come meanwhile
        return x + 1.0

    compiled, together = compile_inference(function), threading.Barrier(2)

    def call(number):
        together.wait()
        return compiled(np.full((B, T), number, "float32"))

    with ThreadPoolExecutor(2) as executor:
        results = list(executor.map(call, (1.0, 2.0)))
    assert len(traces) == 1
    for number, result in zip((2.0, 3.0), results, strict=True):
        assert_close(result, np.full((B, T), number))


def test_new_weights_are_seen(model, compiled):
    function, _ = compiled
    x, bias = inputs(T)
    before = keras.ops.convert_to_numpy(function(x, bias)["y"])
    model.set_weights([2 * weight for weight in model.get_weights()])
    assert_close(function(x, bias)["y"] - 7.0, 2 * (before - 7.0), 1e-4, 1e-5)


def test_no_weight_changes(model, compiled):
    function, _ = compiled
    before = model.get_weights()
    function(*inputs(T))
    for weight, old in zip(model.get_weights(), before, strict=True):
        assert_close(weight, old)


@pytest.mark.skipif(keras.config.backend() != "torch", reason="parameters of PyTorch")
def test_pytorch_has_the_parameters_of_a_model_that_was_not_fitted():
    model = TransformerSeq2SeqLM(TransformerBackbone(19, 1, 2, 8, 12))
    for part in (model, model.backbone):
        parameters = set(map(id, part.parameters()))
        assert parameters == {id(variable.value) for variable in part.variables}
        assert len(part.state_dict()) == len(parameters)
        assert {id(weight.value) for weight in part.weights} <= parameters


@pytest.mark.skipif(keras.config.backend() != "torch", reason="only PyTorch records gradients")
def test_no_gradients_are_recorded(compiled):
    function, _ = compiled
    assert not function(*inputs(T))["y"].requires_grad


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="TensorFlow's own warning")
def test_searches_with_other_options_are_no_retracing(model, caplog):
    import tensorflow as tf

    caplog.set_level("WARNING")
    with caplog.at_level("WARNING", logger=tf.get_logger().name):
        tf.get_logger().addHandler(caplog.handler)
        for factor in range(8):
            compile_inference(lambda x, factor=factor: factor * x, model)(inputs(T)[0])
        tf.get_logger().removeHandler(caplog.handler)
    assert "retracing" not in caplog.text


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="nothing else has such threads")
@pytest.mark.parametrize("already_computing", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_threads_are_set_unless_it_is_too_late(already_computing):
    script = f"""
        import keras
        import tensorflow as tf
        from aiayn_keras import backend
        from aiayn_keras.backend import in_parallel
        if {already_computing}:
            keras.ops.ones(3)
        expected = {0 if already_computing else 1}
        threading = tf.config.threading
        backend.run_one_operation_at_a_time()
        assert threading.get_inter_op_parallelism_threads() == expected
        assert threading.get_intra_op_parallelism_threads() == 0
        backend.use_one_core_per_batch()
        assert threading.get_intra_op_parallelism_threads() == expected
        assert list(in_parallel(lambda x: x + 1, list(range(5)))) == [1, 2, 3, 4, 5]
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)


def has_avx512():
    """True if the processor has the instructions without which TensorFlow keeps float32."""
    information = Path("/proc/cpuinfo")
    return information.exists() and "avx512f" in information.read_text()


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="TensorFlow's own ability")
def test_products_are_in_bfloat16_within_the_context_alone():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 32, 32)).astype("float32")
    half = [np.asarray(keras.ops.cast(keras.ops.cast(z, "bfloat16"), "float32")) for z in (x, y)]
    bias = np.float32(1e-4)  # lost if the sum were in bfloat16 as well
    function = compile_inference(
        lambda x, y, bias: {"product": keras.ops.matmul(x, y), "sum": x + bias}, keras.Sequential()
    )
    before = function(x, y, bias)["product"]
    with bfloat16_products():
        within = function(x, y, bias)
    after = function(x, y, bias)["product"]
    assert_close(before, x @ y, 1e-5, 1e-5)
    assert_close(after, before)
    if has_avx512():
        assert_close(within["product"], half[0] @ half[1], 1e-2, 2e-2)
        assert np.abs(np.asarray(within["product"]) - x @ y).max() > 1e-3
    else:
        assert_close(within["product"], x @ y, 1e-5, 1e-5)
    np.testing.assert_array_equal(within["sum"], x + bias)


@pytest.mark.skipif(keras.config.backend() == "tensorflow", reason="TensorFlow has it")
def test_products_in_bfloat16_alone_are_refused_elsewhere():
    with pytest.raises(ValueError, match="TensorFlow"):
        bfloat16_products()


def test_compiled_functions_do_not_pile_up(model):
    functions = CompiledFunctions(capacity=3)
    first, second, _ = (functions.get(key, lambda: None, model) for key in "abc")
    assert functions.get("a", lambda: None, model) is first  # used again: the newest now
    functions.get("d", lambda: None, model)
    assert len(functions) == 3
    assert functions.get("a", lambda: None, model) is first
    assert functions.get("b", lambda: None, model) is not second


def test_other_variables_are_another_function(model):
    functions = CompiledFunctions()
    first = functions.get("a", lambda: None, model)
    model.layers[1].quantize("int8")
    assert functions.get("a", lambda: None, model) is not first


def make_data_set():
    sizes = [3, 3, 5, 4, 3, 5]
    return grain.MapDataset.source(sizes).map(make_batch).to_iter_dataset()


def make_batch(size):
    return {"x": np.ones((2, size), "float32")}, np.ones((2, 1), "float32")


class Sum(keras.Model):
    def __init__(self):
        super().__init__()
        self.scale = keras.layers.Dense(1)

    def call(self, inputs):
        return self.scale(keras.ops.sum(inputs["x"], axis=1, keepdims=True))


def test_a_size_of_the_first_batches_binds_no_later_one():
    model = Sum()
    model.compile(optimizer="sgd", loss="mse")
    history = model.fit(
        with_free_shapes(make_data_set()), steps_per_epoch=6, shuffle=False, verbose=0
    )
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="Only TensorFlow fixes sizes.")
def test_the_batches_are_those_of_the_data_set():
    batches = list(with_free_shapes(make_data_set()))
    assert [x["x"].shape[1] for x, _ in batches] == [3, 3, 5, 4, 3, 5]
    assert all(x["x"].dtype == y.dtype == "float32" for x, y in batches)


def collatz(number, is_small=True):
    """Steps from a number down to 1, by a loop with a branch."""

    def step(number, count):
        halved_or_tripled = cond_without_lowering(
            ops.equal(number % 2, 0), lambda: number // 2, lambda: 3 * number + 1
        )
        return halved_or_tripled, count + 1

    loop_vars = number, ops.zeros_like(number)
    return while_loop(lambda number, count: number > 1, step, loop_vars, is_small)[1]


def test_a_loop_ends_when_its_condition_says():
    assert int(collatz(ops.convert_to_tensor(27))) == 111
    assert int(compile_inference(collatz)(np.array(27))) == 111


@pytest.mark.parametrize(
    ("dtype", "is_small", "dissolved"),
    [("int32", True, set()), ("int32", False, {"While"}), ("bfloat16", True, {"While"})],
)
def test_small_loops_and_rare_branches_stay_whole_in_a_tensorflow_graph(dtype, is_small, dissolved):
    if keras.config.backend() != "tensorflow":
        pytest.skip("of TensorFlow's graphs")
    import tensorflow as tf

    function = tf.function(functools.partial(collatz, is_small=is_small), autograph=False)
    spec = tf.TensorSpec([], dtype)
    graph = function.get_concrete_function(spec).graph.as_graph_def()
    nodes = [*graph.node, *(n for f in graph.library.function for n in f.node_def)]
    loops = [n for n in nodes if n.op in ("While", "StatelessWhile", "If", "StatelessIf")]
    assert {n.op.removeprefix("Stateless") for n in loops} == {"While", "If"}
    found = {n.op.removeprefix("Stateless") for n in loops if n.attr["_lower_using_switch_merge"].b}
    assert found == dissolved


@pytest.mark.skipif(keras.config.backend() != "jax", reason="versions of JAX")
def test_versions_of_jax_that_search_wrongly_are_refused(model, monkeypatch):
    import jax

    monkeypatch.setattr(jax, "__version_info__", (0, 6, 0))
    with pytest.raises(RuntimeError, match=r"pip install 'jax>=0\.6\.2'"):
        compile_inference(lambda x: x, model)


@pytest.fixture
def pytorch():
    """The module `torch`, with three threads per operation."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield torch
    torch.set_num_threads(before)


@pytest.mark.skipif(keras.config.backend() != "torch", reason="threads of PyTorch")
def test_small_operations_take_one_thread_until_the_last_call_is_over(pytorch):
    with for_small_operations():
        with for_small_operations():
            assert pytorch.get_num_threads() == 1
        assert pytorch.get_num_threads() == 1
    assert pytorch.get_num_threads() == 3
    with pytest.raises(KeyError), for_small_operations():
        raise KeyError
    assert pytorch.get_num_threads() == 3


@pytest.mark.skipif(keras.config.backend() != "torch", reason="threads of PyTorch")
def test_two_batches_at_once_divide_the_threads(pytorch, monkeypatch):
    monkeypatch.setattr(compilation, "has_accelerator", lambda: False)
    pytorch.set_num_threads(4)
    meeting = threading.Barrier(2, timeout=60)

    def search(item):
        meeting.wait()  # until the other one is there
        with for_small_operations() if item == 3 else contextlib.nullcontext():
            meeting.wait()
            return item, pytorch.get_num_threads()

    assert list(in_parallel(search, [0, 1])) == [(0, 2), (1, 2)]
    assert dict(in_parallel(search, [2, 3]))[3] == 1
    assert pytorch.get_num_threads() == 4


@pytest.mark.skipif(keras.config.backend() != "torch", reason="threads of PyTorch")
def test_a_gpu_computes_one_batch_at_a_time(pytorch, monkeypatch):
    monkeypatch.setattr(compilation, "has_accelerator", lambda: True)
    threads = in_parallel(lambda item: threading.get_ident(), list(range(8)))
    assert len(set(threads)) == 1
    assert pytorch.get_num_threads() == 3
