"""Parallel text: corpora, reading, filtering, and batches for training."""

from aiayn_keras.data.augmentation import augment
from aiayn_keras.data.batch_sequence import BatchSequence
from aiayn_keras.data.corpora import Corpus, corpus_names, load_corpus
from aiayn_keras.data.demo.corpus import generate_demo_pairs
from aiayn_keras.data.filtering import FilterReport, filter_pairs
from aiayn_keras.data.packed_batches import PackedBatches
from aiayn_keras.data.pair_batches import PairBatches
from aiayn_keras.data.parallel_text import ParallelText, read_parallel, stream_parallel
from aiayn_keras.data.process_rows import ProcessRows
from aiayn_keras.data.sampled_pairs import SampledPairs
from aiayn_keras.data.shard_writer import write_shards
from aiayn_keras.data.text_files import CorpusError, read_lines, stream_lines
from aiayn_keras.data.token_batches import TokenBatches
from aiayn_keras.data.token_pairs import TokenPairs
from aiayn_keras.data.token_shards import TokenShards
from aiayn_keras.data.update_batches import UpdateBatches

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
    "UpdateBatches",
    "augment",
    "corpus_names",
    "filter_pairs",
    "generate_demo_pairs",
    "load_corpus",
    "read_lines",
    "read_parallel",
    "stream_lines",
    "stream_parallel",
    "write_shards",
]
