"""Models of other toolkits made into ours, one file here for each format."""

from aiayn_keras.convert.marian import convert_marian

__all__ = ["convert_marian"]
