"""Converters for models of other toolkits, one file for each format."""

from aiayn_keras.convert.ctranslate2 import convert_ctranslate2
from aiayn_keras.convert.fairseq import convert_fairseq
from aiayn_keras.convert.foreign_models import convert, is_foreign
from aiayn_keras.convert.marian import convert_marian
from aiayn_keras.convert.opennmt_tf import convert_opennmt_tf
from aiayn_keras.convert.tensor2tensor import convert_tensor2tensor
from aiayn_keras.models import TransformerSeq2SeqLM

TransformerSeq2SeqLM.converters.append((is_foreign, convert))

__all__ = [
    "convert",
    "convert_ctranslate2",
    "convert_fairseq",
    "convert_marian",
    "convert_opennmt_tf",
    "convert_tensor2tensor",
]
