"""A model of random weights whose vocabulary has words and brackets, for searches of trees."""

import numpy as np

from aiayn_keras.convert.tokenizers import build_word_model
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from tests.helpers import D, H

SOURCES = ["the cat sat", "cat", "dog the cat sat the dog", "sat sat"]


def build_random_parser(seed=5):
    """A `TransformerSeq2SeqLM` whose translations spell their wordpieces."""
    words = ["cat", "dog", "sat", "the", "(S", "(NP", "(VP", ")S", ")NP", ")VP", "XX"]
    tokenizer = TransformerTokenizer(build_word_model([None] * 4 + words))
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 2, H, D, intermediate_dim=20, max_sequence_length=64
    )
    noise = np.random.default_rng(seed)
    for weight in backbone.weights:
        weight.assign(weight + noise.normal(0.0, 0.4, weight.shape))
    return TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 16, 64))


def is_tree_of(text, source):
    """Returns whether a string is a tree with a leaf for each word of the source."""
    words = text.split()
    rest = _behind_a_tree(words)
    leaves = [word for word in words if word[0] not in "()"]
    return rest == [] and len(leaves) == len(source.split())


def _behind_a_tree(words):
    """The words behind the constituent that a list begins with; None if it begins with none."""
    if not words or words[0][0] != "(":
        return None
    label, rest = words[0][1:], words[1:]
    is_empty = True
    while rest and rest[0][0] != ")":
        rest = _behind_a_tree(rest) if rest[0][0] == "(" else rest[1:]
        is_empty = False
        if rest is None:
            return None
    return rest[1:] if rest and rest[0] == f"){label}" and not is_empty else None
