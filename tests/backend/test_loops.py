import functools

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.backend import compile_inference, rare_cond, while_loop


def collatz(number, is_small=True):
    """Steps from a number down to 1, by a loop with a branch."""

    def step(number, count):
        halved_or_tripled = rare_cond(
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
