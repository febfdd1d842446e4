"""Parallel text for training: corpora, readers, filters, token shards and batches."""

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
from aiayn_keras.data.pair_batches import BatchSequence, PackedBatches, PairBatches
from aiayn_keras.data.parallel_text import ParallelText, mix_texts, read_parallel, stream_parallel
from aiayn_keras.data.shard_folders import write_shards
from aiayn_keras.data.token_batches import ProcessRows, TokenBatches, UpdateBatches
from aiayn_keras.data.token_pairs import FilterReport, SampledPairs, TokenPairs, filter_pairs
from aiayn_keras.data.token_shards import TokenShards
from aiayn_keras_light.text_files import CorpusError, read_lines, stream_lines

__all__ = [
    "BatchSequence",
    "Corpus",
    "CorpusError",
    "FilterReport",
    "PackedBatches",
    "PairBatches",
    "ParallelText",
    "ProcessRows",
    "SampledPairs",
    "TokenBatches",
    "TokenPairs",
    "TokenShards",
    "Treebank",
    "UpdateBatches",
    "augment",
    "corpus_names",
    "filter_pairs",
    "generate_demo_pairs",
    "load_corpus",
    "load_craft",
    "mix_texts",
    "read_lines",
    "read_parallel",
    "stream_lines",
    "stream_parallel",
    "tree_pairs",
    "write_shards",
]
