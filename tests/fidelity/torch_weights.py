"""PyTorch modules' weights and gradients, brought into our layout."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.fidelity.differences import Run

ALL = slice(None)


class Pair(NamedTuple):
    """One of our variables, and the parameter that holds its numbers.

    `to_ours` takes the parameter's value, or its gradient, to the variable's layout.
    """

    variable: Any
    parameter: Any
    to_ours: Callable


def dense_pairs(ours, theirs, rows=ALL, columns=ALL):
    """Of a `Dense` and a `Linear`, whose inputs and outputs we may have in another order."""
    yield Pair(ours.kernel, theirs.weight, lambda weight: weight.T[rows][:, columns])
    if ours.use_bias:
        yield Pair(ours.bias, theirs.bias, lambda bias: bias[columns])


def norm_pairs(ours, theirs, columns=ALL):
    yield Pair(ours.gamma, theirs.weight, lambda weight: weight[columns])
    yield Pair(ours.beta, theirs.bias, lambda bias: bias[columns])


def randomize(module, random):
    """Gives every parameter a value that matters, biases and scales included.

    They are kept small: with more, all positions of a deep model become nearly the same, and the
    gradients of its attention nearly nothing but rounding.
    """
    import torch

    with torch.no_grad():
        for part in module.modules():
            for name, parameter in part.named_parameters(recurse=False):
                if not parameter.requires_grad:  # Marian's sinusoids
                    continue
                mean = float(isinstance(part, torch.nn.LayerNorm) and name == "weight")
                scale = 0.1 if parameter.dim() == 1 else (2 * parameter.shape[-1]) ** -0.5
                noise = random.standard_normal(parameter.shape, dtype="float32")
                parameter.copy_(torch.from_numpy(mean + scale * noise))
    return module


def copy_weights(pairs, ours, theirs):
    """Gives our layer or model their module's weights; no weight of either may be left over."""
    paths = sorted(pair.variable.path for pair in pairs)
    if paths != sorted(variable.path for variable in ours.trainable_variables):
        raise AssertionError(f"Not our weights, each once: {paths}.")
    for name, parameter in theirs.named_parameters():
        parts = [pair.variable.value for pair in pairs if pair.parameter is parameter]
        if parameter.requires_grad and parameter.numel() != sum(np.prod(x.shape) for x in parts):
            raise AssertionError(f"Their {name} is not ours as a whole.")
    for pair in pairs:
        pair.variable.assign(pair.to_ours(pair.parameter.detach().numpy()))


def run_torch(function, pairs, **inputs):
    """As `run_keras`, with gradients in the layout of our variables and under their paths."""
    import torch

    inputs = {name: torch.tensor(x, requires_grad=True) for name, x in inputs.items()}
    loss, output = function(**inputs)
    sources = [*(pair.parameter for pair in pairs), *inputs.values()]
    gradients = [gradient.numpy() for gradient in torch.autograd.grad(loss, sources)]
    by_path = {
        pair.variable.path: pair.to_ours(gradient)
        for pair, gradient in zip(pairs, gradients[: len(pairs)], strict=True)
    }
    by_name = dict(zip(inputs, gradients[len(pairs) :], strict=True))
    return Run(loss.detach().numpy(), output.detach().numpy(), by_path | by_name)


def weighted_sum(output, weights):
    """`(scalar, output)`, as `run_torch` wants it, of a layer's output `(B, T, D)`."""
    import torch

    return (output * torch.from_numpy(weights)).sum(), output
