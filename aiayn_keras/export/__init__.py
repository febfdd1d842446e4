"""Exports: the model as files for use without this package, one file per format."""

from aiayn_keras.decoding.translation_search import ENGINES
from aiayn_keras.export.ctranslate2 import (
    CTranslate2Engine,
    CTranslate2Int8Engine,
    export_ctranslate2,
)
from aiayn_keras.export.hf_marian import export_hf_marian
from aiayn_keras.export.litert import export_litert
from aiayn_keras.export.onnx import export_onnx, export_openvino
from aiayn_keras.export.saved_model import export_saved_model
from aiayn_keras.export.server_files import UnsupportedGraphError
from aiayn_keras.models import TransformerSeq2SeqLM

TransformerSeq2SeqLM.exporters["saved_model"] = export_saved_model
TransformerSeq2SeqLM.exporters["ctranslate2"] = export_ctranslate2
TransformerSeq2SeqLM.exporters["hf_marian"] = export_hf_marian
TransformerSeq2SeqLM.exporters["onnx"] = export_onnx
TransformerSeq2SeqLM.exporters["openvino"] = export_openvino
TransformerSeq2SeqLM.exporters["litert"] = export_litert
ENGINES.update({each.name: each for each in (CTranslate2Engine, CTranslate2Int8Engine)})

__all__ = [
    "UnsupportedGraphError",
    "export_ctranslate2",
    "export_hf_marian",
    "export_litert",
    "export_onnx",
    "export_openvino",
    "export_saved_model",
]
