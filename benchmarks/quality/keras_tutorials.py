"""The models of Keras' two English-to-Spanish tutorials, for a comparison of quality.

- `tutorial`: https://keras.io/examples/nlp/neural_machine_translation_with_transformer/
- `kerashub`: https://keras.io/examples/nlp/neural_machine_translation_with_keras_hub/

They keep their sizes: one layer on each side, width 256, 2,048 inside, 8 heads, 15,000 words or
wordpieces per language, learned positions, dropout 0.5 before a separate softmax, RMSprop,
batches of 64, greedy search. `tutorial` strips punctuation and case and cuts at 20 words,
`kerashub` strips case and cuts at 40 wordpieces.
"""

import string
from typing import Any, NamedTuple

import numpy as np

VOCABULARY_SIZE = 15_000
HIDDEN_DIM, INTERMEDIATE_DIM, NUM_HEADS = 256, 2048, 8
PUNCTUATION = (string.punctuation + "¿¡").translate(str.maketrans("", "", "[]"))
SPECIAL = ["[PAD]", "[UNK]", "[START]", "[END]"]


class Tutorial(NamedTuple):
    """A tutorial's model with its text processing.

    Attributes:
        model: Compiled Keras model of `(encoder ids (B, S), decoder ids (B, T))`.
        encode_sources: Function from a list of strings to ids `(B, S)`.
        encode_targets: Function from a list of strings to ids `(B, T + 1)`, start and end included.
        words: List of the target's words or wordpieces.
        join: Function from a list of words to text.
    """

    model: Any
    encode_sources: Any
    encode_targets: Any
    words: list
    join: Any


def load_tutorial(pairs):
    """Makes `tutorial` with vocabularies from training pairs."""
    length = 20
    sources = _make_word_ids([_plain(source) for source, _ in pairs], length)
    targets = _make_word_ids([f"[start] {_plain(target)} [end]" for _, target in pairs], length + 1)
    return Tutorial(
        model=_compile(*_tutorial_layers(length)),
        encode_sources=lambda texts: np.array(sources([_plain(text) for text in texts])),
        encode_targets=lambda texts: np.array(
            targets([f"[start] {_plain(text)} [end]" for text in texts])
        ),
        words=targets.get_vocabulary(),
        join=" ".join,
    )


def load_kerashub(pairs):
    """Makes `kerashub` with vocabularies from training pairs."""
    import keras_hub

    length = 40
    sources, targets = (
        _make_word_pieces([pair[side].lower() for pair in pairs]) for side in (0, 1)
    )
    start, end = (targets.token_to_id(word) for word in SPECIAL[2:])
    pack_sources = keras_hub.layers.StartEndPacker(length, pad_value=0)
    pack_targets = keras_hub.layers.StartEndPacker(length + 1, start, end, pad_value=0)

    def encode(tokenizer, packer, texts):
        return np.array(packer(tokenizer([text.lower() for text in texts])))

    return Tutorial(
        model=_compile(*_kerashub_layers(length)),
        encode_sources=lambda texts: encode(sources, pack_sources, texts),
        encode_targets=lambda texts: encode(targets, pack_targets, texts),
        words=targets.get_vocabulary(),
        join=lambda pieces: " ".join(pieces).replace(" ##", ""),
    )


def translate(tutorial, texts, batch_size=256):
    """Translates by greedy search, recomputing all positions at every step as the tutorials do."""
    translations = []
    for begin in range(0, len(texts), batch_size):
        sources = tutorial.encode_sources(texts[begin : begin + batch_size])
        targets = np.zeros_like(tutorial.encode_targets([""] * len(sources)))[:, :-1]
        targets[:, 0] = tutorial.encode_targets([""])[0, 0]
        for place in range(1, targets.shape[1]):
            probabilities = tutorial.model.predict_on_batch([sources, targets])
            targets[:, place] = probabilities[:, place - 1].argmax(axis=-1)
        translations += [_until_end(tutorial, row[1:]) for row in targets]
    return translations


def _until_end(tutorial, row):
    words = []
    for word in (tutorial.words[number] for number in row):
        if word.lower() in ("[end]", "[pad]", ""):
            break
        words.append(word)
    return tutorial.join(words)


def _plain(text):
    return text.lower().translate(str.maketrans("", "", PUNCTUATION))


def _make_word_ids(texts, length):
    from keras.layers import TextVectorization

    layer = TextVectorization(
        VOCABULARY_SIZE, standardize=None, output_mode="int", output_sequence_length=length
    )
    layer.adapt(texts)
    return layer


def _make_word_pieces(texts):
    import keras_hub
    import tensorflow as tf

    vocabulary = keras_hub.tokenizers.compute_word_piece_vocabulary(
        tf.data.Dataset.from_tensor_slices(texts).batch(1000),
        vocabulary_size=VOCABULARY_SIZE,
        reserved_tokens=SPECIAL,
    )
    return keras_hub.tokenizers.WordPieceTokenizer(vocabulary, lowercase=False)


def _tutorial_layers(length):
    """Inputs and last hidden states of the model built entirely from Keras layers."""
    import keras
    from keras import layers, ops

    class Embedding(layers.Layer):
        def __init__(self):
            super().__init__()
            self.tokens = layers.Embedding(VOCABULARY_SIZE, HIDDEN_DIM)
            self.positions = layers.Embedding(length, HIDDEN_DIM)

        def call(self, ids):
            return self.tokens(ids) + self.positions(ops.arange(ops.shape(ids)[-1]))

    def attend(x, memory, mask, causal=False):
        # Heads as wide as the model, as in the tutorial.
        attention = layers.MultiHeadAttention(NUM_HEADS, key_dim=HIDDEN_DIM)
        attended = attention(x, memory, attention_mask=mask, use_causal_mask=causal)
        return layers.LayerNormalization()(x + attended)

    def feed_forward(x):
        hidden = layers.Dense(INTERMEDIATE_DIM, activation="relu")(x)
        return layers.LayerNormalization()(x + layers.Dense(HIDDEN_DIM)(hidden))

    inputs = [keras.Input((None,), dtype="int64") for _ in range(2)]
    mask = ops.expand_dims(ops.not_equal(inputs[0], 0), 1)
    memory = Embedding()(inputs[0])
    memory = feed_forward(attend(memory, memory, mask))
    x = Embedding()(inputs[1])
    x = attend(attend(x, x, None, causal=True), memory, mask)
    return inputs, feed_forward(x)


def _kerashub_layers(length):
    """Inputs and last hidden states of the model from KerasHub's layers, without a padding mask."""
    import keras
    import keras_hub

    def embed(ids):
        layer = keras_hub.layers.TokenAndPositionEmbedding(VOCABULARY_SIZE, length, HIDDEN_DIM)
        return layer(ids)

    size = {"intermediate_dim": INTERMEDIATE_DIM, "num_heads": NUM_HEADS}
    inputs = [keras.Input((None,), dtype="int64") for _ in range(2)]
    memory = keras_hub.layers.TransformerEncoder(**size)(embed(inputs[0]))
    return inputs, keras_hub.layers.TransformerDecoder(**size)(embed(inputs[1]), memory)


def _compile(inputs, hidden):
    import keras
    from keras import layers

    x = layers.Dropout(0.5)(hidden)
    model = keras.Model(inputs, layers.Dense(VOCABULARY_SIZE, activation="softmax")(x))
    model.compile("rmsprop", "sparse_categorical_crossentropy", jit_compile=False)
    return model
