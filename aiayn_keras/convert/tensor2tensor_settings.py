"""Settings of a tensor2tensor model, in the file `hparams.json` that its training writes."""

from typing import Literal

import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import read_bytes

HPARAMS = "hparams.json"
MAX_BYTES = 1 << 20

NO_MODEL = "Only the plain `transformer` of tensor2tensor can be converted."


class Settings(pydantic.BaseModel):
    """The settings that matter; defaults are those of versions that do not write them yet."""

    num_heads: int = pydantic.Field(gt=0, le=1 << 12)
    layer_preprocess_sequence: Literal["none", "n"]
    layer_postprocess_sequence: Literal["dan", "da"]
    norm_type: Literal["layer"] = "layer"
    norm_epsilon: float = pydantic.Field(default=1e-6, gt=0, lt=1)
    pos: Literal["timing"] = "timing"
    ffn_layer: Literal["dense_relu_dense", "conv_hidden_relu"] = "dense_relu_dense"
    self_attention_type: Literal["dot_product"] = "dot_product"
    multiply_embedding_mode: Literal["sqrt_depth"] = "sqrt_depth"
    prepend_mode: Literal["none"] = "none"
    proximity_bias: Literal[False] = False
    unidirectional_encoder: Literal[False] = False
    causal_decoder_self_attention: Literal[True] = True
    attention_variables_3d: Literal[False] = False
    num_area_layers: Literal[0] = 0
    hard_attention_k: Literal[0] = 0
    vocab_divisor: int = pydantic.Field(default=1, gt=0, le=1 << 16)
    layer_prepostprocess_dropout: float = pydantic.Field(default=0.1, ge=0, lt=1)
    attention_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)
    relu_dropout: float = pydantic.Field(default=0.0, ge=0, lt=1)

    @property
    def normalizes_first(self):
        """Whether layers are pre-norm, as since the second set of hyperparameters."""
        return self.layer_preprocess_sequence == "n"

    @pydantic.model_validator(mode="after")
    def _has_one_norm(self):
        if self.normalizes_first != (self.layer_postprocess_sequence == "da"):
            raise ValueError(
                f"`layer_preprocess_sequence` {self.layer_preprocess_sequence!r} and "
                f"`layer_postprocess_sequence` {self.layer_postprocess_sequence!r} are neither "
                "'n' and 'da' nor 'none' and 'dan'"
            )
        return self


def read_settings(path):
    """Reads `hparams.json`.

    Raises:
        OSError: If there is no such regular file.
        ValueError: For a model that ours cannot be, with the setting.
    """
    return parse(Settings, read_bytes(path, MAX_BYTES), path, NO_MODEL)
