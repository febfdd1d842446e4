"""A model of KerasHub's `TransformerEncoder` and `TransformerDecoder`, as Keras' tutorials build.

It has no label smoothing, which makes its loss cheaper, and learned positions.
"""

from benchmarks.speed.train_ours import fit_trainer
from benchmarks.speed.train_systems import DROPOUT, load_batches


def load(task):
    import keras
    import keras_hub

    batches = load_batches(task.batches)
    length = max(max(b["encoder_token_ids"].shape[1], b["labels"].shape[1]) for b in batches)
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in batches[0]}
    del inputs["labels"]
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
    model = keras.Model(inputs, logits)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-4, beta_2=0.98, epsilon=1e-9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=keras.config.backend() == "jax",
    )
    return fit_trainer(model, batches, task.precision)
