"""A function's value and its gradients to variables and inputs, on whichever backend runs."""

import keras
import numpy as np
from keras import ops

from tests.fidelity.differences import Run


def run_keras(function, variables, **inputs):
    """Runs a function and differentiates it.

    Args:
        function: Takes `inputs` as tensors, returns a scalar and a tensor.
        variables: Keras variables that the function reads.
        **inputs: Float arrays.

    Returns:
        A `Run`, whose gradients bear the variables' paths and the inputs' names, and are 0 where
        nothing was read.
    """
    inputs = {name: ops.convert_to_tensor(x) for name, x in inputs.items()}
    loss, output, gradients = _differentiate(function, variables, inputs)
    names = [*(variable.path for variable in variables), *inputs]
    if len(set(names)) < len(names):
        raise AssertionError(f"Names are not unique: {names}.")
    gradients = dict(zip(names, map(_to_numpy, gradients), strict=True))
    return Run(_to_numpy(loss), _to_numpy(output), gradients)


def weighted_sum(output, weights):
    """`(scalar, output)`, as `run_keras` wants it, of a layer's output `(B, T, D)`."""
    return ops.sum(output * ops.convert_to_tensor(weights)), output


def _differentiate(function, variables, inputs):
    match keras.config.backend():
        case "tensorflow":
            import tensorflow as tf

            sources = [*(variable.value for variable in variables), *inputs.values()]
            with tf.GradientTape() as tape:
                tape.watch(sources)
                loss, output = function(**inputs)
            gradients = tape.gradient(loss, sources, unconnected_gradients="zero")
            # An embedding's gradient comes as rows and their numbers.
            return loss, output, map(tf.convert_to_tensor, gradients)
        case "jax":
            import jax

            def of_values(values, inputs):
                with keras.StatelessScope(zip(variables, values, strict=True)):
                    return function(**inputs)

            (loss, output), (of_variables, of_inputs) = jax.value_and_grad(
                of_values, argnums=(0, 1), has_aux=True
            )([variable.value for variable in variables], inputs)
            return loss, output, [*of_variables, *(of_inputs[name] for name in inputs)]
        case "torch":
            import torch

            for x in inputs.values():
                x.requires_grad_()
            loss, output = function(**inputs)
            sources = [*(variable.value for variable in variables), *inputs.values()]
            return loss, output, torch.autograd.grad(loss, sources, materialize_grads=True)


def _to_numpy(x):
    return np.asarray(ops.convert_to_numpy(x))
