"""Converts `Transformer` models of OpenNMT-tf 2 (https://github.com/OpenNMT/OpenNMT-tf).

Names and formulas are those of its `opennmt/models/transformer.py`, `layers/transformer.py`,
`layers/position.py` and `inputters/text_inputter.py`: a variable is named by the attributes that
lead from the model to it, as `tf.train.Checkpoint(model=...)` does.
"""

from pathlib import Path

from aiayn_keras.convert.tensor_files import find_checkpoint, read_checkpoint
from aiayn_keras.convert.tokenizers import (
    Vocabulary,
    add_pieces,
    build_tokenizer,
    read_sentencepiece_models,
    read_token_file,
)
from aiayn_keras.convert.weights import (
    DEFAULT_POSITIONS,
    SIDES,
    ForeignModel,
    Matrices,
    TrackedArrays,
    check_has_sinusoids,
    half_and_half_sinusoids,
)

ROOT = "model/"
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
_MODEL_VARIABLES = r"model/(?!.*/\.OPTIMIZER_SLOT/).*/\.ATTRIBUTES/VARIABLE_VALUE"
"""Regular expression for the names of variables, without those of the optimizer."""

_EMBEDDINGS = (
    "examples_inputter/features_inputter/embedding",
    "examples_inputter/labels_inputter/embedding",
)
OUTPUT = "decoder/output_layer"
_PROJECTIONS = {
    "linear_queries": "query",
    "linear_keys": "key",
    "linear_values": "value",
    "linear_output": "output",
}

SPECIAL_TOKENS = ("<blank>", "<s>", "</s>")
"""The first three tokens of every vocabulary; the unknown token follows the last."""

_UNKNOWN_TOKEN = "<unk>"
PAD, START, END = range(3)
FIRST_POSITION = 1
EPSILON = 1e-3  # tf.keras.layers.LayerNormalization


def convert_opennmt_tf(
    checkpoint,
    source_vocabulary,
    target_vocabulary=None,
    *,
    num_heads,
    source_end=False,
    dtype=None,
):
    """Makes a `TransformerSeq2SeqLM` from a `Transformer` of OpenNMT-tf 2.

    A checkpoint holds only variables; the arguments describe the rest. The activation is taken to
    be ReLU, as in all of OpenNMT-tf's catalog, and positions without a table to be sinusoids.

    Texts are tokens of the vocabularies with spaces between them: split them first as they were
    split for the training, and join the translations again. If the vocabulary's folder holds
    `sentencepiece.model`, whose pieces are the tokens, the model takes text.

    Args:
        checkpoint: Its prefix, such as `run/ckpt-5000`, its file `*.index`, or the folder of a run.
        source_vocabulary: The vocabulary of sources, one token a line.
        target_vocabulary: The vocabulary of translations; defaults to the source's.
        num_heads: Number of attention heads; 8 in `TransformerBase`, 16 in `TransformerBig`.
        source_end: Whether the model reads an end token after a source, according to the setting
            `source_sequence_controls` of its training.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM` with a preprocessor.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or describes a model that this package cannot build; with
            the file and the variable.
    """
    prefix = find_checkpoint(checkpoint)
    names, variables = read_checkpoint(prefix, _MODEL_VARIABLES)
    if not variables:
        raise ValueError(
            f"{prefix}: it does not hold a model of OpenNMT-tf 2, whose variables are named "
            f"`model/...`, but {', '.join(names[:1]):.100}; `onmt-convert-checkpoint` converts "
            "checkpoints of version 1."
        )
    arrays = TrackedArrays(
        prefix, {n.removeprefix(ROOT).removesuffix(SUFFIX): a for n, a in variables.items()}
    )
    matrices = _read_matrices(arrays)
    paths = Path(source_vocabulary), Path(target_vocabulary or source_vocabulary)
    vocabulary = matrices.join_vocabularies(
        _read_vocabulary(paths[0], len(matrices.source)),
        _read_vocabulary(paths[1], len(matrices.target)),
    )
    models = read_sentencepiece_models(paths[0].parent)
    if models[0] is not None:
        vocabulary = add_pieces(vocabulary, *models, paths[0])
    tokenizer = build_tokenizer(vocabulary, *models, paths[0], source_end)
    depths = arrays.count_depths("{side}/layers/")
    positions, is_learned = _position_tables(arrays, matrices.hidden_dim)
    normalize_first = "encoder/layer_norm/gamma" in arrays
    attention_bias = "encoder/layers/0/self_attention/layer/linear_queries/bias" in arrays
    model = ForeignModel(
        prefix,
        tokenizer,
        vocabulary,
        matrices,
        positions,
        depths,
        intermediate_dim=arrays.take("encoder/layers/0/ffn/layer/inner/kernel", 2).shape[1],
        weights=_layer_weights(arrays, depths, normalize_first, attention_bias),
        options={
            "num_heads": num_heads,
            "normalize_first": normalize_first,
            "attention_bias": attention_bias,
            "layer_norm_epsilon": EPSILON,
        },
        is_learned=is_learned,
    )
    for name in arrays.unused():
        raise ValueError(
            f"{prefix}: `{name:.200}` does not belong to a Transformer that can be converted: one "
            "encoder and one decoder, with sinusoidal or learned positions."
        )
    return model.build(dtype)


