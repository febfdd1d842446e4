"""Models of other toolkits made into ours, one file here for each format."""

from aiayn_keras.convert.assigning import assign_weights
from aiayn_keras.convert.ctranslate2 import convert_ctranslate2
from aiayn_keras.convert.fairseq import convert_fairseq

__all__ = ["assign_weights", "convert_ctranslate2", "convert_fairseq"]
