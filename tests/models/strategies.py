"""Trains from strings in the strategies of Keras' users, on virtual devices.

`python -m tests.models.strategies OUTPUT COUNT` trains a very small model on one device and on
COUNT virtual CPU devices, and writes losses, metrics and weights to the JSON file OUTPUT. A process
of its own, since devices are counted once in a process.
"""

import json
import sys

from tests.number_words import number_words, train_tokenizer
from tests.training.many_devices import make_virtual_devices


def trained(tokenizer):
    import keras

    import aiayn_keras as ak

    # On TensorFlow, the last of the batches of 8 is of 1 row, and some devices have none. JAX
    # divides rows evenly or not at all.
    num_rows = 17 if keras.config.backend() == "tensorflow" else 20
    sources, targets = zip(*number_words(num_rows, 5), strict=True)
    text = {"encoder_text": list(sources), "decoder_text": list(targets)}

    keras.utils.set_random_seed(5)
    backbone = ak.TransformerBackbone(96, 1, 2, 16, 24, dropout=0.0, max_sequence_length=8)
    model = ak.TransformerSeq2SeqLM(backbone, ak.TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))
    model.compile(keras.optimizers.Adam(0.01))
    history = model.fit(text, batch_size=8, epochs=2, verbose=0)
    measured = model.evaluate(text, batch_size=8, verbose=0, return_dict=True)
    x, y, _ = model.preprocessor(text)
    bare = ak.TransformerSeq2SeqLM(backbone)
    bare.compile(keras.optimizers.Adam(0.01))
    unweighted = bare.fit(x, y, batch_size=8, shuffle=False, verbose=0).history["loss"]
    return {
        "unweighted": unweighted,
        "history": history.history,
        "measured": measured,
        "logits": model.predict(text, batch_size=8, verbose=0)[:, 0].tolist(),
        "translations": [each.text for each in model.translate(text["encoder_text"][:2], 2)],
        "weights": [keras.ops.convert_to_numpy(v).tolist() for v in model.trainable_variables],
    }


def scope(count):
    """A context in which Keras and TensorFlow build and train models on all devices."""
    import keras

    if keras.config.backend() == "jax":
        assert len(keras.distribution.list_devices()) == count
        return keras.distribution.DataParallel(auto_shard_dataset=False).scope()
    import tensorflow as tf

    devices = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert len(devices) == count
    return tf.distribute.MirroredStrategy(devices).scope()


if __name__ == "__main__":
    output, count = sys.argv[1:]
    make_virtual_devices(int(count))
    one = trained(train_tokenizer())
    with scope(int(count)):
        many = trained(train_tokenizer())
    with open(output, "w", encoding="utf-8") as file:
        json.dump({"one": one, "many": many}, file)
