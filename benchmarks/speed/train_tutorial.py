"""The model of Keras' tutorial on translation with a Transformer, made as deep as the others.

After https://keras.io/examples/nlp/neural_machine_translation_with_transformer/: heads of the whole
width, learned positions, no padding masks, a softmax of its own matrix, no label smoothing.
"""

from benchmarks.speed.train_ours import fit_trainer
from benchmarks.speed.train_systems import DROPOUT, load_batches


def load(task):
    import keras
    from keras import layers, ops

    batches = load_batches(task.batches)
    length = max(max(b["encoder_token_ids"].shape[1], b["labels"].shape[1]) for b in batches)
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

    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in batches[0]}
    del inputs["labels"]
    memory = embed(inputs["encoder_token_ids"])
    for _ in range(task.num_layers):
        memory = feed_forward(attend(memory, memory))
    x = embed(inputs["decoder_token_ids"])
    for _ in range(task.num_layers):
        x = feed_forward(attend(attend(x, x, causal=True), memory))
    x = layers.Dropout(DROPOUT)(x)
    model = keras.Model(inputs, layers.Dense(task.vocabulary_size, activation="softmax")(x))
    model.compile(
        optimizer=keras.optimizers.Adam(1e-4, beta_2=0.98, epsilon=1e-9),
        loss="sparse_categorical_crossentropy",
        jit_compile=keras.config.backend() == "jax",
    )
    return fit_trainer(model, batches, task.precision)
