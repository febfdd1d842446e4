"""The bounds on a model's sizes and rates, checked before any memory is asked for."""

import difflib

from aiayn_keras.common.checks import check_integer, check_number

# Generous: the largest Transformers are far below.
INTEGERS = {
    "vocabulary_size": (1, 1 << 24),
    "num_layers": (1, 1000),
    "num_heads": (1, 1 << 12),
    "hidden_dim": (2, 1 << 16),
    "intermediate_dim": (1, 1 << 20),
    "key_dim": (1, 1 << 16),
    "value_dim": (1, 1 << 16),
    "max_sequence_length": (1, 1 << 20),
}
RATES = ("dropout", "attention_dropout", "activation_dropout")
BLOCK_FLAGS = ("attention_bias", "normalize_first")
FLAGS = (*BLOCK_FLAGS, "tie_weights", "logits_bias")
BLOCK_OPTIONS = (
    "num_heads",
    "key_dim",
    "value_dim",
    "intermediate_dim",
    *RATES,
    *BLOCK_FLAGS,
    "layer_norm_epsilon",
)
"""Options that every encoder and decoder layer takes."""

OPTIONS = (*INTEGERS, *RATES, "activation", *FLAGS, "position_embedding", "layer_norm_epsilon")
"""Options that `get_config` writes."""

LATER_OPTIONS = {"tie_weights": True, "logits_bias": False}
"""Options missing from configurations of earlier versions, with the values they had."""

POSITIONS = ("sinusoidal", "learned", "given")
MAX_POSITION_NUMBERS = 1 << 26
"""Bound on `max_sequence_length · hidden_dim`, the size of the table of positions."""


def check_architecture(unknown=(), **options):
    """Checks the arguments of `TransformerBackbone`.

    Args:
        unknown: Names of any further arguments; all are refused.
        **options: All arguments but `name`, `trainable` and `dtype`.

    Returns:
        The options, with numbers as `int` and `float`, and `key_dim` and `value_dim` filled in.

    Raises:
        TypeError: For a value that is not a number or Boolean where one is needed, or an unknown
            argument.
        ValueError: For a number out of bounds, or inconsistent sizes.
    """
    for name in unknown:
        close = difflib.get_close_matches(name, OPTIONS, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        raise TypeError(f"`TransformerBackbone` has no argument `{name}`.{hint}")
    for name in ("key_dim", "value_dim"):
        if options[name] is None:
            options[name] = _head_dim(options["hidden_dim"], options["num_heads"])
    for name, bounds in INTEGERS.items():
        options[name] = check_integer(name, options[name], *bounds)
    for name in RATES:
        options[name] = check_number(name, options[name], 0, 0.99)
    options["layer_norm_epsilon"] = check_number(
        "layer_norm_epsilon", options["layer_norm_epsilon"], 0, 1
    )
    for name in FLAGS:
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


def check_positions(max_sequence_length, hidden_dim):
    """Raises a `ValueError` for a table of positions that is too large, before it is computed."""
    if max_sequence_length * hidden_dim > MAX_POSITION_NUMBERS:
        raise ValueError(
            f"`max_sequence_length` · `hidden_dim` must be at most {MAX_POSITION_NUMBERS:,}. "
            f"Received: {max_sequence_length:,} · {hidden_dim:,}."
        )


def count_weights(options):
    """Number of weights in the matrices of a checked architecture, vectors left out."""
    keys, values = (options["num_heads"] * options[name] for name in ("key_dim", "value_dim"))
    attention = 2 * options["hidden_dim"] * (keys + values)
    feed_forward = 2 * options["hidden_dim"] * options["intermediate_dim"]
    layers = options["num_layers"] * (3 * attention + 2 * feed_forward)
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
