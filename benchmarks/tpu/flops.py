"""Matrix operations of the model and of a compiled program."""

import math
import re


def forward_flops(backbone, rows, source_length, target_length):
    """Operations of the model's matrix products forward, padding included.

    Two for each weight and token, and the two products of attention for each pair of positions;
    masked positions count too.

    Args:
        backbone: A `TransformerBackbone`.
        rows: Number of rows B.
        source_length: Positions S of a row.
        target_length: Positions T of a row.
    """
    D, F = backbone.hidden_dim, backbone.intermediate_dim
    heads = backbone.num_heads * (backbone.key_dim + backbone.value_dim)
    S, T = source_length, target_length

    def attention(queries, keys):
        return D * heads * (queries + keys) + heads * queries * keys

    encoder = backbone.num_encoder_layers * (attention(S, S) + 2 * D * F * S)
    decoder_layer = attention(T, T) + attention(T, S) + 2 * D * F * T
    decoder = backbone.num_decoder_layers * decoder_layer + T * D * backbone.vocabulary_size
    return 2 * rows * (encoder + decoder)


def training_flops(backbone, *shape):
    """Operations forward and backward: each product has two in its gradient."""
    return 3 * forward_flops(backbone, *shape)


def matrix_flops(instruction, computation, program):
    """Operations of the products in an instruction other than a loop, and in what it runs.

    Args:
        instruction: An `Instruction` of `computation`.
        computation: A dictionary of `Instruction`s.
        program: The `Program`.
    """
    if instruction.opcode == "dot":
        return _dot_flops(instruction, computation)
    if instruction.opcode == "custom-call" and "lhs_contracting_dimensions" in instruction.text:
        return _library_flops(instruction, computation)
    if instruction.opcode == "convolution":
        return _convolution_flops(instruction, computation)
    return sum(
        matrix_flops(inner, program.computations[name], program)
        for name in instruction.called
        for inner in program.computations[name].values()
    )


def _dot_flops(dot, computation):
    contracted = re.findall(r"\d+", dot.attribute("lhs_contracting_dims"))
    return _product_flops(dot, contracted, computation)


def _library_flops(call, computation):
    """A call of cuBLAS, which returns a product and then its scratch memory."""
    contracted = re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', call.text)
    return _product_flops(call, re.findall(r"\d+", contracted[1]), computation)


def _product_flops(product, contracted, computation):
    left = computation[product.operands[0]].results[0]
    inner = math.prod(left.dims[int(i)] for i in contracted)
    return 2 * math.prod(product.results[0].dims) * inner


def _convolution_flops(convolution, computation):
    """XLA writes products as convolutions for TPUs, batch dimensions as spatial ones.

    Only positions of the window that meet a number count, not padding or the gaps of a dilation.
    """
    left, right, out = re.match(r"(\w+)_(\w+)->(\w+)", convolution.attribute("dim_labels")).groups()
    arrays = [computation[name].results[0] for name in convolution.operands]
    lhs, rhs = (
        dict(zip(labels, array.dims, strict=True))
        for labels, array in zip((left, right), arrays, strict=True)
    )
    result = dict(zip(out, convolution.results[0].dims, strict=True))
    window = _read_window(convolution.attribute("window"))
    products = result["b"] * result["f"] * rhs["i"]
    for place, label in enumerate(sorted(label for label in out if label.isdigit())):
        sizes = {name: values[place] for name, values in window.items() if values}
        products *= _products_along(lhs[label], rhs[label], result[label], sizes)
    return 2 * products


def _read_window(text):
    """Numbers of a window by name, for each spatial dimension."""
    window = dict.fromkeys(("stride", "pad", "lhs_dilate", "rhs_dilate"), ())
    for name, values in re.findall(r"(\w+)=([\dx_-]+)", text):
        parts = values.split("x")
        window[name] = [tuple(map(int, part.split("_"))) for part in parts]
    return window


def _products_along(base, kernel, result, sizes):
    """Pairs of a result and a position of the window that meet a number of the base."""
    (stride,), (gap,), (spread,) = (
        sizes.get(name, (1,)) for name in ("stride", "lhs_dilate", "rhs_dilate")
    )
    before = sizes.get("pad", (0, 0))[0]
    places = (
        position * stride + window * spread - before
        for position in range(result)
        for window in range(kernel)
    )
    last = (base - 1) * gap
    return sum(0 <= place <= last and place % gap == 0 for place in places)
