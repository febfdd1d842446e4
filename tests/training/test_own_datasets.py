"""`fit` on data sets that this package did not make, as the README shows."""

import keras
import numpy as np
import pytest

from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM, TransformerSeq2SeqLMPreprocessor
from aiayn_keras.data import PackedBatches, TokenPairs, generate_demo_pairs
from aiayn_keras.training.training_data import train_tokenizer
from tests.runs import small_recipe


@pytest.fixture(scope="module", name="text")
def demo_text():
    return generate_demo_pairs(64, 0, "train")


@pytest.fixture(name="model")
def small_model(text):
    sides = (lambda: iter(text.sources)), (lambda: iter(text.targets))
    tokenizer = train_tokenizer(small_recipe("tokenizer.vocabulary_size=120").tokenizer, sides, 64)
    backbone = TransformerBackbone(
        vocabulary_size=120, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=16
    )
    model = TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 32, 32))
    model.compile(jit_compile=False, weighted_metrics=[])
    return model


@pytest.mark.slow
def test_a_tf_data_set_of_strings(model, text):
    tf = pytest.importorskip("tensorflow")
    columns = {"encoder_text": list(text.sources), "decoder_text": list(text.targets)}
    dataset = tf.data.Dataset.from_tensor_slices(columns).shuffle(64, seed=1).batch(16)
    history = model.fit(dataset, epochs=1, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.slow
def test_rows_of_any_table(model, text):
    rows = [{"en": source, "de": target} for source, target in text]
    tokenizer = model.preprocessor.tokenizer
    pairs = TokenPairs(*[tokenizer([row[side] for row in rows]) for side in ("en", "de")])
    batches = PackedBatches(pairs, tokens_per_batch=512)
    learner = TransformerSeq2SeqLM(model.backbone)
    learner.compile(jit_compile=False, weighted_metrics=[])
    before = keras.ops.convert_to_numpy(model.trainable_variables[0])
    history = learner.fit(
        batches.to_iter_dataset(), steps_per_epoch=len(batches), shuffle=False, verbose=0
    )
    assert np.isfinite(history.history["loss"]).all()
    assert not np.allclose(before, keras.ops.convert_to_numpy(model.trainable_variables[0]))
