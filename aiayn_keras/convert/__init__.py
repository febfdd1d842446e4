"""Models of other toolkits made into ours, one file here for each format."""

from aiayn_keras.convert.assigning import assign_weights

__all__ = ["assign_weights"]
