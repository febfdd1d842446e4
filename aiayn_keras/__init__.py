"""The Transformer of "Attention Is All You Need" in Keras 3: train, translate, serve.

Paper: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762.

Importing the package registers its classes with Keras, so that `keras_hub` and `keras.saving` can
load its models. The command `aiayn-keras` is the package `aiayn_keras_cli`.
"""

from aiayn_keras import convert, data, export, layers
from aiayn_keras.decoding.beam_sampler import BeamSampler, search_tokens
from aiayn_keras.layers import (
    AddNorm,
    DecoderBlock,
    EncoderBlock,
    MultiHeadAttention,
    PositionalEmbedding,
    PositionwiseFeedForward,
    ReversibleEmbedding,
)
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
    pack_token_ids,
)
from aiayn_keras.optimization import LabelSmoothedCrossEntropy, WarmupSchedule, paper_adam

__all__ = [
    "AddNorm",
    "BeamSampler",
    "DecoderBlock",
    "EncoderBlock",
    "LabelSmoothedCrossEntropy",
    "MultiHeadAttention",
    "PositionalEmbedding",
    "PositionwiseFeedForward",
    "ReversibleEmbedding",
    "TransformerBackbone",
    "TransformerSeq2SeqLM",
    "TransformerSeq2SeqLMPreprocessor",
    "TransformerTokenizer",
    "WarmupSchedule",
    "convert",
    "data",
    "export",
    "layers",
    "pack_token_ids",
    "paper_adam",
    "search_tokens",
]
