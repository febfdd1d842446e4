"""Trains on virtual devices: a process of its own, since devices are counted once in a process.

`python -m tests.training.many_devices OUTPUT COUNT NAME ...` trains a very small model in the ways
of `RUNS` that are named, on COUNT virtual CPU devices, and writes weights, losses and where the
query's weight lies to the JSON file OUTPUT.
"""

import json
import os
import sys

V = 20
UPDATES = 5

RUNS = {
    "one": (),
    "one_with_dropout": ("model.dropout=0.2",),
    "one_accumulating": ("optimizer.gradient_accumulation_steps=2",),
    "data_parallel": ("training.devices=data_parallel",),
    "data_parallel_with_dropout": ("training.devices=data_parallel", "model.dropout=0.2"),
    "data_parallel_accumulating": (
        "training.devices=data_parallel",
        "optimizer.gradient_accumulation_steps=2",
    ),
    "model_parallel": ("training.devices=model_parallel", "training.model_parallel_size=2"),
}


def make_virtual_devices(count):
    """Must come before anything is computed."""
    if os.environ["KERAS_BACKEND"] == "jax":
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
        return
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * count,
    )


def batches():
    """9 rows: long ones first, so that four devices have 60, 24, 6 and 0 real target tokens."""
    import numpy as np

    from aiayn_keras.data import TokenBatches, TokenPairs

    random = np.random.default_rng(3)
    lengths = ([19] * 4 + [1] * 5) * 2
    sides = [[random.integers(4, V, length).tolist() for length in lengths] for _ in range(2)]
    return TokenBatches(TokenPairs(*sides), tokens_per_batch=180, max_shapes=1, shuffle=False)


def trained(name):
    """Weights, losses and the layout of one weight after some updates."""
    import keras

    from aiayn_keras.data import ProcessRows, UpdateBatches
    from tests.runs import small_recipe

    recipe = small_recipe(
        "model.dropout=0.0", f"tokenizer.vocabulary_size={V}", "training.jit_compile=null",
        *RUNS[name],
    )  # fmt: skip
    devices = recipe.open_devices()
    count = recipe.optimizer.gradient_accumulation_steps
    sequence = UpdateBatches(batches(), count)
    keras.utils.set_random_seed(5)
    with devices.scope():
        model = recipe.build_model(V)
        history = model.fit(
            sequence.to_iter_dataset().map(ProcessRows(devices.num_models)),
            steps_per_epoch=count,
            epochs=UPDATES,
            shuffle=False,
            verbose=0,
        )
    query = model.backbone.encoder_blocks[0].self_attention.query_dense.kernel.value
    return {
        "weights": [keras.ops.convert_to_numpy(v).tolist() for v in model.trainable_variables],
        "losses": history.history["loss"],
        "query_shapes": [list(s.data.shape) for s in getattr(query, "addressable_shards", ())],
    }


if __name__ == "__main__":
    output, count, *names = sys.argv[1:]
    make_virtual_devices(int(count))
    results = {name: trained(name) for name in names}
    with open(output, "w", encoding="utf-8") as file:
        json.dump(results, file)
