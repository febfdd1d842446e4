"""Exports: the model as files for use without this package, one file here for each format."""

from aiayn_keras.export.ctranslate2 import export_ctranslate2
from aiayn_keras.export.litert import export_litert
from aiayn_keras.export.saved_model import export_saved_model
from aiayn_keras.models import TransformerSeq2SeqLM

TransformerSeq2SeqLM.exporters["saved_model"] = export_saved_model
TransformerSeq2SeqLM.exporters["ctranslate2"] = export_ctranslate2
TransformerSeq2SeqLM.exporters["litert"] = export_litert

__all__ = ["export_ctranslate2", "export_litert", "export_saved_model"]
