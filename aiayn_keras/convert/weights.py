"""From the arrays of a foreign file to a model: every array is used, every weight is filled."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from aiayn_keras.convert.tokenizers import JointVocabulary, join, joint_matrices, share
from aiayn_keras.layers.positional_embedding import sinusoidal_encoding
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerTokenizer,
    text_preprocessor,
)
from aiayn_keras.models.architecture import DEPTHS, OPTIONS, check_architecture, count_weights
from aiayn_keras.models.transformer_backbone import BACKBONE_DEFAULTS

SIDES = ("encoder", "decoder")

DEFAULT_POSITIONS = 1024
"""Positions of a model whose sinusoids are not in the file and have no bound in its toolkit."""

_MAX_SINUSOID_DIFFERENCE = 1e-6
"""A table that differs from the paper's sinusoids by less than this is taken for them."""


# === Arrays of a file ===
class TrackedArrays:
    """Arrays by their names, with a record of those that were used.

    Args:
        path: Path of the file, for errors.
        arrays: Dictionary from names to arrays.
    """

    def __init__(self, path, arrays):
        self.path = path
        self._arrays = dict(arrays)
        self._used = set()

    def __contains__(self, name):
        return name in self._arrays

    def take(self, name, axes):
        """The array of a name, which must have `axes` axes; a scalar becomes a Python number."""
        if name not in self._arrays:
            raise ValueError(f"{self.path}: `{name}` is missing.")
        array = self._arrays[name]
        if array.ndim != axes:
            raise ValueError(
                f"{self.path}: `{name}` has the shape {array.shape}, expected {axes} axes."
            )
        self._used.add(name)
        return array if axes else array.item()

    def find(self, names, axes, default=None):
        """The array of the first name that exists, or the default."""
        for name in names:
            if name in self._arrays:
                return self.take(name, axes)
        return default

    def count_layers(self, prefix):
        """Number of layers, whose numbers from 0 on follow a prefix of names."""
        found = (re.match(rf"{re.escape(prefix)}(\d+)[/.]", name) for name in self._arrays)
        numbers = {match[1] for match in found if match}
        count = 0
        while str(count) in numbers:
            count += 1
        return count

    def count_depths(self, prefix, stated=(None, None)):
        """Numbers of layers of the encoder and of the decoder.

        Args:
            prefix: Prefix of names, with `{side}` for the side.
            stated: The numbers that the settings of the model state, None where they do not.

        Raises:
            ValueError: If a side has no layers, or another number than is stated.
        """
        depths = tuple(self.count_layers(prefix.format(side=side)) for side in SIDES)
        for side, depth, wanted in zip(SIDES, depths, stated, strict=True):
            if not depth:
                raise ValueError(f"{self.path} has no layer `{prefix.format(side=side)}0`.")
            if wanted is not None and wanted != depth:
                raise ValueError(
                    f"{self.path} has {depth} layers of the {side}, but its settings state "
                    f"{wanted}."
                )
        return depths

    def unused(self):
        """The arrays that were not taken, by their names, in order."""
        return {name: self._arrays[name] for name in sorted(self._arrays.keys() - self._used)}


# === Positions ===
def half_and_half_sinusoids(length, hidden_dim, first):
    """tensor2tensor's sinusoids: all sines, then all cosines, angles from 1 to 1/10000.

    Args:
        length: Number of positions.
        hidden_dim: Width D, even and at least 4.
        first: Number of the first position.

    Returns:
        Float32 array `(length, hidden_dim)`.
    """
    half = hidden_dim // 2
    positions = np.arange(first, first + length)[:, np.newaxis]
    angles = positions * np.exp(-np.log(10_000) / (half - 1) * np.arange(half))  # (length, half)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype("float32")


def split_sinusoids(length, hidden_dim):
    """The paper's sinusoids with all sines before all cosines; see `sinusoidal_encoding`."""
    encoding = sinusoidal_encoding(length, hidden_dim)
    return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)


def check_has_sinusoids(path, hidden_dim):
    """Raises a `ValueError` for a width that is odd or 2, which has no sinusoids in two halves."""
    if hidden_dim % 2 or hidden_dim < 4:
        raise ValueError(f"{path}: a width of {hidden_dim} has no sinusoids.")


def _position_weights(encoder, decoder, is_learned):
    """Our options and weights for the tables of both sides; the longer table is cut."""
    length = min(len(encoder), len(decoder))
    options = {"max_sequence_length": length}
    tables = {"encoder_embedding": encoder[:length], "decoder_embedding": decoder[:length]}
    if all(_is_the_papers(table) for table in tables.values()):
        return {**options, "position_embedding": "sinusoidal"}, {}
    options["position_embedding"] = "learned" if is_learned else "given"
    return options, {f"{name}/table": table for name, table in tables.items()}


def _is_the_papers(table):
    length, hidden_dim = table.shape
    if hidden_dim % 2:
        return False
    difference = np.abs(table - sinusoidal_encoding(length, hidden_dim)).max(initial=0)
    return difference < _MAX_SINUSOID_DIFFERENCE


