"""This package as a system: in memory, as a SavedModel, and through KerasHub's `generate`.

Only public names of the package are used, so that a different version of it can run here.
"""

import inspect
import os

from benchmarks.speed.batches import count_words, map_by_length
from benchmarks.speed.decode_systems import EXTRA_LENGTH, NUM_BEAMS, Translator


def load_ours(task):
    """`model.translate` with our own search."""
    return _load_with_engine(task, "keras")


def load_engine(task):
    """`model.translate` with CTranslate2 as its engine."""
    is_int8 = task.precision == "int8"
    return _load_with_engine(task, f"ctranslate2{'-int8' if is_int8 else ''}")


def _load_with_engine(task, engine):
    import keras

    from aiayn_keras import TransformerSeq2SeqLM

    if task.has_many_batches and keras.config.backend() == "tensorflow":
        use_one_core_per_batch()  # as the command `aiayn-keras translate` does
    dtype = "float32" if task.precision == "int8" else task.precision
    model = TransformerSeq2SeqLM.from_preset(task.model, dtype=dtype)
    options = {"num_beams": NUM_BEAMS, "length_penalty": 0.0, "batch_size": task.batch_size}
    if "engine" in inspect.signature(model.translate).parameters:  # older versions have one
        options["engine"] = engine
    if task.forced_length is not None:
        options |= {"min_length": task.forced_length, "max_length": task.forced_length}

    def translate(texts):
        return [translation.text for translation in model.translate(texts, **options)]

    return Translator(translate)


def use_one_core_per_batch():
    """Lets TensorFlow run every operation on one core, so that several batches run at once."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)


def load_kerashub(task):
    """`generate` with KerasHub's own beam search, whose shapes are fixed by the longest text."""
    import keras_hub

    from aiayn_keras import TransformerSeq2SeqLM, TransformerSeq2SeqLMPreprocessor

    model = TransformerSeq2SeqLM.from_preset(task.model, dtype=task.precision)
    tokenizer = model.preprocessor.tokenizer
    source_length = max(map(len, tokenizer(list(task.texts)))) + 1
    if task.forced_length is None:
        options = {"max_length": source_length + EXTRA_LENGTH}
    else:  # without stop token it goes on to the end; the start token counts
        options = {"max_length": task.forced_length + 1, "stop_token_ids": None}
    model = TransformerSeq2SeqLM(
        model.backbone,
        TransformerSeq2SeqLMPreprocessor(tokenizer, source_length, options["max_length"]),
    )
    model.compile(sampler=keras_hub.samplers.BeamSampler(num_beams=NUM_BEAMS))

    def translate(texts):
        return map_by_length(
            lambda batch: model.generate(batch, **options),
            texts,
            count_words(texts),
            task.batch_size,
        )

    return Translator(translate, "no end before the limit" if task.forced_length else "")


def load_savedmodel(task):
    """The export, by TensorFlow alone."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 - the graph has its ops

    if task.forced_length is not None:
        raise ValueError("the exported signatures have no option for a forced length")
    threads = os.cpu_count() if task.has_many_batches else 1
    if threads > 1:
        use_one_core_per_batch()
    loaded = tf.saved_model.load(task.artifact)
    serve = loaded.signatures["serving_default"]

    def translate_batch(texts):
        translations = serve(text=tf.constant(texts))["translation"].numpy()
        return [translation.decode("utf-8") for translation in translations]

    def translate(texts):
        return map_by_length(translate_batch, texts, count_words(texts), task.batch_size, threads)

    # The signature holds on to variables of what was loaded.
    translate.loaded = loaded
    return Translator(translate, f"{threads} requests at once" if threads > 1 else "")
