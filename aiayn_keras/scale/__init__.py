"""Corpora of any size, prepared and translated in parts, by processes or on a Ray cluster."""

from aiayn_keras.scale.engines import Engine
from aiayn_keras.scale.preparation import prepare
from aiayn_keras.scale.translation import translate_files

__all__ = ["Engine", "prepare", "translate_files"]
