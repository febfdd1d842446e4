"""A search on JAX whose sentences are divided among devices finds what one device finds.

It runs in a process of its own, since devices are counted once in a process.
"""

import json
import subprocess
import sys
from pathlib import Path

import keras
import pytest

NUM_DEVICES = 2
PROGRAM = f"""
import json

from tests.training.many_devices import make_virtual_devices

make_virtual_devices({NUM_DEVICES})

import keras

import aiayn_keras as ak
from tests.number_words import number_words, train_tokenizer

tokenizer = train_tokenizer()
sources = [source for source, _ in number_words(2, 5)]


def translations():
    keras.utils.set_random_seed(5)
    backbone = ak.TransformerBackbone(96, 1, 2, 16, 24, max_sequence_length=8)
    model = ak.TransformerSeq2SeqLM(backbone, ak.TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))
    return [[h.text for h in each.hypotheses] for each in model.translate(sources, 2)]


one = translations()
assert len(keras.distribution.list_devices()) == {NUM_DEVICES}
with keras.distribution.DataParallel(auto_shard_dataset=False).scope():
    print(json.dumps([one, translations()]))
"""


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "jax", reason="Only JAX divides a search.")
def test_two_devices_find_what_one_finds():
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    one, many = json.loads(result.stdout)
    assert all(any(texts) for texts in one)
    assert many == one
