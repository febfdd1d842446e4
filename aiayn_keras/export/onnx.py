"""A folder for ONNX Runtime: encoder and cached decoder step as two graphs.

The operators do the arithmetic of `aiayn_keras.layers`. A folder for OpenVINO, an engine by Intel
for CPUs, GPUs and NPUs, holds the same graphs, converted.
"""

import math
import tempfile
from pathlib import Path

import keras
import numpy as np

from aiayn_keras.common.weight_files import check_number_format
from aiayn_keras.export.hugging_face_files import (
    has_other_targets,
    ids_never_written,
    write_configuration,
    write_page_settings,
    write_tokenizers,
)
from aiayn_keras.export.onnx_author import BOOL, FLOAT, INT64, OnnxAuthor, Switches
from aiayn_keras.export.preparation import (
    check_known_parts,
    check_packages,
    check_tokenizer,
    check_weights,
    float32_array,
    float32_kernel,
    render,
)
from aiayn_keras.layers import decoder_layer, encoder_layer
from aiayn_keras.layers.attention import MASKED_SCORE
from aiayn_keras_light.files import check_is_new, check_is_utf8, check_room, new_folder

SUFFIXES = {"float32": "", "int8": "_quantized", "int8-weights": "_quantized"}
"""Ends of the files' names by the number format of matrices, as transformers.js has them."""
BATCH, SOURCE, TARGET = "batch_size", "encoder_sequence_length", "decoder_sequence_length"
_PAST, _PRESENT = "past_decoder_sequence_length", "present_decoder_sequence_length"
NAMES = {"encoder": "encoder_model", "decoder": "decoder_model"}


def _gelu(author, x):
    """`x / 2 · (1 + erf(x / √2))`, Keras' default, without approximation."""
    erf = author.op("Erf", author.op("Mul", x, np.float32(math.sqrt(0.5))))
    half = author.op("Mul", x, np.float32(0.5))
    return author.op("Mul", half, author.op("Add", erf, np.float32(1.0)))


ACTIVATIONS = {
    keras.activations.relu: lambda author, x: author.op("Relu", x),
    keras.activations.silu: lambda author, x: author.op("Mul", x, author.op("Sigmoid", x)),
    keras.activations.gelu: _gelu,
    keras.activations.tanh: lambda author, x: author.op("Tanh", x),
    keras.activations.sigmoid: lambda author, x: author.op("Sigmoid", x),
    keras.activations.elu: lambda author, x: author.op("Elu", x),
    keras.activations.selu: lambda author, x: author.op("Selu", x),
    keras.activations.softplus: lambda author, x: author.op("Softplus", x),
    keras.activations.softsign: lambda author, x: author.op("Softsign", x),
    keras.activations.linear: lambda author, x: x,
}
"""Functions that write an activation, by the activation."""


def _check_activation(function):
    """Raises a `ValueError` that lists the activations there are, unless this is one of them."""
    if function not in ACTIVATIONS:
        raise ValueError(
            "This format has the activations "
            f"{', '.join(known.__name__ for known in ACTIVATIONS)}. "
            f"Received: {getattr(function, '__name__', function)!r}."
        )


def embed(author, tokens, positions, table, switches):
    """`√d_model · embedding + position` (paper 3.4, 3.5).

    Args:
        author: An `OnnxAuthor`.
        tokens: Embeddings `(B, T, D)`.
        positions: Positions `(B, T)` or `(T,)`.
        table: Encodings of all positions, an array or variable.
        switches: The `Switches` of the graph.
    """
    table = float32_array(table)
    scaled = author.op("Mul", tokens, np.float32(math.sqrt(table.shape[-1])))
    encodings = author.op("Gather", author.weight(table), positions, axis=0)
    return author.op("Add", scaled, switches.scale_positions(encodings))


def project(author, x, *layers):
    """Applies Dense layers to one input `(B, T, M)` as one product; a result for each."""
    kernel = np.concatenate([float32_kernel(layer) for layer in layers], axis=1)
    bias = None
    if layers[0].use_bias:
        bias = np.concatenate([float32_array(layer.bias) for layer in layers])
    x = author.product(x, author.matrix(kernel), bias)
    if len(layers) == 1:
        return x
    sizes = np.array([layer.units for layer in layers])
    return author.op("Split", x, sizes, outputs=len(layers), axis=-1)


