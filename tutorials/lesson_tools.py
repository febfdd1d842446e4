"""Helpers of the lessons: what would hide a cell's idea."""

import contextlib

import keras
import numpy as np
from keras import ops

from aiayn_keras.backend import compile_inference
from aiayn_keras.decoding.beam_search import SearchInputs, beam_search
from aiayn_keras.decoding.cached_decoding import ForeignCache, start_decoding
from aiayn_keras.decoding.search_options import SearchOptions


def losses_of_updates(model, inputs, labels, batch_size, epochs):
    """Trains a compiled model on the batches in their order, without shuffling.

    Args:
        model: A compiled `keras.Model`.
        inputs: An array, or a list or dictionary of arrays, whose first axis is the sentence.
        labels: Array with the same first axis, whose length is a multiple of `batch_size`.
        batch_size: Sentences in an update.
        epochs: How often every sentence is seen.

    Returns:
        Float32 array of the loss of each batch, before the update that it makes.

    Raises:
        ValueError: If the batches cannot all have the same size.
    """
    if len(labels) % batch_size:
        raise ValueError(
            "The number of sentences must be a multiple of `batch_size`. "
            f"Received: {len(labels)} sentences, batch_size={batch_size}."
        )
    losses = []
    for batch in np.split(np.arange(len(labels)), len(labels) // batch_size) * epochs:
        x = keras.tree.map_structure(lambda array, batch=batch: array[batch], inputs)
        losses.append(model.train_on_batch(x, labels[batch], return_dict=True)["loss"])
    return np.array(losses, "float32")


@contextlib.contextmanager
def head_off(attention, head):
    """Switches a head off inside a `with` block, by setting its rows of W_O to zero.

    Args:
        attention: A built `MultiHeadAttention`.
        head: Number of the head, from 0.

    Raises:
        ValueError: If `head` is out of range.
    """
    if not 0 <= head < attention.num_heads:
        raise ValueError(
            f"`head` must be at least 0 and at most {attention.num_heads - 1}, since heads are "
            f"counted from 0. Received: head={head}."
        )
    kernel = attention.output_dense.kernel
    trained, width = ops.convert_to_numpy(kernel), kernel.shape[0] // attention.num_heads
    without = trained.copy()
    without[head * width : (head + 1) * width] = 0
    kernel.assign(without)
    try:
        yield
    finally:
        kernel.assign(trained)


def forced_searches(model):
    """Makes the same greedy search twice, without a cache and with one; both are compiled.

    The end token is forbidden until the last piece, so a search writes as many pieces as it is
    asked for.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.

    Returns:
        Dictionary with `"whole prefix"`, which runs the decoder over all that is written at each
        step, and `"cache"`: functions of source ids `(B, S)`, without padding, and a number of
        pieces T, that return ids `(B, T + 1)`, the start token first and the end token last.
    """
    backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
    forbidden = (tokenizer.pad_token_id, tokenizer.end_token_id)

    def next_slowly(token_ids, cache, index):
        memory, prefix = cache.rows, token_ids[:, :index]
        masks = ops.ones_like(memory[:, :, 0]), ops.ones_like(prefix)
        hidden = backbone.decode(memory, masks[0], prefix, masks[1], training=False)[:, -1]
        return backbone.token_embedding(hidden, reverse=True), hidden, cache

    def search(next_token, cache, prompt):
        options, end = SearchOptions(num_beams=1, length_penalty=0.0), tokenizer.end_token_id
        is_given = prompt > 0
        inputs = SearchInputs(
            next_token, cache, prompt, is_given, options, end, forbidden_token_ids=forbidden
        )
        return beam_search(inputs)[0]

    def slowly(source, prompt):
        memory = backbone.encode(source, ops.ones_like(source), training=False)
        return search(next_slowly, ForeignCache(memory), prompt)

    def with_cache(source, prompt):
        length = ops.shape(prompt)[1]
        step, cache = start_decoding(backbone, source, ops.ones_like(source), length, num_beams=1)
        return search(step, cache, prompt)

    def of_length(function):
        compiled = compile_inference(function, model)

        def write(source, num_pieces):
            prompt = np.zeros((len(source), num_pieces + 1), "int32")
            prompt[:, 0] = tokenizer.start_token_id
            return ops.convert_to_numpy(compiled(source, prompt))[:, 0]

        return write

    return {"whole prefix": of_length(slowly), "cache": of_length(with_cache)}
