"""Projection to logits and cross-entropy in one operation, on JAX and TensorFlow."""

import math

import keras

from aiayn_keras.backend.divided_steps import has_own_steps

_MAX_CHUNKS = 8


def projects_in_loss():
    """Returns whether backend and devices support `projected_cross_entropy`."""
    shares_model = isinstance(keras.distribution.distribution(), keras.distribution.ModelParallel)
    return has_own_steps() or (keras.config.backend() == "jax" and not shares_model)


def projected_cross_entropy(hidden_states, matrix, labels, weights, label_smoothing):
    """Label-smoothed cross-entropy of hidden states, and what the metrics need of each token.

    On JAX the positions are processed in chunks, and the loss and the gradients of a chunk are
    computed together. So the logits of all positions are never in memory at once; differentiation
    would keep them until it computes the gradient. TensorFlow does not fuse passes over the logits,
    so it makes two: one for their softmax, and one for the gradient.

    Args:
        hidden_states: Float tensor `(B, T, D)`.
        matrix: Float tensor `(V, D)`, multiplied with the hidden states in their dtype.
        labels: Integer tensor `(B, T)`.
        weights: Float tensor `(B, T)`, the weights of the tokens' losses.
        label_smoothing: The paper's ε_ls.

    Returns:
        Tuple of the weighted sum of the losses, a float32 scalar that can be differentiated by
        `hidden_states` and `matrix`; the log-probabilities of the labels, float32 `(B, T)`; and
        whether each label is the likeliest token, boolean `(B, T)`.
    """
    if keras.config.backend() == "tensorflow":
        return _in_few_passes(hidden_states, matrix, labels, weights, label_smoothing)
    import jax

    @jax.custom_vjp
    def loss(hidden_states, matrix):
        return forward(hidden_states, matrix)[0]

    def forward(hidden_states, matrix):
        sums, by_token = _on_devices(hidden_states, matrix, labels, weights, label_smoothing)
        value, of_matrix = sums
        of_states, *statistics = by_token
        return (value, *statistics), (of_states, of_matrix.astype(matrix.dtype))

    def backward(gradients, upstream):
        return tuple(gradient * upstream[0].astype(gradient.dtype) for gradient in gradients)

    loss.defvjp(forward, backward)
    return loss(hidden_states, matrix)


def _on_devices(hidden_states, matrix, labels, weights, label_smoothing):
    """`_in_chunks` of the rows of each device, with one sum over the devices for all chunks."""
    import jax

    arrays = hidden_states, matrix, labels, weights
    distribution = keras.distribution.distribution()
    if distribution is None or len(labels) % distribution.num_model_replicas:
        return _in_chunks(*arrays, label_smoothing)
    axis = distribution.batch_dim_name

    def on_one_device(*arrays):
        sums, by_token = _in_chunks(*arrays, label_smoothing)
        return jax.lax.psum(sums, axis), by_token

    rows, everywhere = jax.sharding.PartitionSpec(axis), jax.sharding.PartitionSpec()
    return jax.shard_map(
        on_one_device,
        mesh=distribution.device_mesh.backend_mesh.abstract_mesh,
        in_specs=(rows, everywhere, rows, rows),
        out_specs=(everywhere, rows),
        check_vma=False,
    )(*arrays)


