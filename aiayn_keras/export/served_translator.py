"""The TensorFlow graph that is served: text in, text out."""


def build_served_translator(model, num_beams, length_penalty):
    """Puts tokenizer, search and detokenizer of a model into one `tf.Module`.

    Args:
        model: A `TransformerSeq2SeqLM` of the TensorFlow backend.
        num_beams: Number of beams, fixed in the graph.
        length_penalty: The exponent α, fixed in the graph.

    Returns:
        The module, and its signatures by name, ready for `tf.saved_model.save`. All ops are
        TensorFlow's and TensorFlow Text's own; nothing is compiled by XLA, which TensorFlow
        Serving does not run.
    """
    import tensorflow as tf
    import tensorflow_text

    from aiayn_keras.models.generation import beam_search
    from aiayn_keras.models.scoring import token_log_probs
    from aiayn_keras.samplers import BeamSampler

    tokenizer = model.preprocessor.tokenizer
    end, first_piece = tokenizer.end_token_id, max(tokenizer.special_token_ids) + 1
    max_pieces = model.backbone.max_sequence_length - 1
    sampler = BeamSampler(num_beams, length_penalty)

    module = tf.Module()
    # Whatever a signature needs must hang on the module, or loading does not find it.
    module.tokenizer = tensorflow_text.SentencepieceTokenizer(
        model=tokenizer.proto, out_type=tf.int32
    )
    module.model_variables = [variable.value for variable in model.variables]

    def tokenize(text):
        """Strings `(B,)` to padded ids `pieces </s> (B, S)`, mask, and number of pieces `(B,)`."""
        pieces = module.tokenizer.tokenize(text)[:, :max_pieces]
        num_pieces = tf.cast(pieces.row_lengths(), tf.int32)
        ends = tf.fill([tf.shape(text)[0], 1], end)
        token_ids = tf.concat([pieces, ends], axis=1)
        return token_ids.to_tensor(), tf.sequence_mask(num_pieces + 1, dtype=tf.int32), num_pieces

    def detokenize(token_ids):
        """Padded ids `(N, L)` to strings `(N,)`."""
        return module.tokenizer.detokenize(
            tf.ragged.boolean_mask(token_ids, token_ids >= first_piece)
        )

    def search_ids(token_ids, padding_mask, num_hypotheses):
        return beam_search(
            (model.backbone,), tokenizer, token_ids, padding_mask, sampler, num_hypotheses
        )

    def search(text, num_hypotheses):
        token_ids, padding_mask, num_pieces = tokenize(text)
        token_ids, log_probs = search_ids(token_ids, padding_mask, num_hypotheses)  # (B, N, L)
        # As in `translate`: a text without words has one translation, nothing.
        has_words = num_pieces[:, tf.newaxis] > 0
        texts = detokenize(tf.reshape(token_ids, [-1, tf.shape(token_ids)[2]]))
        texts = tf.where(has_words, tf.reshape(texts, [-1, num_hypotheses]), "")
        return texts, tf.where(has_words, log_probs, 0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serving_default(text):
        texts, log_probs = search(text, 1)
        return {"translation": texts[:, 0], "score": log_probs[:, 0]}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def translate_nbest(text):
        texts, log_probs = search(text, num_beams)
        return {"translations": texts, "scores": log_probs}

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.int32, name="token_ids")], autograph=False
    )
    def generate_ids(token_ids):
        token_ids = token_ids[:, : max_pieces + 1]
        padding_mask = tf.cast(token_ids != tokenizer.pad_token_id, tf.int32)
        token_ids, log_probs = search_ids(token_ids, padding_mask, 1)
        return {"token_ids": token_ids[:, 0], "score": log_probs[:, 0]}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, name="source"),
            tf.TensorSpec([None], tf.string, name="target"),
        ],
        autograph=False,
    )
    def score(source, target):
        encoder_ids, encoder_mask, _ = tokenize(source)
        labels, decoder_mask, _ = tokenize(target)
        starts = tf.fill([tf.shape(labels)[0], 1], tokenizer.start_token_id)
        decoder_ids = tf.concat([starts, labels[:, :-1]], axis=1)
        log_probs = token_log_probs(
            model.backbone, encoder_ids, encoder_mask, decoder_ids, decoder_mask, labels
        )
        return {"log_probability": tf.reduce_sum(log_probs, axis=1)}

    return module, {
        "serving_default": serving_default,
        "translate_nbest": translate_nbest,
        "generate_ids": generate_ids,
        "score": score,
    }
