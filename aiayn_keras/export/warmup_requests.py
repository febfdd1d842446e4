"""Warm-up requests, which a server runs when it loads a model."""

import itertools
import time

from aiayn_keras.common.kit_files import WARMUP_FILE, run_warmup
from aiayn_keras.export.serving_options import longest_whole_text

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Sizes to which TensorFlow Serving pads its batches; `batching.config` has them too."""

_FEW_BATCH_SIZES = (1, 8)
"""Sizes of the warm-up batches of the signatures that are rarely used."""

_WORDS_OF_TEXTS = (2, 4, 8, 16)
"""Lengths, in words, of the texts that are made from the vocabulary."""


def write_warmup(folder, model_name, tokenizer, texts, options):
    """Writes requests to every signature as `PredictionLog` records of a TFRecord file.

    Args:
        folder: `pathlib.Path` of a SavedModel.
        model_name: Name under which it is served.
        tokenizer: Its `TransformerTokenizer`.
        texts: List of typical texts; if it is empty, texts are made from words of the vocabulary.
        options: The `ServingOptions`. Where a long text is an error, which would keep the server
            from loading the model, those that are too long are left out.
    """
    import tensorflow as tf

    path, texts = folder / WARMUP_FILE, texts or _texts_of(tokenizer)
    if options.long_text == "error":
        texts = _short_enough(texts, tokenizer, options.max_input_length)
    long_texts = _long_texts(texts, tokenizer, options)
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for log in _warmup_logs(model_name, tokenizer, texts, long_texts, options.documents):
            writer.write(log.SerializeToString(deterministic=True))


def seconds_to_load(folder):
    """Loads a SavedModel with its warm-up requests, as a server does, and measures the time.

    Args:
        folder: `pathlib.Path` of the SavedModel.

    Raises:
        tf.errors.OpError: If it cannot be loaded, or a request fails.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - the graph has its ops

    begin = time.monotonic()
    signatures = tf.saved_model.load(str(folder)).signatures
    run_warmup(
        folder,
        lambda signature, inputs: signatures[signature](
            **{name: tf.constant(value) for name, value in inputs.items()}
        ),
    )
    return time.monotonic() - begin


def _warmup_logs(model_name, tokenizer, texts, long_texts, documents):
    """Yields a `PredictionLog` for each signature and batch size, of short texts and of long."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    texts = sorted(texts, key=len)
    middle = len(texts) // 2
    halves = [half for half in (texts[:middle], texts[middle:]) if half]

    def log_of(signature, **inputs):
        log = prediction_log_pb2.PredictionLog()
        request = log.predict_log.request
        request.model_spec.name = model_name
        request.model_spec.signature_name = signature
        for name, value in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
        return log

    def batches(sizes):
        for size, half in itertools.product(sizes, halves):
            yield list(itertools.islice(itertools.cycle(half), size))

    for batch in batches(BATCH_SIZES):
        yield log_of("serving_default", text=batch)
    for batch in batches(_FEW_BATCH_SIZES):
        yield log_of("translate_nbest", text=batch)
        yield log_of("align", text=batch)
        yield log_of("score", source=batch, target=batch)
        rows = tf.ragged.constant(
            [[*ids, *tokenizer.source_ids] for ids in tokenizer(batch)], dtype=tf.int32
        )
        yield log_of("generate_ids", token_ids=rows.to_tensor().numpy())
        if documents:
            yield log_of("translate_document", text=["\n".join(batch)])
    for text in long_texts:
        yield log_of("serving_default", text=[text])
        yield log_of("translate_nbest", text=[text])


def _short_enough(texts, tokenizer, limit):
    """The texts with at most `limit` wordpieces on either side; an empty text if none is left."""
    lengths = zip(tokenizer(texts), tokenizer.of_targets()(texts), strict=True)
    kept = zip(texts, (max(map(len, sides)) for sides in lengths), strict=True)
    return [text for text, length in kept if length <= limit] or [""]


def _long_texts(texts, tokenizer, options):
    """A list of one text that is translated by sentence; empty if such a text is over the limit."""
    longest = longest_whole_text(tokenizer, options)
    if longest is None:
        return []
    joined = ""
    for text in itertools.islice(itertools.cycle(texts), longest):
        joined += f"{text.rstrip('.')}. "
        length = len(tokenizer(joined))
        if length + len(tokenizer.source_ids) > longest:
            return [joined] if length <= options.max_input_length else []
    return []


def _texts_of(tokenizer):
    """Makes texts of several lengths from words of the vocabulary."""
    pieces = map(tokenizer.id_to_token, range(tokenizer.vocabulary_size()))
    words = [piece[1:] for piece in pieces if piece[0] == "▁" and piece[1:].isalpha()]
    words = itertools.cycle(words or ["a"])
    return [" ".join(itertools.islice(words, length)) for length in _WORDS_OF_TEXTS]
