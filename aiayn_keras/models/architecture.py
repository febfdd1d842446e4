"""The bounds on a model's sizes and rates, and the named architectures.

Bounds are checked before any memory is asked for. The names are the rows of the paper's Table 3,
its parser, and a tiny model: `config` are the constructor arguments of `TransformerBackbone` that
differ from the paper's base, and `label_smoothing` is what recipes train the row with (paper 5.4).
"""

import difflib
import warnings
from typing import ClassVar

from aiayn_keras_light.checks import check_integer, check_number

# Generous: the largest Transformers are far below.
INTEGERS = {
    "vocabulary_size": (1, 1 << 24),
    "num_layers": (1, 1000),
    "num_encoder_layers": (1, 1000),
    "num_decoder_layers": (1, 1000),
    "num_heads": (1, 1 << 12),
    "hidden_dim": (2, 1 << 16),
    "intermediate_dim": (1, 1 << 20),
    "key_dim": (1, 1 << 16),
    "value_dim": (1, 1 << 16),
    "max_sequence_length": (1, 1 << 20),
}
DEPTHS = ("num_encoder_layers", "num_decoder_layers")
"""Options for the layers of one stack; `num_layers` is for a stack without its own."""

RATES = ("dropout", "attention_dropout", "activation_dropout")
_BLOCK_FLAGS = ("attention_bias", "normalize_first")
_FLAGS = (*_BLOCK_FLAGS, "tie_weights", "logits_bias")
BLOCK_OPTIONS = (
    "num_heads",
    "key_dim",
    "value_dim",
    "intermediate_dim",
    *RATES,
    *_BLOCK_FLAGS,
    "layer_norm_epsilon",
)
"""Options that every encoder and decoder layer takes."""

OPTIONS = (*INTEGERS, *RATES, "activation", *_FLAGS, "position_embedding", "layer_norm_epsilon")
"""Options that `get_config` writes."""

_MODEL_ARGUMENTS = {"backbone", "preprocessor", "name", "trainable", "dtype", "compile"}

LATER_OPTIONS = {"tie_weights": True, "logits_bias": False, **dict.fromkeys(DEPTHS)}
"""Options missing from configurations of earlier versions, with the values they had."""

POSITIONS = ("sinusoidal", "learned", "given")
_MAX_POSITION_NUMBERS = 1 << 26
"""Bound on `max_sequence_length · hidden_dim`, the size of the table of positions."""


