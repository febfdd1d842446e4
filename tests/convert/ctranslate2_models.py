"""Models of CTranslate2 with random weights, written by its own library or byte by byte."""

import struct

import numpy as np

D, H, F = 12, 3, 20
SOURCE_WORDS = ["<blank>", "<s>", "</s>", "ein", "zwei", "drei", "آ", "b", "<unk>"]
TARGET_WORDS = ["<s>", "</s>", "one", "two", "three", "b", "four", "<unk>", "five", "six"]
FORMATS = ("float32", "int8", "int16", "int32", "float16", "bfloat16")


def random_spec(
    seed=0,
    source=SOURCE_WORDS,
    target=TARGET_WORDS,
    num_layers=2,
    has_bias=True,
    scale=True,
    positions=None,
    is_tied=False,
    activation="RELU",
    starts_from_zeros=False,
    **options,
):
    """A `TransformerSpec` whose numbers are all drawn, biases and normalizations too.

    Args:
        seed: Of the numbers.
        source: Tokens of the source, and of both languages if `target` is this very list.
        target: Tokens of translations.
        num_layers: Of both sides, or a pair of numbers.
        has_bias: Whether the projections of attention and output have biases.
        scale: What `scale_embeddings` says.
        positions: Number of positions in the file; None leaves the sinusoids to the engine.
        is_tied: Whether both embeddings and the output are one matrix.
        activation: Name of the engine's.
        starts_from_zeros: Whether translations are begun with zeros, as Marian's are.
        **options: Of the engine's configuration.
    """
    from ctranslate2 import specs

    rng = np.random.default_rng(seed)
    spec = specs.TransformerSpec.from_config(
        num_layers,
        H,
        pre_norm=options.pop("pre_norm", True),
        activation=specs.Activation[activation],
    )
    for name, value in {"add_source_eos": True, **options}.items():
        setattr(spec.config, name, value)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    rows = len(source), len(target)
    spec.encoder.embeddings[0].weight = _draw(rng, rows[0], D)
    spec.decoder.embeddings.weight = _draw(rng, rows[1], D)
    spec.decoder.projection.weight = _draw(rng, rows[1], D)
    if is_tied:
        spec.decoder.embeddings.weight = spec.encoder.embeddings[0].weight
        spec.decoder.projection.weight = spec.encoder.embeddings[0].weight
    spec.decoder.start_from_zero_embedding = starts_from_zeros
    if has_bias:
        spec.decoder.projection.bias = _draw(rng, rows[1])
    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = scale
        if positions is not None:
            side.position_encodings.encodings = _draw(rng, positions, D)
        if hasattr(side, "layer_norm"):
            _fill_norm(rng, side.layer_norm)
        for layer in side.layer:
            _fill_attention(rng, layer.self_attention, (3 * D, D), has_bias)
            if hasattr(layer, "attention"):
                _fill_attention(rng, layer.attention, (D, 2 * D, D), has_bias)
            _fill_norm(rng, layer.ffn.layer_norm)
            _fill_linear(rng, layer.ffn.linear_0, F, D)
            _fill_linear(rng, layer.ffn.linear_1, D, F)
    return spec


def write_spec(spec, folder, quantization=None):
    """Writes a model as CTranslate2's converters do; returns the folder."""
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir()
    spec.save(str(folder))
    return folder


def write_model_bin(
    path, variables, version=6, specification="TransformerSpec", revision=7, aliases=()
):
    """Writes `model.bin` in any version of its layout.

    Args:
        path: The file.
        variables: Dictionary from names to arrays.
        version: Of the layout.
        specification: Name of the kind of model.
        revision: Of the specification.
        aliases: Pairs of an alias and a name.
    """
    data = struct.pack("<I", version) + _text(specification) + struct.pack("<I", revision)
    data += struct.pack("<I", len(variables))
    for name, array in variables.items():
        array = np.asarray(array)
        data += _text(name) + struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        code = FORMATS.index(array.dtype.name) if version >= 4 else array.itemsize
        data += struct.pack("<BI", code, array.nbytes if version >= 4 else array.size)
        data += array.tobytes()
    if version >= 3:
        data += struct.pack("<I", len(aliases))
        data += b"".join(_text(name) for pair in aliases for name in pair)
    path.write_bytes(data)


def _text(text):
    return struct.pack("<H", len(text.encode()) + 1) + text.encode() + b"\0"


def _draw(rng, *shape):
    return rng.normal(0.0, 0.5, shape).astype("float32")


def _fill_norm(rng, spec):
    spec.gamma, spec.beta = 1 + _draw(rng, D), _draw(rng, D)


def _fill_linear(rng, spec, height, width, has_bias=True):
    spec.weight = _draw(rng, height, width)
    if has_bias:
        spec.bias = _draw(rng, height)


def _fill_attention(rng, spec, heights, has_bias):
    _fill_norm(rng, spec.layer_norm)
    heights = heights if len(heights) == 3 else (heights[0], D)
    for linear, height in zip(spec.linear, heights, strict=True):
        _fill_linear(rng, linear, height, D, has_bias)
