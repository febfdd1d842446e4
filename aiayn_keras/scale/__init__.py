"""Text of any size: files cut into parts, on processes of a machine or on a Ray cluster."""

from aiayn_keras.scale.translation import translate_files

__all__ = ["translate_files"]
