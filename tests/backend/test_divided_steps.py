"""When TensorFlow divides batches among cores."""

import subprocess
import sys
import textwrap

import keras
import numpy as np
import pytest

from aiayn_keras.backend import divide_rows, has_own_steps, parts_of_batch

BACKEND = keras.config.backend()


def test_rows_are_divided_in_order():
    x, y = np.arange(10).reshape(5, 2), np.arange(5)
    parts = divide_rows({"x": x, "y": y}, 3)
    assert [list(part["y"]) for part in parts] == [[0], [1, 2], [3, 4]]
    assert np.array_equal(np.concatenate([part["x"] for part in parts]), x)


def test_only_tensorflow_has_steps_of_its_own():
    assert has_own_steps() == (BACKEND == "tensorflow")


def test_nothing_is_divided_outside_of_a_compiled_step():
    assert parts_of_batch() == 1


SCRIPT = """
    import os
    import keras
    import tensorflow as tf
    from aiayn_keras.backend import divided_steps
    divided_steps.usable_cores = lambda: {cores}
    {before}
    assert divided_steps.divide_batches_among_cores() == {divides}
    parts = []
    tf.function(lambda: parts.append(divided_steps.parts_of_batch()))()
    assert parts == [{parts}], parts
    assert divided_steps.parts_of_batch() == 1
"""


@pytest.mark.skipif(BACKEND != "tensorflow", reason="nothing else has such threads")
@pytest.mark.parametrize(
    ("cores", "before", "divides", "parts"),
    [
        (3, "", True, 3),
        (1, "", False, 1),
        (8, "", False, 1),
        (2, "keras.ops.ones(3)", False, 1),
        # A search that has a core for each batch, and a training after it.
        (2, "tf.config.threading.set_intra_op_parallelism_threads(1); keras.ops.ones(1)", False, 2),
    ],
)
def test_cores_that_have_parts_of_a_batch(cores, before, divides, parts):
    script = SCRIPT.format(cores=cores, before=before, divides=divides, parts=parts)
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)
