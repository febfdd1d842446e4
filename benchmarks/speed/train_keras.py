"""Models as users of Keras build them: from KerasHub's layers, and as in Keras' tutorial."""

from benchmarks.speed.train_ours import fit_trainer
from benchmarks.speed.train_systems import DROPOUT, load_batches


def load_kerashub(task):
    """A model from KerasHub's `TransformerEncoder` and `TransformerDecoder`.

    It has no label smoothing, which makes its loss cheaper, and learned positions.
    """
    import keras
    import keras_hub

    batches, inputs, length = _batches_and_inputs(task)
    embedding = keras_hub.layers.TokenAndPositionEmbedding(
        vocabulary_size=task.vocabulary_size,
        sequence_length=length,
        embedding_dim=task.hidden_dim,
        tie_weights=True,
    )
    size = (task.intermediate_dim, task.num_heads)
    memory_mask = inputs["encoder_padding_mask"]
    memory = embedding(inputs["encoder_token_ids"])
    for _ in range(task.num_layers):
        layer = keras_hub.layers.TransformerEncoder(*size, dropout=DROPOUT)
        memory = layer(memory, padding_mask=memory_mask)
    x = embedding(inputs["decoder_token_ids"])
    for _ in range(task.num_layers):
        layer = keras_hub.layers.TransformerDecoder(*size, dropout=DROPOUT)
        x = layer(
            x,
            memory,
            decoder_padding_mask=inputs["decoder_padding_mask"],
            encoder_padding_mask=memory_mask,
        )
    logits = embedding.token_embedding(x, reverse=True)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return _trainer(keras.Model(inputs, logits), loss, batches)


def load_tutorial(task):
    """The model of Keras' translation tutorial, with the same depth as the others.

    After https://keras.io/examples/nlp/neural_machine_translation_with_transformer/: heads of the
    full width, learned positions, no padding masks, a softmax with its own matrix, no label
    smoothing.
    """
    import keras
    from keras import layers, ops

    batches, inputs, length = _batches_and_inputs(task)
    D = task.hidden_dim

    def embed(token_ids):
        tokens = layers.Embedding(task.vocabulary_size, D)(token_ids)
        places = layers.Embedding(length, D)
        return tokens + places(layers.Lambda(lambda ids: ops.arange(ops.shape(ids)[-1]))(token_ids))

    def attend(x, memory, causal=False):
        attention = layers.MultiHeadAttention(task.num_heads, key_dim=D)
        return layers.LayerNormalization()(x + attention(x, memory, use_causal_mask=causal))

    def feed_forward(x):
        hidden = layers.Dense(task.intermediate_dim, activation="relu")(x)
        return layers.LayerNormalization()(x + layers.Dense(D)(hidden))

    memory = embed(inputs["encoder_token_ids"])
    for _ in range(task.num_layers):
        memory = feed_forward(attend(memory, memory))
    x = embed(inputs["decoder_token_ids"])
    for _ in range(task.num_layers):
        x = feed_forward(attend(attend(x, x, causal=True), memory))
    x = layers.Dropout(DROPOUT)(x)
    probabilities = layers.Dense(task.vocabulary_size, activation="softmax")(x)
    model = keras.Model(inputs, probabilities)
    return _trainer(model, "sparse_categorical_crossentropy", batches)


def _batches_and_inputs(task):
    """Batches, the inputs of a model for them, and their maximum length."""
    import keras

    batches = load_batches(task.batches)
    length = max(max(b["encoder_token_ids"].shape[1], b["labels"].shape[1]) for b in batches)
    names = [name for name in batches[0] if name != "labels"]
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    return batches, inputs, length


def _trainer(model, loss, batches):
    import keras

    optimizer = keras.optimizers.Adam(1e-4, beta_2=0.98, epsilon=1e-9)
    model.compile(optimizer, loss, jit_compile=keras.config.backend() == "jax")
    return fit_trainer(model, batches)