def attend(author, attention, query, key, value, mask, observe):
    """`softmax(Q Kᵀ / √d_k) V` of all heads, joined and projected (paper 3.2).

    Args:
        author: An `OnnxAuthor`.
        attention: A `MultiHeadAttention`.
        query: Projected queries `(B, T, H·K)`.
        key: Keys `(B, H, S, K)`.
        value: Values `(B, H, S, K_v)`.
        mask: Boolean tensor that broadcasts to `(B, H, T, S)`.
        observe: The `Observation` of this attention.
    """
    query = author.op("Mul", query, np.float32(1.0 / math.sqrt(attention.key_dim)))
    query = _split_heads(author, query, attention.num_heads, attention.key_dim)
    scores = author.op("MatMul", query, author.op("Transpose", key, perm=[0, 1, 3, 2]))
    scores = author.op("Where", mask, observe.scores(scores), np.float32(MASKED_SCORE))
    weights = observe.weights(author.op("Softmax", scores, axis=-1))
    x = author.op("MatMul", weights, value)
    x = author.op("Transpose", x, perm=[0, 2, 1, 3])
    x = author.op("Reshape", x, np.array([0, 0, attention.num_heads * attention.value_dim]))
    return project(author, x, attention.output_dense)


def _split_heads(author, x, num_heads, width):
    """`(B, T, H·K)` as `(B, H, T, K)`."""
    x = author.op("Reshape", x, np.array([0, 0, num_heads, width]))
    return author.op("Transpose", x, perm=[0, 2, 1, 3])


def _split_keys_and_values(author, attention, key, value):
    """Keys and values of all heads, `(B, H, S, K)` and `(B, H, S, K_v)`."""
    return (
        _split_heads(author, key, attention.num_heads, attention.key_dim),
        _split_heads(author, value, attention.num_heads, attention.value_dim),
    )


def normalize(author, x, layer):
    """Layer normalization."""
    gamma, beta = (author.weight(float32_array(each)) for each in (layer.gamma, layer.beta))
    return author.op("LayerNormalization", x, gamma, beta, epsilon=layer.epsilon, axis=-1)


class _OnnxBlock:
    """A layer of encoder or decoder as `encoder_layer` and `decoder_layer` run it.

    Args:
        author: An `OnnxAuthor`, which gets the operators.
        block: The `EncoderBlock` or `DecoderBlock`.
    """

    def __init__(self, author, block):
        self._author, self._block = author, block

    def feed_forward(self, x):
        """The position-wise feed-forward network (paper 3.3)."""
        layer = self._block.feed_forward
        x = project(self._author, x, layer.hidden_dense)
        return project(
            self._author, ACTIVATIONS[layer.activation](self._author, x), layer.output_dense
        )

    def self_attention_add_norm(self, x, sublayer):
        """Self-attention in its residual connection."""
        return self._add_norm(self._block.self_attention_add_norm, x, sublayer)

    def cross_attention_add_norm(self, x, sublayer):
        """Attention to the memory in its residual connection."""
        return self._add_norm(self._block.cross_attention_add_norm, x, sublayer)

    def feed_forward_add_norm(self, x, sublayer):
        """The feed-forward network in its residual connection."""
        return self._add_norm(self._block.feed_forward_add_norm, x, sublayer)

    def _add_norm(self, layer, x, sublayer):
        author, norm = self._author, layer.layer_norm
        y = sublayer(normalize(author, x, norm) if layer.normalize_first else x)
        x = author.op("Add", x, y)
        return x if layer.normalize_first else normalize(author, x, norm)


