"""The model for use without this package."""

from aiayn_keras.export.saved_model import export_saved_model
from aiayn_keras.models import TransformerSeq2SeqLM

TransformerSeq2SeqLM.exporters["saved_model"] = export_saved_model

__all__ = ["export_saved_model"]
