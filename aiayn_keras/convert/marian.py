"""Models of Hugging Face's Marian format, such as the 1,500 of OPUS-MT (https://arxiv.org/abs/2212.01936).

Names and formulas are those of transformers' `modeling_marian.py`.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pydantic
from pydantic import Field

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import read_bytes
from aiayn_keras.convert.fairseq_layers import layer_weights
from aiayn_keras.convert.joint_vocabulary import NEVER
from aiayn_keras.convert.marian_vocabulary import read_marian_vocabulary
from aiayn_keras.convert.model_of_weights import model_of_weights
from aiayn_keras.convert.positions import split_sinusoids
from aiayn_keras.convert.taken_arrays import TakenArrays
from aiayn_keras.convert.tensor_files import read_tensors
from aiayn_keras.models.architecture import INTEGERS, check_positions

CONFIG = "config.json"
WEIGHT_FILES = "model.safetensors", "pytorch_model.bin"
MAX_CONFIG_BYTES = 1 << 20
LAYER_NORM_EPSILON = 1e-5  # PyTorch's

NO_MODEL = "Only Marian models of the Transformer's own architecture can be converted."

Activation = Literal["swish", "silu", "relu", "gelu"]
TokenId = Annotated[int, Field(ge=0, lt=INTEGERS["vocabulary_size"][1])]


def _size(name):
    least, most = INTEGERS[name]
    return Annotated[int, Field(ge=least, le=most)]


class MarianConfig(pydantic.BaseModel):
    """The architecture in `config.json`; its other fields are of no matter."""

    model_config = pydantic.ConfigDict(extra="ignore", strict=True)

    model_type: Literal["marian"]
    vocab_size: _size("vocabulary_size")
    decoder_vocab_size: int | None = None
    d_model: _size("hidden_dim")
    encoder_layers: _size("num_layers")
    decoder_layers: _size("num_layers")
    encoder_attention_heads: _size("num_heads")
    decoder_attention_heads: _size("num_heads")
    encoder_ffn_dim: _size("intermediate_dim")
    decoder_ffn_dim: _size("intermediate_dim")
    max_position_embeddings: _size("max_sequence_length")
    activation_function: Activation
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    pad_token_id: TokenId
    eos_token_id: TokenId
    decoder_start_token_id: TokenId
    scale_embedding: Literal[True]
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    add_final_layer_norm: Literal[False] = False
    static_position_embeddings: Literal[True] = True
    share_encoder_decoder_embeddings: Literal[True] = True
    tie_word_embeddings: Literal[True] = True

    @pydantic.model_validator(mode="after")
    def _can_be_ours(self):
        for name in ("layers", "attention_heads", "ffn_dim"):
            encoder, decoder = (getattr(self, f"{side}_{name}") for side in ("encoder", "decoder"))
            if encoder != decoder:
                raise ValueError(f"`encoder_{name}` is {encoder}, but `decoder_{name}` {decoder}")
        if self.decoder_vocab_size not in (None, self.vocab_size):
            raise ValueError("there are two vocabularies, but `vocab_size` is that of both here")
        check_positions(self.max_position_embeddings, self.d_model)
        return self


def convert_marian(folder, dtype=None):
    """Makes a model of ours of a Marian model of Hugging Face.

    It gives the same logits, and splits texts into the same wordpieces; see
    `read_marian_vocabulary` for what differs. Hugging Face's search is that of ours with
    `num_beams=4` and, unless `generation_config.json` says otherwise, `length_penalty=1.0,
    length_penalty_offset=0`, if it is asked for `early_stopping="never"`; without, it may stop
    before a better hypothesis ends. A model keeps no such settings, so pass them to `translate`,
    the commands and the export.

    Args:
        folder: Path of a folder with `config.json`, `model.safetensors` or `pytorch_model.bin`,
            `source.spm`, `target.spm` and `vocab.json`.
        dtype: A `keras.DTypePolicy` or its name.

    Returns:
        A `TransformerSeq2SeqLM`.

    Raises:
        OSError: If a file is missing.
        ValueError: If a file is damaged, or the model is of another architecture, with the file
            and the field or tensor.
    """
    folder = Path(folder)
    path = folder / CONFIG
    config = parse(MarianConfig, read_bytes(path, MAX_CONFIG_BYTES), path, NO_MODEL)
    vocabulary = read_marian_vocabulary(folder, config.vocab_size, config.decoder_start_token_id)
    weights = _find_weights(folder)
    tensors = TakenArrays(weights, read_tensors(weights))
    arrays = _read_arrays(tensors, config, vocabulary)
    if tensors.left():
        raise ValueError(f"{weights}: `{min(tensors.left()):.200}` is no tensor of the model.")
    return model_of_weights(
        weights,
        vocabulary.tokenizer,
        len(vocabulary.rows),
        arrays,
        num_layers=config.encoder_layers,
        num_heads=config.encoder_attention_heads,
        hidden_dim=config.d_model,
        intermediate_dim=config.encoder_ffn_dim,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        activation=config.activation_function,
        attention_bias=True,
        logits_bias=True,
        position_embedding="given",
        layer_norm_epsilon=LAYER_NORM_EPSILON,
        max_sequence_length=config.max_position_embeddings,
        dtype=dtype,
    )


def _find_weights(folder):
    for name in WEIGHT_FILES:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(f"{folder} has neither {' nor '.join(WEIGHT_FILES)}.")


def _read_arrays(tensors, config, vocabulary):
    """Arrays by the paths of our weights."""
    positions = split_sinusoids(config.max_position_embeddings, config.d_model)
    arrays = {f"{side}_embedding/table": positions for side in ("encoder", "decoder")}
    arrays |= _read_embedding(tensors, config, vocabulary)
    arrays |= layer_weights(tensors, config.encoder_layers, "model.")
    return arrays


def _read_embedding(tensors, config, vocabulary):
    matrix = tensors.take("model.shared.weight", 2)
    shape = (config.vocab_size, config.d_model)
    if matrix.shape != shape:
        where = f"{tensors.path}, `model.shared.weight`"
        raise ValueError(f"{where}: expected the shape {shape}, got {matrix.shape}.")
    # Copies that some versions of transformers write.
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        name = f"{name}.weight"
        if name in tensors and not np.array_equal(tensors.take(name, 2), matrix):
            raise ValueError(f"{tensors.path}: `{name}` is not `model.shared.weight`. {NO_MODEL}")
    for side in ("encoder", "decoder"):  # computed anew
        tensors.find([f"model.{side}.embed_positions.weight"], 2)
    zeros = np.zeros((1, config.vocab_size), "float32")
    bias = tensors.find(["final_logits_bias"], 2, zeros).reshape(-1)
    if bias.shape != (config.vocab_size,):
        raise ValueError(f"{tensors.path}, `final_logits_bias`: not {config.vocab_size} numbers.")
    return {
        "token_embedding/embeddings": matrix[vocabulary.rows],
        "token_embedding/logits_bias": np.where(
            vocabulary.is_written, bias[vocabulary.rows], NEVER
        ),
    }