def _write_encoder(backbone, path, number_format, observes, can_switch):
    """Writes the encoder: token ids and padding mask `(B, S)` to memory `(B, S, D)`.

    Args:
        backbone: A `TransformerBackbone`.
        path: The file.
        number_format: Number format of matrices, see `OnnxAuthor`.
        observes: Whether the attention weights are results of the graph.
        can_switch: Whether parts of the model can be switched off, see `Switches`.
    """
    author = OnnxAuthor(number_format)
    switches = Switches(author, "encoder", backbone, observes, can_switch)
    embeddings = author.matrix(float32_array(backbone.token_embedding.matrix()), axis=0)
    counts = author.op("CumSum", "attention_mask", np.array(1))
    positions = author.op("Max", author.op("Sub", counts, np.array(1)), np.array(0))
    tokens = author.rows(embeddings, "input_ids")
    x = embed(author, tokens, positions, backbone.encoder_embedding.table, switches)
    mask = _memory_mask(author, "attention_mask")
    for layer, block in enumerate(backbone.encoder_blocks):

        def attend_to_self(y, attention=block.self_attention, layer=layer):
            query, *key_value = _project_self(author, attention, y)
            observe = switches.observation("encoder", layer, (SOURCE, SOURCE))
            return attend(author, attention, query, *key_value, mask, observe)

        y = encoder_layer(_OnnxBlock(author, block), x, attend_to_self)
        x = switches.keep_layer(layer, y, x)
    if backbone.encoder_norm is not None:
        x = normalize(author, x, backbone.encoder_norm)
    author.rename(x, "last_hidden_state")
    inputs = {name: (INT64, [BATCH, SOURCE]) for name in ("input_ids", "attention_mask")}
    outputs = {"last_hidden_state": (FLOAT, [BATCH, SOURCE, backbone.hidden_dim])}
    author.write(path, inputs | switches.inputs, outputs | switches.outputs)


def _write_decoder(backbone, path, number_format, observes, can_switch):
    """Writes the decoder: new tokens `(B, T)` to logits `(B, T, V)`, with the cache.

    Args:
        backbone: A `TransformerBackbone`.
        path: The file.
        number_format: Number format of matrices, see `OnnxAuthor`.
        observes: Whether the attention weights are results of the graph.
        can_switch: Whether parts of the model can be switched off, see `Switches`.
    """
    author = OnnxAuthor(number_format)
    switches = Switches(author, "decoder", backbone, observes, can_switch)
    lookup, output = _embedding_matrices(author, backbone.token_embedding)
    positions, self_mask = _positions_and_mask(author)
    self_mask = switches.causal_mask(self_mask)
    memory_mask = _memory_mask(author, "encoder_attention_mask")
    memory = _project_memory(author, backbone)
    tokens = lookup("input_ids")
    x = embed(author, tokens, positions, backbone.decoder_embedding.table, switches)
    for layer, block in enumerate(backbone.decoder_blocks):

        def attend_to_self(y, attention=block.self_attention, layer=layer):
            query, *key_value = _project_self(author, attention, y)
            for i, part in enumerate(("key", "value")):
                past = f"past_key_values.{layer}.decoder.{part}"
                key_value[i] = author.op("Concat", past, key_value[i], axis=2)
                author.rename(key_value[i], f"present.{layer}.decoder.{part}")
            observe = switches.observation("decoder", layer, (TARGET, _PRESENT))
            return attend(author, attention, query, *key_value, self_mask, observe)

        def attend_to_memory(y, attention=block.cross_attention, layer=layer):
            query = project(author, y, attention.query_dense)
            observe = switches.observation("cross", layer, (TARGET, SOURCE))
            return attend(author, attention, query, *memory[layer], memory_mask, observe)

        y = decoder_layer(_OnnxBlock(author, block), x, attend_to_self, attend_to_memory)
        x = switches.keep_layer(layer, y, x)
    if backbone.decoder_norm is not None:
        x = normalize(author, x, backbone.decoder_norm)
    bias = backbone.token_embedding.logits_bias
    bias = None if bias is None else float32_array(bias)
    author.rename(author.product(x, output, bias), "logits")
    inputs, outputs = _decoder_ends(backbone)
    author.write(path, inputs | switches.inputs, outputs | switches.outputs)


def _embedding_matrices(author, layer):
    """Function that looks tokens up, and the matrix `(D, V)` of the output."""
    if layer.tie_weights:
        matrix = author.matrix(float32_array(layer.matrix()).T)
        return (lambda ids: author.columns(matrix, ids)), matrix
    matrix = author.matrix(float32_array(layer.matrix()), axis=0)
    output = author.matrix(float32_array(layer.output_kernel()))
    return (lambda ids: author.rows(matrix, ids)), output


def _positions_and_mask(author):
    """Positions `(T,)` of the new tokens, and a mask of the tokens so far that they may look at."""
    length = author.op("Gather", author.op("Shape", "input_ids"), np.array(1), axis=0)
    past = author.op("Shape", "past_key_values.0.decoder.key")
    past = author.op("Gather", past, np.array(2), axis=0)
    end = author.op("Add", past, length)
    positions = author.op("Range", past, end, np.array(1))
    earlier_or_self = author.op(
        "LessOrEqual",
        author.op("Range", np.array(0), end, np.array(1)),
        author.op("Unsqueeze", positions, np.array([1])),
    )
    return positions, earlier_or_self


