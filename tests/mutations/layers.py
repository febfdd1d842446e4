"""Mistakes in the parts of the model (paper 3)."""

from tests.mutations.mutation import mistakes_in

MUTATIONS = [
    *mistakes_in(
        "layers/masks.py",
        "layers/test_masks.py",
        (
            "padding is looked at",
            "return ops.logical_and(same_sentence, ops.not_equal(key_padding_mask, 0))",
            "return same_sentence",
        ),
        (
            "packed sentences look at each other",
            "same_sentence = ops.equal(query_padding_mask, key_padding_mask)",
            "same_sentence = ops.not_equal(query_padding_mask * key_padding_mask, 0)",
        ),
        ("a position does not look at itself", "ops.greater_equal(", "ops.greater("),
        ("only the future is looked at", "ops.greater_equal(", "ops.less_equal("),
        (
            "one mask that allows is enough",
            "ops.logical_and(combined, mask)",
            "ops.logical_or(combined, mask)",
        ),
        ("positions begin with 1", "axis=2) - 1", "axis=2)"),
        (
            "positions go on over packed sentences",
            "combine_masks(same_sentence, make_causal_mask(padding_mask))",
            "make_causal_mask(padding_mask)",
        ),
    ),
    *mistakes_in(
        "layers/attention.py",
        "layers/test_attention.py",
        ("scores are not scaled", "1.0 / math.sqrt(key_dim)", "1.0"),
        ("scores are scaled by d_k", "math.sqrt(key_dim)", "key_dim"),
        (
            "the mask is upside down",
            "ops.where(mask, scores, MASKED_SCORE)",
            "ops.where(mask, MASKED_SCORE, scores)",
        ),
        ("the mask leaks", "MASKED_SCORE = -3e4", "MASKED_SCORE = -9.0"),
        ("a row without anything is NaN", "MASKED_SCORE = -3e4", 'MASKED_SCORE = float("-inf")'),
        ("half-precision softmax", 'ops.cast(scores, "float32")', "scores"),
        ("softmax over queries", "ops.softmax(scores, axis=-1)", "ops.softmax(scores, axis=-2)"),
        ("no dropout of weights", "weights = dropout(weights)", "dropout(weights)"),
        (
            "dropout of weights at inference",
            "self.dropout_layer(weights, training=training)",
            "self.dropout_layer(weights, training=True)",
        ),
        (
            "the memory is not looked at",
            "key, value = self.project_memory(memory)\n        return",
            "key, value = self.project_memory(query)\n        return",
        ),
        (
            "values are keys",
            "self._split_heads(self.value_dense(memory), self.value_dim)",
            "self._split_heads(self.key_dense(memory), self.value_dim)",
        ),
        (
            "heads take every h-th column",
            "self.num_heads, head_dim))\n        return ops.transpose(x, (0, 2, 1, 3))",
            "head_dim, self.num_heads))\n        return ops.transpose(x, (0, 3, 1, 2))",
        ),
        (
            "heads are joined across positions",
            "        x = ops.transpose(x, (0, 2, 1, 3))\n        return ops.reshape(x, "
            "(-1, ops.shape(x)[1],",
            "        return ops.reshape(x, (-1, ops.shape(x)[2],",
        ),
        ("full initial variance", "PROJECTION_SCALE = 0.5", "PROJECTION_SCALE = 1.0"),
        ("biases by default", "value_dim=None, use_bias=False", "value_dim=None, use_bias=True"),
    ),
    *mistakes_in(
        "layers/add_norm.py",
        "layers/test_add_norm.py",
        ("no residual connection", "x = x + self.dropout_layer(", "x = self.dropout_layer("),
        (
            "dropout of the sum",
            "x + self.dropout_layer(sublayer_output, training=training)",
            "self.dropout_layer(x + sublayer_output, training=training)",
        ),
        (
            "pre-norm normalizes the sum as well",
            "return x if self.normalize_first else self.layer_norm(x)",
            "return self.layer_norm(x)",
        ),
        (
            "pre-norm does not normalize",
            "return self.layer_norm(x) if self.normalize_first else x",
            "return x",
        ),
        ("epsilon is Keras' own", "epsilon=epsilon, dtype", "dtype"),
        (
            "pre-norm by default",
            "normalize_first=False, **kwargs",
            "normalize_first=True, **kwargs",
        ),
    ),
    *mistakes_in(
        "layers/positional_embedding.py",
        "layers/test_positional_embedding.py",
        (
            "sines and cosines are joined halves",
            "encoding[:, 0::2] = np.sin(angles)\n    encoding[:, 1::2] = np.cos(angles)",
            "encoding[:] = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)",
        ),
        ("shorter wavelengths", "10_000 **", "1_000 **"),
        ("embeddings are not scaled", "math.sqrt(x.shape[-1])", "1.0"),
        (
            "positions are scaled too",
            "x * scale + ops.cast(encoding, x.dtype)",
            "(x + ops.cast(encoding, x.dtype)) * scale",
        ),
        (
            "positions go on over packed sentences",
            ", sentence_positions(padding_mask), axis=0",
            ", ops.cumsum(ops.ones_like(padding_mask), axis=1) - 1, axis=0",
        ),
        ("no dropout", "return self.dropout_layer(x, training=training)", "return x"),
    ),
    *mistakes_in(
        "layers/feed_forward.py",
        "layers/test_feed_forward.py",
        ("no non-linearity", "self.activation(self.hidden_dense(x))", "self.hidden_dense(x)"),
        ("no dropout", "        x = self.dropout_layer(x, training=training)\n", ""),
    ),
    *mistakes_in(
        "layers/encoder_block.py",
        "layers/test_encoder_block.py",
        ("no mask", "self.self_attention(y, y, mask,", "self.self_attention(y, y, None,"),
        (
            "pre-norm attention of what is not normalized",
            "self.self_attention(y, y, mask,",
            "self.self_attention(x, x, mask,",
        ),
        (
            "pre-norm is left out before the network",
            "self.feed_forward(y, ",
            "self.feed_forward(x, ",
        ),
        ("one dropout for all", "dropout=self.attention_dropout,", "dropout=self.dropout,"),
        ("epsilon is not passed on", "            epsilon=self.layer_norm_epsilon,\n", ""),
    ),
    *mistakes_in(
        "layers/decoder_block.py",
        "layers/test_decoder_block.py",
        (
            "the future is seen",
            "self.self_attention(y, y, self_mask, training=training)",
            "self.self_attention(y, y, None, training=training)",
        ),
        (
            "the source's padding is seen",
            "self.cross_attention(y, memory, memory_mask,",
            "self.cross_attention(y, memory, None,",
        ),
        (
            "the memory is the target itself",
            "self.cross_attention(y, memory, memory_mask,",
            "self.cross_attention(y, y, self_mask,",
        ),
        (
            "a step adds the second residual too early",
            "x = self.self_attention_add_norm(x, y, training=False)",
            "x = self.self_attention_add_norm(y, y, training=False)",
        ),
    ),
    *mistakes_in(
        "models/transformer_backbone.py",
        "models/test_transformer_backbone.py models/test_shapes_fuzzed.py",
        (
            "the future is seen",
            "            make_causal_mask(decoder_padding_mask),\n",
            "",
        ),
        (
            "packed targets see every source",
            "make_attention_mask(decoder_padding_mask, encoder_padding_mask)",
            "make_attention_mask(ops.ones_like(decoder_padding_mask), encoder_padding_mask)",
        ),
        (
            "the source's padding is seen",
            "mask = make_attention_mask(padding_mask, padding_mask)",
            "mask = None",
        ),
        (
            "embeddings of unit variance",
            "RandomNormal(stddev=hidden_dim**-0.5)",
            "RandomNormal(1.0)",
        ),
    ),
]
