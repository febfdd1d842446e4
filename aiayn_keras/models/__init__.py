"""The model family: KerasHub's bases, subclassed."""

from aiayn_keras.models.architecture import TRANSFORMER_PRESETS
from aiayn_keras.models.transformer_backbone import TransformerBackbone
from aiayn_keras.models.transformer_seq2seq_lm import TransformerSeq2SeqLM
from aiayn_keras.models.transformer_seq2seq_lm_preprocessor import (
    TransformerSeq2SeqLMPreprocessor,
    pack_token_ids,
    text_preprocessor,
)
from aiayn_keras.models.transformer_tokenizer import TransformerTokenizer
from aiayn_keras_light.text_batches import TextTooLongError
from aiayn_keras_light.translating import (
    DocumentTranslation,
    Hypothesis,
    NoTranslationError,
    Translation,
)

__all__ = [
    "TRANSFORMER_PRESETS",
    "DocumentTranslation",
    "Hypothesis",
    "NoTranslationError",
    "TextTooLongError",
    "TransformerBackbone",
    "TransformerSeq2SeqLM",
    "TransformerSeq2SeqLMPreprocessor",
    "TransformerTokenizer",
    "Translation",
    "pack_token_ids",
    "text_preprocessor",
]