def _memory_mask(author, mask):
    """A padding mask `(B, S)` as Booleans `(B, 1, 1, S)`."""
    return author.op("Unsqueeze", author.op("Cast", mask, to=BOOL), np.array([1, 2]))


def _project_self(author, attention, x):
    """Queries `(B, T, H·K)`, and keys and values of all heads."""
    layers = attention.query_dense, attention.key_dense, attention.value_dense
    query, key, value = project(author, x, *layers)
    return query, *_split_keys_and_values(author, attention, key, value)


def _project_memory(author, backbone):
    """Every layer's keys and values of the encoder's output, made in the first step only."""
    names = [
        f"{layer}.encoder.{part}"
        for layer in range(backbone.num_decoder_layers)
        for part in ("key", "value")
    ]
    with author.branch() as first_step:
        made = []
        for block in backbone.decoder_blocks:
            attention = block.cross_attention
            layers = attention.key_dense, attention.value_dense
            made += _split_keys_and_values(
                author, attention, *project(author, "encoder_hidden_states", *layers)
            )
    with author.branch() as later_step:
        kept = [author.op("Identity", f"past_key_values.{name}") for name in names]
    memory = author.choose("use_cache_branch", (later_step, kept), (first_step, made))
    for tensor, name in zip(memory, names, strict=True):
        author.rename(tensor, f"present.{name}")
    return list(zip(memory[0::2], memory[1::2], strict=True))


def _decoder_ends(backbone):
    """The decoder's inputs and results, with their number formats and shapes."""
    inputs = {
        "input_ids": (INT64, [BATCH, TARGET]),
        "encoder_attention_mask": (INT64, [BATCH, SOURCE]),
        "encoder_hidden_states": (FLOAT, [BATCH, SOURCE, backbone.hidden_dim]),
    }
    outputs = {"logits": (FLOAT, [BATCH, TARGET, backbone.vocabulary_size])}
    for layer in range(backbone.num_decoder_layers):
        for side, past, present in (("decoder", _PAST, _PRESENT), ("encoder", SOURCE, SOURCE)):
            for part, width in (("key", backbone.key_dim), ("value", backbone.value_dim)):
                name = f"{layer}.{side}.{part}"
                shape = [BATCH, backbone.num_heads, past, width]
                inputs[f"past_key_values.{name}"] = FLOAT, shape
                outputs[f"present.{name}"] = FLOAT, [*shape[:2], present, width]
    inputs["use_cache_branch"] = BOOL, [1]
    return inputs, outputs


def export_onnx(model, filepath, weights="float32", attention=False):
    """Writes a folder with the model as ONNX graphs, and the tokenizer that they need.

    The graphs are `onnx/encoder_model.onnx` and `onnx/decoder_model_merged.onnx`, which runs one
    step or more of the search at a time. With int8 their names end with `_quantized`. They do not
    search: the program that runs them does, such as transformers.js, which is greedy. The README in
    the folder shows how. Both files hold the embeddings.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        weights: Number format of matrices: `"float32"`; `"int8"`, with a scale for each output,
            whose products are sums of integers; or `"int8-weights"`, stored as int8 with a scale
            for every 32 weights, and float32 once a runtime has loaded them: as small a file, as
            slow as float32, and closer to it.
        attention: Whether the graphs also return the attention weights of every layer and head, as
            `encoder_attentions.N` `(B, H, S, S)`, and `decoder_attentions.N` `(B, H, T, P + T)` and
            `cross_attentions.N` `(B, H, T, S)` for T new tokens after P in the cache. The folder
            then also has `play.json`, with what the book's page needs to translate as `translate`.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If `onnx` or `tokenizers` is not installed.
        TypeError: If `attention` is not a bool.
        ValueError: For unknown `weights`, a model without preprocessor or with a tokenizer of your
            own, with an activation that is not Keras', with a weight that is not finite, a
            file above 2 GB, or a SentencePiece model that `tokenizer.json` cannot describe.
    """
    check_packages("onnx", "tokenizers")
    if weights not in SUFFIXES:
        raise ValueError(f"`weights` must be one of {', '.join(SUFFIXES)}. Received: {weights!r}.")
    if not isinstance(attention, bool):
        raise TypeError(f"`attention` must be True or False. Received: {attention!r}.")
    folder = Path(filepath)
    check_is_new(folder)
    check_is_utf8(folder)
    check_model(model)
    with new_folder(folder) as written:
        write_tokenizers(written, model.preprocessor.tokenizer)
        names = write_graphs(model.backbone, written / "onnx", weights, attention)
        write_configuration(written, model, "fp32" if weights == "float32" else "q8")
        if attention:
            write_page_settings(written, model.preprocessor.tokenizer)
        section = f"\n{render('onnx_attention.md')}" if attention else ""
        readme = render("onnx.md", name=folder.name, attention=section, **names, **facts(model))
        (written / "README.md").write_text(readme, encoding="utf-8")
    return folder


