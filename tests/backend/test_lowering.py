"""JAX lowers training step and search for GPUs and TPUs, which need not be there.

XLA's compilers for them, which take minutes, are run by `benchmarks/tpu`.
"""

import re

import keras
import pytest

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM
from aiayn_keras.backend import build_optimizer, compile_inference
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import TranslationSearch
from benchmarks.random_models import word_tokenizer
from tests.helpers import B, D, H, S, T

pytestmark = pytest.mark.skipif(keras.config.backend() != "jax", reason="JAX alone lowers for all")

V = 11
PLATFORMS = ("cuda", "tpu")


def build_model(dtype="float32"):
    backbone = TransformerBackbone(V, 1, H, D, 20, max_sequence_length=16, dtype=dtype)
    return TransformerSeq2SeqLM(backbone)


def lowered(function, *arguments):
    """The StableHLO of a function, one program for all the platforms.

    Args:
        function: Pure function of arrays.
        *arguments: Nested `jax.ShapeDtypeStruct`s.
    """
    import jax
    from jax import export

    exported = export.export(jax.jit(function), platforms=PLATFORMS)(*arguments)
    assert exported.platforms == PLATFORMS
    return exported.mlir_module()


def calls(program):
    """Functions outside of XLA that a program calls, among them those of the host's Python."""
    return set(re.findall(r"custom_call @([\w.$]+)", program))


def array(*shape, dtype="int32"):
    import jax

    return jax.ShapeDtypeStruct(shape, dtype)


def state_of(model):
    """Shapes of the variables that a step of Keras' JAX trainer takes and gives back."""
    return tuple(
        [array(*variable.shape, dtype=variable.dtype) for variable in variables]
        for variables in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    )


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_training_step_is_lowered_without_calls_to_the_host(dtype):
    model = build_model(dtype)
    model.compile(optimizer=keras.optimizers.Adam(gradient_accumulation_steps=2))
    build_optimizer(model)
    model.make_train_function()
    lengths = {"encoder": S, "decoder": T}
    x = {name: array(B, lengths[name.partition("_")[0]]) for name in model.input}
    data = x, array(B, T), array(B, T, dtype="float32")
    # `fit` calls the step with an iterator.
    step = lambda state, data: model.train_function(state, iter([data]))  # noqa: E731
    program = lowered(step, state_of(model), data)
    assert "stablehlo.dot_general" in program
    assert calls(program) == set()


@pytest.mark.parametrize("batch_size", [B, 1, 16])  # 16 sentences are searched in two parts
@pytest.mark.parametrize("num_beams", [1, 4])
def test_a_search_is_lowered_without_calls_to_the_host(batch_size, num_beams):
    model = build_model()
    options = SearchOptions(num_beams, max_length=8)
    search = TranslationSearch((model.backbone,), word_tokenizer(V), options)
    find = compile_inference(search.find_one if batch_size == 1 else search.find, model)
    source = array(batch_size, S)
    program = lowered(find, source, source, array(batch_size, 10), array(batch_size), array())
    assert "stablehlo.while" in program
    assert calls(program) == set()


def test_a_call_to_the_host_is_seen():
    import jax

    def function(x):
        return jax.pure_callback(lambda x: x + 1, x, x) + 1

    (call,) = calls(jax.jit(function).lower(array(B)).as_text())
    assert "callback" in call
    with pytest.raises(NotImplementedError, match="callback"):  # JAX itself lowers none for others
        lowered(function, array(B))