# === The parts of a model ===
@dataclass(frozen=True)
class Matrices:
    """The matrices of both vocabularies.

    Attributes:
        path: Path of their file, for errors.
        source: Float array `(V_s, D)`, the source's embeddings, times √D in the model.
        target: `(V_t, D)`, the target's.
        output: `(V_t, D)`, the output projection.
        bias: `(V_t,)`, its bias, or None.

    Raises:
        ValueError: If their shapes do not match.
    """

    path: Path
    source: np.ndarray
    target: np.ndarray
    output: np.ndarray
    bias: np.ndarray | None = None

    def __post_init__(self):
        if (
            self.output.shape != self.target.shape
            or self.output.shape[1] != self.source.shape[1]
            or (self.bias is not None and len(self.bias) != len(self.output))
        ):
            raise ValueError(
                f"{self.path}: embeddings of the shapes {self.source.shape} and "
                f"{self.target.shape} do not match an output of {self.output.shape}."
            )

    @property
    def hidden_dim(self):
        """Width D."""
        return self.output.shape[1]

    def join_vocabularies(self, source, target):
        """The `JointVocabulary` of two `Vocabulary`s, one for both sides if the sides are equal."""
        if source.tokens == target.tokens and np.array_equal(self.source, self.target):
            return share(target)
        return join(source, target)


@dataclass(frozen=True)
class ForeignModel:
    """All that a converter finds in the model of another toolkit, in our terms.

    Attributes:
        path: Path of its weights, for errors.
        tokenizer: The `TransformerTokenizer`.
        vocabulary: The `JointVocabulary`.
        matrices: The `Matrices`.
        positions: Pair of tables of positions, `(S, D)` and `(T, D)`.
        depths: Numbers of layers of the encoder and of the decoder.
        intermediate_dim: Width of the feed-forward networks.
        weights: The weights of all layers, by the paths of ours.
        options: The other arguments of `TransformerBackbone`.
        is_learned: Whether further training may change the positions.
    """

    path: Path
    tokenizer: TransformerTokenizer
    vocabulary: JointVocabulary
    matrices: Matrices
    positions: tuple[np.ndarray, np.ndarray]
    depths: tuple[int, int]
    intermediate_dim: int
    weights: dict[str, np.ndarray]
    options: dict[str, object] = field(default_factory=dict)
    is_learned: bool = False

    def build(self, dtype=None):
        """Makes the `TransformerSeq2SeqLM`, see `build_model`."""
        matrices = self.matrices
        embedding = joint_matrices(
            self.vocabulary, matrices.source, matrices.target, matrices.output, matrices.bias
        )
        options, tables = _position_weights(*self.positions, self.is_learned)
        return build_model(
            self.path,
            self.tokenizer,
            len(self.vocabulary.source_rows),
            {**{f"token_embedding/{name}": a for name, a in embedding.items()}, **tables}
            | self.weights,
            **dict(zip(DEPTHS, self.depths, strict=True)),
            hidden_dim=matrices.hidden_dim,
            intermediate_dim=self.intermediate_dim,
            tie_weights="reverse_embeddings" not in embedding,
            logits_bias="logits_bias" in embedding,
            dtype=dtype,
            **options,
            **self.options,
        )


def build_model(origin, tokenizer, vocabulary_size, weights, **options):
    """Makes a model, with errors that name the file from which it comes.

    Args:
        origin: Path of the file.
        tokenizer: A `TransformerTokenizer`.
        vocabulary_size: Number of tokens V.
        weights: Arrays by the paths of the backbone's weights, see `assign_weights`.
        **options: The other arguments of `TransformerBackbone`.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        ValueError: For options that a backbone refuses, or weights that do not fit it; a model far
            larger than its weights is refused before it is built.
    """
    try:
        _check_size({**BACKBONE_DEFAULTS, "vocabulary_size": vocabulary_size, **options}, weights)
        backbone = TransformerBackbone(vocabulary_size, **options)
    except ValueError as error:
        raise ValueError(f"{origin}: {error}") from None
    assign_weights(backbone, weights, origin)
    return TransformerSeq2SeqLM(backbone, text_preprocessor(tokenizer, backbone))


def _check_size(options, weights):
    checked = {name: options[name] for name in OPTIONS if name != "activation"}
    num_described = count_weights(check_architecture(**checked))
    num_given = sum(array.size for array in weights.values())
    if num_described > num_given:
        raise ValueError(
            f"the settings describe a model of {num_described:,} weights, and the file has "
            f"{num_given:,}."
        )


# === Weights ===
def assign_weights(backbone, arrays, origin):
    """Gives a backbone its weights; nothing is assigned unless everything fits.

    Args:
        backbone: A `TransformerBackbone`.
        arrays: Dictionary from the `path` of every one of `backbone.weights`, such as
            `"encoder_block_0/self_attention/query/kernel"`, to an array of floating-point
            numbers.
        origin: Path of the file from which the arrays come, for the error.

    Raises:
        ValueError: If an array is missing, belongs to no weight, has a different shape, or holds
            anything but finite numbers; with the origin and the weight's path.
    """
    weights = {weight.path: weight for weight in backbone.weights}
    _check_names(weights, arrays, origin)
    for path, weight in weights.items():
        _as_float32(arrays[path], weight.shape, f"{origin}, `{path}`")
    for path, weight in weights.items():  # a copy each: one in memory at a time
        weight.assign(_as_float32(arrays[path], weight.shape, origin))


def _check_names(weights, arrays, origin):
    for names, message in (
        (weights.keys() - arrays.keys(), "is missing"),
        (arrays.keys() - weights.keys(), "is not a weight of the model"),
    ):
        if names:
            others = f", and {len(names) - 1} more" if len(names) > 1 else ""
            raise ValueError(f"{origin}: `{min(names):.200}` {message}{others}.")


def _as_float32(array, shape, where):
    array = np.asarray(array)
    if array.dtype.kind != "f":
        raise ValueError(f"{where}: expected floating-point numbers, got {array.dtype}.")
    if array.shape != tuple(shape):
        raise ValueError(f"{where}: expected the shape {tuple(shape)}, got {array.shape}.")
    with np.errstate(over="ignore"):
        array = array.astype("float32")
    if not np.isfinite(array).all():
        raise ValueError(f"{where}: it holds numbers that are not finite.")
    return array
