"""Constituency trees (paper 6.3): the data structure, files, scores and drawings.

`drawing` and `scores` are imported as modules, so that reading trees does not load Matplotlib.
"""

from aiayn_keras.parsing.trees import (
    MalformedTreeError,
    Tree,
    clean_tree,
    linearize,
    parse_linearized,
    read_trees,
    repair_linearized,
)

__all__ = [
    "MalformedTreeError",
    "Tree",
    "clean_tree",
    "linearize",
    "parse_linearized",
    "read_trees",
    "repair_linearized",
]