def check_architecture(unknown=(), **options):
    """Checks the arguments of `TransformerBackbone`.

    Args:
        unknown: Names of any further arguments; all are refused.
        **options: All arguments but `name`, `trainable` and `dtype`.

    Returns:
        The options, with numbers as `int` and `float`. `key_dim`, `value_dim` and the layers of
        each stack are filled in; `num_layers` is None if the stacks differ.

    Raises:
        TypeError: For a value that is not a number or Boolean where one is needed, an unknown
            argument, or a stack whose layers are not given.
        ValueError: For a number out of bounds, or inconsistent sizes.
    """
    for name in unknown:
        close = difflib.get_close_matches(name, OPTIONS, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        raise TypeError(f"`TransformerBackbone` has no argument `{name}`.{hint}")
    for name in ("key_dim", "value_dim"):
        if options[name] is None:
            options[name] = _head_dim(options["hidden_dim"], options["num_heads"])
    encoder, decoder = depths_of(options)
    options["num_layers"] = encoder if encoder == decoder else None
    options.update(zip(DEPTHS, (encoder, decoder), strict=True))
    for name, bounds in INTEGERS.items():
        if name not in ("num_layers", *DEPTHS):
            options[name] = check_integer(name, options[name], *bounds)
    for name in RATES:
        options[name] = check_number(name, options[name], 0, 0.99)
    options["layer_norm_epsilon"] = check_number(
        "layer_norm_epsilon", options["layer_norm_epsilon"], 0, 1
    )
    for name in _FLAGS:
        if not isinstance(options[name], bool):
            raise TypeError(f"`{name}` must be True or False. Received: {name}={options[name]!r}.")
    position_embedding = options["position_embedding"]
    if not isinstance(position_embedding, str) or position_embedding not in POSITIONS:
        raise ValueError(
            '`position_embedding` must be "sinusoidal", "learned" or "given". '
            f"Received: position_embedding={position_embedding!r:.60}."
        )
    if options["hidden_dim"] % 2:
        raise ValueError(
            "`hidden_dim` must be even, for half sines and half cosines. "
            f"Received: hidden_dim={options['hidden_dim']}."
        )
    check_positions(options["max_sequence_length"], options["hidden_dim"])
    return options


def depths_of(options):
    """Numbers of encoder and decoder layers that the options of a backbone state.

    Args:
        options: Dictionary of options. A stack has its own number, or `num_layers`.

    Raises:
        TypeError: For a number that is not an integer, or a stack whose layers are not given.
        ValueError: For a number out of bounds.
    """
    own, num_layers = {name: options.get(name) for name in DEPTHS}, options["num_layers"]
    if num_layers is None and None in own.values():
        raise TypeError(
            "`num_layers` must be an integer unless `num_encoder_layers` and "
            "`num_decoder_layers` are both given. Received: num_layers=None, "
            + ", ".join(f"{name}={depth}" for name, depth in own.items())
            + "."
        )
    if num_layers is not None:
        num_layers = check_integer("num_layers", num_layers, *INTEGERS["num_layers"])
    return tuple(
        num_layers if depth is None else check_integer(name, depth, *INTEGERS[name])
        for name, depth in own.items()
    )


def with_changes(options, changes):
    """Options of a `TransformerBackbone` after changes.

    A `num_layers` among the changes sets both stacks, unless the changes also name the layers of a
    stack.

    Args:
        options: Dictionary of options.
        changes: Dictionary of the options that change.

    Returns:
        A dictionary.
    """
    if changes.get("num_layers") is not None:
        options = {**options, **dict.fromkeys(DEPTHS)}
    return {**options, **changes}


def check_positions(max_sequence_length, hidden_dim):
    """Raises a `ValueError` for a table of positions that is too large, before it is computed."""
    if max_sequence_length * hidden_dim > _MAX_POSITION_NUMBERS:
        raise ValueError(
            f"`max_sequence_length` · `hidden_dim` must be at most {_MAX_POSITION_NUMBERS:,}. "
            f"Received: {max_sequence_length:,} · {hidden_dim:,}."
        )


def count_weights(options):
    """Number of weights in the matrices of a checked architecture, vectors left out."""
    keys, values = (options["num_heads"] * options[name] for name in ("key_dim", "value_dim"))
    attention = 2 * options["hidden_dim"] * (keys + values)
    feed_forward = 2 * options["hidden_dim"] * options["intermediate_dim"]
    encoder, decoder = depths_of(options)
    layers = encoder * (attention + feed_forward) + decoder * (2 * attention + feed_forward)
    embeddings = options["vocabulary_size"] * options["hidden_dim"]
    return (1 if options["tie_weights"] else 2) * embeddings + layers


def _head_dim(hidden_dim, num_heads):
    hidden_dim = check_integer("hidden_dim", hidden_dim, *INTEGERS["hidden_dim"])
    num_heads = check_integer("num_heads", num_heads, *INTEGERS["num_heads"])
    if hidden_dim % num_heads:
        raise ValueError(
            "`hidden_dim` must be a multiple of `num_heads`, or `key_dim` and `value_dim` "
            f"must be given. Received: hidden_dim={hidden_dim}, num_heads={num_heads}."
        )
    return hidden_dim // num_heads


def _row(letter, what, label_smoothing=0.1, **config):
    return {
        "description": f"Table 3, row ({letter}): {what}.",
        "config": config,
        "label_smoothing": label_smoothing,
    }


TRANSFORMER_PRESETS = {
    "transformer_tiny": {
        "description": "4+4 layers for corpora of tens of thousands of sentences, such as Multi30k "
        "(Wu et al. 2021, https://aclanthology.org/2021.acl-long.480).",
        "config": {
            "num_layers": 4,
            "num_heads": 4,
            "hidden_dim": 128,
            "intermediate_dim": 256,
            "dropout": 0.3,
        },
        "label_smoothing": 0.1,
    },
    "transformer_base": {
        "description": "The paper's base model (Table 3, row base).",
        "config": {},
        "label_smoothing": 0.1,
    },
    "transformer_base_h1": _row("A", "one head of 512", num_heads=1),
    "transformer_base_h4": _row("A", "4 heads of 128", num_heads=4),
    "transformer_base_h16": _row("A", "16 heads of 32", num_heads=16),
    "transformer_base_h32": _row("A", "32 heads of 16", num_heads=32),
    "transformer_base_k16": _row("B", "narrower queries and keys", key_dim=16),
    "transformer_base_k32": _row("B", "narrower queries and keys", key_dim=32),
    "transformer_base_n2": _row("C", "2+2 layers", num_layers=2),
    "transformer_base_n4": _row("C", "4+4 layers", num_layers=4),
    "transformer_base_n8": _row("C", "8+8 layers", num_layers=8),
    "transformer_base_d256": _row("C", "half the width, heads of 32", hidden_dim=256),
    "transformer_base_d1024": _row("C", "twice the width, heads of 128", hidden_dim=1024),
    "transformer_base_f1024": _row("C", "half as wide inside", intermediate_dim=1024),
    "transformer_base_f4096": _row("C", "twice as wide inside", intermediate_dim=4096),
    "transformer_base_dropout_00": _row("D", "no dropout", dropout=0.0),
    "transformer_base_dropout_02": _row("D", "twice the dropout", dropout=0.2),
    "transformer_base_smoothing_00": _row("D", "no label smoothing", label_smoothing=0.0),
    "transformer_base_smoothing_02": _row("D", "twice the label smoothing", label_smoothing=0.2),
    "transformer_base_learned": _row(
        "E", "learned positions, a table on either side", position_embedding="learned"
    ),
    "transformer_big": {
        "description": "The paper's big model (Table 3, row big).",
        "config": {
            "num_heads": 16,
            "hidden_dim": 1024,
            "intermediate_dim": 4096,
            "dropout": 0.3,
        },
        "label_smoothing": 0.1,
    },
    "transformer_parsing": {
        "description": "The paper's parser (section 6.3): 4+4 layers of width 1024. Dropout, which "
        "the paper chose on Section 22 and does not print, is that of tensor2tensor's "
        "transformer_parsing_base.",
        "config": {
            "num_layers": 4,
            "hidden_dim": 1024,
            "dropout": 0.2,
            "attention_dropout": 0.2,
        },
        "label_smoothing": 0.1,
    },
}
"""By name: arguments of `TransformerBackbone` that differ from those of base, a description, and
the label smoothing of the training."""


def check_model_arguments(options):
    """Checks the further arguments of a `TransformerSeq2SeqLM`, which Keras would ignore.

    Args:
        options: Dictionary of the arguments.

    Raises:
        TypeError: For one that does not exist, or belongs to the backbone.
    """
    unknown = sorted(options.keys() - _MODEL_ARGUMENTS)
    if not unknown:
        return
    name = unknown[0]
    if name not in OPTIONS:
        raise TypeError(f"TransformerSeq2SeqLM has no argument `{name}`.")
    value = f"{name}={options[name]!r:.60}"
    raise TypeError(
        f"`{name}` is an option of the backbone, not of the model. Give the model a backbone with "
        f"it: `backbone=TransformerBackbone.from_preset(preset, {value})`."
    )


class FixedParts:
    """Base of functional models whose layers are also called one by one, outside the graph.

    `fit` and `__call__` follow the graph of the layers that a model was built with; a search calls
    the layers that are its attributes. So replacing a layer, or cutting a stack, would silently
    change the search but not the graph.

    The same holds for a setting: the layers keep the value that they were built with, but a saved
    model would contain the new one. A subclass's own `call` changes the graph but not the search,
    so it causes a warning.

    Attributes:
        parts: Names of the attributes that hold layers, or tuples of layers, of the graph.
        settings: Names of the arguments that its layers were built with.
    """

    parts: ClassVar[tuple] = ()
    settings: ClassVar[frozenset] = frozenset()

    def __init_subclass__(cls, **kwargs):
        """Warns of a `call` that only some methods of a model use."""
        super().__init_subclass__(**kwargs)
        if "call" in vars(cls):
            warnings.warn(
                f"`{cls.__name__}.call` changes what `fit`, `evaluate`, `predict` and "
                f"`{cls.__name__}(…)` compute, but not `translate`, `score`, `generate` and the "
                "exports, which call the layers. Put the change into a layer instead, such as the "
                "model's `embedding_cls` (docs/change_a_part.md), for all of them to use it.",
                stacklevel=2,
            )

    def __setattr__(self, name, value):
        """Sets an attribute.

        Raises:
            AttributeError: If it is one of `parts`, and the graph is there, or one of `settings`
                that has another value.
        """
        if name in type(self).parts and getattr(self, "built", False):
            raise AttributeError(
                f"`{name}` cannot be replaced: the graph of this {type(self).__name__} is made of "
                "it. Build a model of a subclass with other parts (docs/change_a_part.md), or of "
                "another depth, and copy the weights that fit."
            )
        if name in type(self).settings and value != getattr(self, name, value):
            raise AttributeError(
                f"`{name}` cannot be changed: the layers of this {type(self).__name__} were built "
                f"with {getattr(self, name)!r}. Build or load it with a different value, such as "
                f"`{type(self).__name__}.from_preset(..., {name}={value!r})`."
            )
        super().__setattr__(name, value)
