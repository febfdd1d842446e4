"""Models of random weights, and texts of random words for them."""

import numpy as np

SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")


def build_random_model(preset, vocabulary_size=32_000, seed=1, **options):
    """A named architecture with random weights; its words are t4, t5, and so on.

    Args:
        preset: A key of `TransformerBackbone.presets`.
        vocabulary_size: Number of tokens.
        seed: Of the weights.
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
    from sentencepiece import sentencepiece_model_pb2

    from aiayn_keras import TransformerTokenizer

    proto = sentencepiece_model_pb2.ModelProto()
    kinds = proto.SentencePiece
    for piece in SPECIAL_PIECES:
        kind = kinds.UNKNOWN if piece == "<unk>" else kinds.CONTROL
        proto.pieces.add(piece=piece, score=0.0, type=kind)
    for i in range(len(SPECIAL_PIECES), vocabulary_size):
        proto.pieces.add(piece=f"▁t{i}", score=-1.0, type=kinds.NORMAL)
    proto.trainer_spec.model_type = proto.trainer_spec.WORD
    proto.trainer_spec.vocab_size = vocabulary_size
    proto.trainer_spec.pad_id, proto.trainer_spec.unk_id = 0, 1
    proto.trainer_spec.bos_id, proto.trainer_spec.eos_id = 2, 3
    return TransformerTokenizer(proto=proto.SerializeToString())


def random_texts(num_texts, num_words, vocabulary_size=32_000, seed=0):
    """Texts of the words of `word_tokenizer`."""
    rows = np.random.default_rng(seed).integers(4, vocabulary_size, size=(num_texts, num_words))
    return [" ".join(f"t{i}" for i in row) for row in rows]
