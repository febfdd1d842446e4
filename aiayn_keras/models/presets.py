"""Architectures by name: a description, arguments of `TransformerBackbone` that differ from those of
base, and the label smoothing of its training."""
