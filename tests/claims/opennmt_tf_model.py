"""Makes random models with OpenNMT-tf itself; `tests.claims.tensorflow_toolkits` runs it.

Run with `python FILE FOLDER` where OpenNMT-tf is installed. Each subfolder that it makes holds a
checkpoint as OpenNMT-tf saves it, its vocabularies, and `expected.npz`: the logits of translations
and the texts of its greedy and beam searches.
"""

import json
import sys
from pathlib import Path

import numpy as np
import opennmt
import tensorflow as tf

WORDS = [f"w{i}￭" if i % 3 == 0 else f"w{i}" for i in range(90)]
MAX_TOKENS = 12
SIZES = {"num_layers": 2, "num_units": 32, "num_heads": 4, "ffn_inner_dim": 48}
SHARING = opennmt.models.EmbeddingsSharingLevel
MODELS = {
    "separate": {},
    "shared": {"share_embeddings": SHARING.ALL},
    "shared-inputs": {
        "share_embeddings": SHARING.SOURCE_TARGET_INPUT,
        "position_encoder_class": lambda: opennmt.layers.PositionEmbedder(maximum_position=60),
    },
    "post-norm": {
        "share_embeddings": SHARING.TARGET,
        "pre_norm": False,
        "mha_bias": False,
        "output_layer_bias": False,
    },
    "scaling-nmt": {"share_embeddings": SHARING.AUTO, "pre_norm": False, "ffn_dropout": 0},
}
SOURCE_ENDS = ("scaling-nmt",)


def write_vocabularies(folder, is_one):
    paths = []
    for name, words in (("source", WORDS), ("target", WORDS if is_one else WORDS[::-1][:70])):
        path = folder / f"{'shared' if is_one else name}.vocab"
        lines = ["<blank>", "<s>", "</s>", *words]
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        paths.append(str(path))
    return paths


def adjust_output(model):
    """Lets translations end, and hold nothing that our search never writes.

    That is padding, the start token and the unknown one.
    """
    output = model.decoder.output_layer
    never = np.array([0, 1, output.units - 1])
    for matrix, axis in ((output.kernel, int(not output.transpose)), (output.bias, 0)):
        if matrix is not None:
            values = matrix.numpy()
            rows = np.moveaxis(values, axis, 0)
            rows[never] = -9.0 * (values.ndim == 1)
            rows[2] = 3.0 if values.ndim == 1 else 1.5 * rows[2]
            matrix.assign(values)


def make(folder, name, options):
    folder.mkdir()
    random = np.random.default_rng(len(name))
    one_vocabulary = (SHARING.ALL, SHARING.SOURCE_TARGET_INPUT, SHARING.AUTO)
    paths = write_vocabularies(folder, options.get("share_embeddings") in one_vocabulary)
    model = opennmt.models.Transformer(**SIZES, **options)
    data = {"source_vocabulary": paths[0], "target_vocabulary": paths[1]}
    if name in SOURCE_ENDS:
        data["source_sequence_controls"] = {"end": True}
    model.initialize(data, params={"maximum_decoding_length": MAX_TOKENS})
    optimizer = tf.keras.optimizers.legacy.Adam()
    model.create_variables(optimizer=optimizer)
    for variable in model.trainable_variables:
        scale = 0.3 if len(variable.shape) == 1 else 2.0 * SIZES["num_units"] ** -0.5
        values = scale * random.standard_normal(variable.shape)
        variable.assign(values + ("gamma" in variable.name))
    adjust_output(model)
    opennmt.utils.checkpoint.Checkpoint(model, optimizer, model_dir=str(folder)).save(step=5)
    sources = [" ".join(random.choice(WORDS, random.integers(3, 12))) for _ in range(20)]
    sources[0] += " nosuchword"
    targets_of = Path(paths[1]).read_text("utf-8").split()[3:]
    targets = [" ".join(random.choice(targets_of, 8)) for _ in sources]
    features, labels = (
        inputter.make_features(tf.constant(texts))
        for inputter, texts in (
            (model.features_inputter, sources),
            (model.labels_inputter, targets),
        )
    )
    logits = model(features, labels)[0]["logits"]
    texts = {}
    for num_beams in (1, 4):
        model.params["beam_width"] = num_beams
        found = model.infer(features)
        texts[str(num_beams)] = [
            b" ".join(tokens[0][: lengths[0]]).decode()
            for tokens, lengths in zip(
                *(found[key].numpy() for key in ("tokens", "length")), strict=True
            )
        ]
    (folder / "expected.json").write_text(
        json.dumps(
            {
                "vocabularies": [Path(path).name for path in paths],
                "options": {
                    "num_heads": SIZES["num_heads"],
                    "source_end": name in SOURCE_ENDS,
                },
                "sources": sources,
                "targets": targets,
                "translations": texts,
                "most_tokens": MAX_TOKENS,
                "end": 2,
                "first": 3,
            }
        )
    )
    np.save(folder / "logits.npy", logits.numpy())


if __name__ == "__main__":
    for model_name, model_options in MODELS.items():
        make(Path(sys.argv[1]) / model_name, model_name, model_options)
