"""Parallel text for training: corpora, readers, filters, token shards and batches."""

from aiayn_keras.common.text_files import CorpusError, read_lines, stream_lines
from aiayn_keras.data.augmentation import augment
from aiayn_keras.data.corpora import (
    Corpus,
    Treebank,
    corpus_names,
    load_corpus,
    load_craft,
    tree_pairs,
)
from aiayn_keras.data.demo import generate_demo_pairs
from aiayn_keras.data.filtering import FilterReport, filter_pairs
from aiayn_keras.data.packed_batches import PackedBatches
from aiayn_keras.data.pair_batches import BatchSequence, PairBatches
from aiayn_keras.data.parallel_text import ParallelText, read_parallel, stream_parallel
from aiayn_keras.data.shard_folders import write_shards
from aiayn_keras.data.token_batches import TokenBatches
from aiayn_keras.data.token_pairs import SampledPairs, TokenPairs
from aiayn_keras.data.token_shards import TokenShards
from aiayn_keras.data.update_batches import ProcessRows, UpdateBatches
from aiayn_keras.parsing.bracket_files import read_trees
from aiayn_keras.parsing.trees import (
    MalformedTreeError,
    Tree,
    clean_tree,
    linearize,
    parse_linearized,
    repair_linearized,
)

__all__ = [
    "BatchSequence",
    "Corpus",
    "CorpusError",
    "FilterReport",
    "MalformedTreeError",
    "PackedBatches",
    "PairBatches",
    "ParallelText",
    "ProcessRows",
    "SampledPairs",
    "TokenBatches",
    "TokenPairs",
    "TokenShards",
    "Tree",
    "Treebank",
    "UpdateBatches",
    "augment",
    "clean_tree",
    "corpus_names",
    "filter_pairs",
    "generate_demo_pairs",
    "linearize",
    "load_corpus",
    "load_craft",
    "parse_linearized",
    "read_lines",
    "read_parallel",
    "read_trees",
    "repair_linearized",
    "stream_lines",
    "stream_parallel",
    "tree_pairs",
    "write_shards",
]
