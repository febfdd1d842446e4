"""A forked process says why it cannot compute, where it would wait forever."""

import json
import os
import signal
import warnings

import keras
import numpy as np
import pytest

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM, TransformerSeq2SeqLMPreprocessor
from aiayn_keras.backend import begin_computing, compilation
from aiayn_keras.decoding.scoring import next_log_probs
from tests.number_words import train_tokenizer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork.")

TEXTS = ["eins zwei"]
PAIRS = {"encoder_text": TEXTS, "decoder_text": ["one two"]}
NAMES = "encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask"
INPUTS = {name: np.ones((1, 4), "int32") for name in NAMES}
USES = {
    "call": lambda model: model(INPUTS),
    "fit": lambda model: model.fit(PAIRS),
    "evaluate": lambda model: model.evaluate(PAIRS),
    "predict": lambda model: model.predict(PAIRS),
    "train_on_batch": lambda model: model.train_on_batch(PAIRS),
    "test_on_batch": lambda model: model.test_on_batch(PAIRS),
    "predict_on_batch": lambda model: model.predict_on_batch(PAIRS),
    "translate": lambda model: model.translate(TEXTS),
    "generate": lambda model: model.generate(TEXTS),
    "score": lambda model: model.score(TEXTS, ["one two"]),
    "attention_maps": lambda model: model.attention_maps(TEXTS[0], "one two"),
    "record_search": lambda model: model.record_search(TEXTS[0]),
    "next_log_probs": lambda model: next_log_probs(
        model.backbone, model.preprocessor.tokenizer, TEXTS[0], []
    ),
}


@pytest.fixture(scope="module")
def model():
    tokenizer = train_tokenizer()
    backbone = TransformerBackbone(tokenizer.vocabulary_size(), 1, 2, 8, 12, max_sequence_length=9)
    model = TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))
    model(INPUTS)
    return model


def in_fork(function):
    """Result of a function in a forked process, or an error if it does not end in 20 s."""
    reader, writer = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # JAX and Python warn of what is tested
        process = os.fork()
    if process == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        try:
            os.write(writer, json.dumps(function()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        result = file.read()
    assert os.waitpid(process, 0)[1] == 0, "it did not end"
    return json.loads(result)


def error_of(use, model):
    try:
        use(model)
    except RuntimeError as error:
        return str(error)
    return "none"


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_fork_of_a_process_that_has_used_a_model_is_refused(use, model):
    message = in_fork(lambda: error_of(use, model))
    assert f"was forked after process {os.getpid()} had built or used a model" in message
    assert keras.config.backend() in message
    assert "spawn" in message


def test_a_fork_from_before_any_model_computes_and_so_does_its_parent(monkeypatch):
    monkeypatch.setattr(compilation, "_first_process", None)
    assert in_fork(begin_computing) is None
    begin_computing()
    assert "had built" in in_fork(lambda: error_of(lambda _: begin_computing(), None))


def test_a_built_model_counts_where_building_starts_threads(monkeypatch):
    monkeypatch.setattr(compilation, "_first_process", None)
    TransformerBackbone(9, 1, 1, 4, 4)
    message = in_fork(lambda: error_of(lambda _: begin_computing(), None))
    assert ("had built" in message) is (keras.config.backend() != "torch")


def test_a_fork_that_uses_no_model_is_left_alone(model):
    assert in_fork(os.getpid) != os.getpid()