def check_model(model, number_format="float32"):
    """Raises a `ValueError` for a model that ONNX graphs or their folder cannot hold."""
    check_tokenizer(model)
    check_known_parts(model, "A folder of ONNX graphs")
    _check_activation(model.backbone.activation)
    check_weights(model, number_format)


def write_graphs(backbone, folder, weights="float32", attention=False, switches=False):
    """Writes encoder and decoder into a new folder.

    Args:
        backbone: A `TransformerBackbone`.
        folder: `pathlib.Path` of the folder to make.
        weights: Number format of matrices, see `export_onnx`.
        attention: Whether attention weights are results, see `export_onnx`.
        switches: Whether parts of the model can be switched off, see `Switches`.

    Returns:
        Dictionary of the files' names, for a README.
    """
    folder.mkdir()
    suffix = SUFFIXES[weights]
    names = {
        "encoder": f"encoder_model{suffix}.onnx",
        "decoder": f"decoder_model_merged{suffix}.onnx",
    }
    _write_encoder(backbone, folder / names["encoder"], weights, attention, switches)
    _write_decoder(backbone, folder / names["decoder"], weights, attention, switches)
    return names


def facts(model):
    """Values that the READMEs of these graphs show, the same for all runtimes."""
    tokenizer = model.preprocessor.tokenizer
    separate = has_other_targets(tokenizer)
    return {
        "positions": model.backbone.max_sequence_length,
        "text": "A text.",
        "start": tokenizer.start_token_id,
        "end": tokenizer.end_token_id,
        "suppressed": ids_never_written(tokenizer),
        "target_tokenizer": "target_tokenizer.json" if separate else "tokenizer.json",
        "separate": f"\n{render('separate_tokens.md').rstrip()}" if separate else "",
    }


def export_openvino(model, filepath, weights="float32"):
    """Writes a folder with the model as OpenVINO graphs, and the tokenizer that they need.

    The graphs are those of `export_onnx`, `encoder_model.xml` and `decoder_model.xml` with weights
    in files `.bin` beside them. They do not search: the program that runs them does. The README in
    the folder shows how.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        weights: Number format of the weights in the files: `"float32"`, or `"float16"`, which
            halves them.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If `onnx`, `openvino` or `tokenizers` is not installed.
        ValueError: For unknown `weights`, a weight that float16 does not have, or a model that
            `export_onnx` refuses.
    """
    check_packages("onnx", "openvino", "tokenizers")
    check_number_format(weights)
    folder = Path(filepath)
    check_is_new(folder)
    check_is_utf8(folder)
    check_model(model, weights)
    with new_folder(folder) as written:
        write_tokenizers(written, model.preprocessor.tokenizer)
        _convert_graphs(model.backbone, written, weights)
        readme = render("openvino.md", name=folder.name, **NAMES, **facts(model))
        (written / "README.md").write_text(readme, encoding="utf-8")
    return folder


def _convert_graphs(backbone, folder, weights):
    import openvino

    core, is_half = openvino.Core(), weights == "float16"
    # OpenVINO says nothing of a full disk.
    check_room(folder, backbone.count_params() * (2 if is_half else 4))
    with tempfile.TemporaryDirectory() as temporary:
        graphs = Path(temporary) / "onnx"
        for part, name in write_graphs(backbone, graphs).items():
            graph = core.read_model(graphs / name)
            path = folder / f"{NAMES[part]}.xml"
            openvino.save_model(graph, path, compress_to_fp16=is_half)
