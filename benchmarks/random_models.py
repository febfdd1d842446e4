"""Models with random weights, and texts of random words for them."""

import numpy as np


def build_random_model(preset, vocabulary_size=32_000, seed=1, **options):
    """A named architecture with random weights; its words are t4, t5, and so on.

    Args:
        preset: A key of `TransformerBackbone.presets`.
        vocabulary_size: Number of tokens.
        seed: Seed of the weights.
        **options: Other arguments of `TransformerBackbone`.

    Returns:
        A `TransformerSeq2SeqLM`.
    """
    import keras

    from aiayn_keras import (
        TransformerBackbone,
        TransformerSeq2SeqLM,
        TransformerSeq2SeqLMPreprocessor,
    )

    keras.utils.set_random_seed(seed)
    backbone = TransformerBackbone.from_preset(
        preset, load_weights=False, vocabulary_size=vocabulary_size, **options
    )
    preprocessor = TransformerSeq2SeqLMPreprocessor(word_tokenizer(vocabulary_size))
    model = TransformerSeq2SeqLM(backbone, preprocessor)
    model.compile()
    return model


def word_tokenizer(vocabulary_size):
    """A tokenizer whose token i is the word `t<i>`."""
    from aiayn_keras import TransformerTokenizer
    from aiayn_keras.convert.tokenizers import NUM_SPECIALS, build_word_model

    words = [f"t{i}" for i in range(NUM_SPECIALS, vocabulary_size)]
    return TransformerTokenizer(build_word_model([None] * NUM_SPECIALS + words))


def random_texts(num_texts, num_words, vocabulary_size=32_000, seed=0):
    """Texts from the words of `word_tokenizer`."""
    rows = np.random.default_rng(seed).integers(4, vocabulary_size, size=(num_texts, num_words))
    return [" ".join(f"t{i}" for i in row) for row in rows]