def _in_chunks(hidden_states, matrix, labels, weights, label_smoothing):
    """Loss and gradients of all positions.

    Returns:
        Tuple of two: the sums over all positions, `(loss, gradient of matrix)`; and by token
        `(gradient of hidden_states, log-probabilities, is best)`.
    """
    import jax
    import jax.numpy as jnp

    B, T = labels.shape
    # A chunk with fewer tokens than D would spend most of its time adding up the matrix's gradient.
    most_chunks = min(max(B * T // matrix.shape[1], 1), _MAX_CHUNKS)
    positions = math.ceil(T / most_chunks)
    chunks = math.ceil(T / positions)
    kernel = matrix.astype(hidden_states.dtype)

    def split(x):
        padding = [(0, 0), (0, chunks * positions - T)] + [(0, 0)] * (x.ndim - 2)
        x = jnp.pad(x, padding).reshape(B, chunks, positions, *x.shape[2:])
        return jnp.moveaxis(x, 1, 0)

    def join(x):
        return jnp.moveaxis(x, 0, 1).reshape(B, chunks * positions, *x.shape[3:])[:, :T]

    def add_chunk(sums, chunk):
        states, labels, weights = chunk
        scores = jnp.matmul(states, kernel.T, preferred_element_type="float32")
        losses, gradient, *statistics = _cross_entropy(scores, labels, label_smoothing)
        gradient = (gradient * weights[..., None]).astype(states.dtype)
        of_matrix = jnp.einsum("btv,btd->vd", gradient, states, preferred_element_type="float32")
        sums = sums[0] + jnp.sum(losses * weights), sums[1] + of_matrix
        return sums, (jnp.matmul(gradient, kernel), *statistics)

    zeros = jnp.zeros((), "float32"), jnp.zeros(matrix.shape, "float32")
    sums, by_token = jax.lax.scan(
        add_chunk, zeros, tuple(split(x) for x in (hidden_states, labels, weights))
    )
    return sums, tuple(join(x) for x in by_token)


def _cross_entropy(scores, labels, label_smoothing):
    """Losses of logits `(B, T, V)`, their gradient, log-probabilities of labels, and is best."""
    import jax.numpy as jnp

    V = scores.shape[-1]
    is_label = jnp.arange(V, dtype=labels.dtype) == labels[..., None]
    highest = jnp.max(scores, axis=-1, keepdims=True)
    log_normalizer = highest[..., 0] + jnp.log(jnp.sum(jnp.exp(scores - highest), axis=-1))
    # A sum, since looking up the label's logit would write all logits to memory first.
    of_label = jnp.sum(jnp.where(is_label, scores, 0.0), axis=-1)
    losses = log_normalizer - (1.0 - label_smoothing) * of_label
    if label_smoothing:
        losses = losses - label_smoothing * jnp.mean(scores, axis=-1)
    target = jnp.where(is_label, 1.0 - label_smoothing, 0.0) + label_smoothing / V
    gradient = jnp.exp(scores - log_normalizer[..., None]) - target
    is_best = jnp.argmax(scores, axis=-1).astype(labels.dtype) == labels
    return losses, gradient, of_label - log_normalizer, is_best


_MIN_PROBABILITY = 1e-30
"""Far below it, a float32 probability is rounded to few digits, or to zero."""


def _in_few_passes(hidden_states, matrix, labels, weights, label_smoothing):
    """`projected_cross_entropy` on TensorFlow, where each pass over all logits reads them again.

    The gradient by the logits is `(softmax - target) * weights`. Only the label's share of the
    target is subtracted there. The rest of it is the same for all tokens, and the weight is the
    same for a whole row, so both are applied to the `(N, D)` tensors of the two products.
    """
    import tensorflow as tf

    D, V = hidden_states.shape[-1], matrix.shape[0]
    B_T = tf.shape(labels)
    of_each, on_label = label_smoothing / V, 1.0 - label_smoothing
    labels = tf.cast(tf.reshape(labels, (-1,)), "int32")
    weights = tf.reshape(weights, (-1, 1))
    places = tf.stack([tf.range(tf.size(labels)), labels], axis=1)

    @tf.custom_gradient
    def losses_of(states, matrix):
        kernel = tf.cast(matrix, states.dtype)
        scores = tf.cast(tf.matmul(states, kernel, transpose_b=True), "float32")
        probabilities = tf.nn.softmax(scores)
        of_label = tf.gather_nd(scores, places)
        of_label_probability = tf.gather_nd(probabilities, places)
        log_probs = tf.cond(
            tf.reduce_all(of_label_probability > _MIN_PROBABILITY),
            lambda: tf.math.log(of_label_probability),
            lambda: of_label - tf.reduce_logsumexp(scores, axis=-1),
        )
        losses = -on_label * log_probs
        if label_smoothing:
            mean_scores = tf.linalg.matvec(
                tf.cast(states, "float32"), tf.reduce_mean(tf.cast(kernel, "float32"), axis=0)
            )
            losses += label_smoothing * (of_label - log_probs - mean_scores)
        is_best = tf.argmax(scores, axis=-1, output_type="int32") == labels
        value = tf.reduce_sum(losses * weights[:, 0])

        def gradient(upstream, *of_statistics):
            row_weights = weights * upstream
            shares = tf.fill(tf.shape(labels), on_label)
            by_scores = tf.tensor_scatter_nd_sub(probabilities, places, shares)
            by_scores = tf.cast(by_scores, states.dtype)
            weighted = tf.cast(tf.cast(states, "float32") * row_weights, states.dtype)
            by_states = tf.cast(tf.matmul(by_scores, kernel), "float32")
            by_matrix = tf.cast(tf.matmul(by_scores, weighted, transpose_a=True), "float32")
            if label_smoothing:
                by_states -= of_each * tf.reduce_sum(tf.cast(kernel, "float32"), axis=0)
                by_matrix -= of_each * tf.reduce_sum(tf.cast(weighted, "float32"), axis=0)
            return tf.cast(by_states * row_weights, states.dtype), tf.cast(by_matrix, matrix.dtype)

        return (value, log_probs, is_best), gradient

    states = tf.reshape(hidden_states, (-1, D))
    value, *statistics = losses_of(states, tf.convert_to_tensor(matrix))  # not a variable
    return value, *(tf.reshape(of_tokens, B_T) for of_tokens in statistics)