def _read_matrices(arrays):
    """The matrices; one that several parts share exists once, under one of its names."""
    source = arrays.take(_EMBEDDINGS[0], 2)
    target = arrays.find([_EMBEDDINGS[1]], 2, source)
    kernel = arrays.find([f"{OUTPUT}/kernel"], 2)
    bias = arrays.find([f"{OUTPUT}/bias"], 1)
    return Matrices(arrays.path, source, target, target if kernel is None else kernel.T, bias)


def _read_vocabulary(path, num_rows):
    tokens = read_token_file(path)
    if tuple(tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
        raise ValueError(
            f"{path}: a vocabulary of OpenNMT-tf begins with {', '.join(SPECIAL_TOKENS)}, this "
            f"one with {', '.join(tokens[:3]):.60}."
        )
    tokens.append(_UNKNOWN_TOKEN)
    if len(tokens) != num_rows:
        raise ValueError(
            f"{path} has {len(tokens):,} tokens, the unknown one included, but the embeddings "
            f"have {num_rows:,} rows."
        )
    return Vocabulary(tuple(tokens), len(tokens) - 1, END, START, PAD)


def _position_tables(arrays, hidden_dim):
    """The tables of both sides, and whether both were learned."""
    check_has_sinusoids(arrays.path, hidden_dim)
    tables = [arrays.find([f"{side}/position_encoder/position_embedding"], 2) for side in SIDES]
    sinusoids = half_and_half_sinusoids(DEFAULT_POSITIONS, hidden_dim, FIRST_POSITION)
    is_learned = all(table is not None for table in tables)
    return [sinusoids if table is None else table[FIRST_POSITION:] for table in tables], is_learned


def _layer_weights(arrays, depths, normalize_first, attention_bias):
    """The weights of all layers and of the last normalizations, by the paths of ours."""
    weights = {}
    norm = "input_layer_norm" if normalize_first else "output_layer_norm"
    for side, depth in zip(SIDES, depths, strict=True):
        for i in range(depth):
            path = f"{side}/layers/{i}"
            weights |= _layer(arrays, path, f"{side}_block_{i}", norm, attention_bias)
    if normalize_first:
        for side in SIDES:
            weights |= _norm(arrays, f"{side}/layer_norm", f"{side}_norm")
    return weights


def _layer(arrays, theirs, ours, norm, has_bias):
    """The weights of a layer of the encoder or the decoder."""
    weights = {}
    attentions = {"self_attention": "self_attention"}
    if theirs.startswith("decoder"):
        attentions["attention/0"] = "cross_attention"
    for name, part in attentions.items():
        for linear, projection in _PROJECTIONS.items():
            weights |= _dense(
                arrays, f"{theirs}/{name}/layer/{linear}", f"{ours}/{part}/{projection}", has_bias
            )
    for name, part in {**attentions, "ffn": "feed_forward"}.items():
        weights |= _norm(arrays, f"{theirs}/{name}/{norm}", f"{ours}/{part}_add_norm/layer_norm")
    for name, part in (("inner", "hidden"), ("outer", "output")):
        weights |= _dense(arrays, f"{theirs}/ffn/layer/{name}", f"{ours}/feed_forward/{part}")
    return weights


def _dense(arrays, theirs, ours, has_bias=True):
    weights = {f"{ours}/kernel": arrays.take(f"{theirs}/kernel", 2)}
    if has_bias:
        weights[f"{ours}/bias"] = arrays.take(f"{theirs}/bias", 1)
    return weights


def _norm(arrays, theirs, ours):
    return {f"{ours}/{name}": arrays.take(f"{theirs}/{name}", 1) for name in ("gamma", "beta")}
