"""Makes random models with tensor2tensor itself; `tests.claims.tensorflow_toolkits` runs it.

Run with `python FILE FOLDER` where tensor2tensor is installed, with a TensorFlow that still has
estimators. Packages that its `transformer` does not call need not be there. Each subfolder that it
makes holds a checkpoint as TensorFlow's saver writes it, `hparams.json`, a vocabulary that its own
`SubwordTextEncoder` builds, and `expected.json`: what its greedy and beam searches find.
"""

import importlib.util
import json
import sys
import types
import unittest.mock
from pathlib import Path

import numpy as np

for module_name in ("kfac", "tensorflow_probability", "tensorflow_datasets"):
    sys.modules.setdefault(module_name, unittest.mock.MagicMock())
MODELS_PACKAGE = types.ModuleType("tensor2tensor.models")  # without all models but this one
FOLDER = importlib.util.find_spec("tensor2tensor").submodule_search_locations[0]
MODELS_PACKAGE.__path__ = [f"{FOLDER}/models"]
sys.modules[MODELS_PACKAGE.__name__] = MODELS_PACKAGE

import tensorflow.compat.v1 as tf  # noqa: E402

tf.disable_v2_behavior()  # or its layers name their variables in another way

from tensor2tensor.data_generators import problem_hparams, text_encoder  # noqa: E402
from tensor2tensor.models import transformer  # noqa: E402
from tensor2tensor.utils import hparams_lib  # noqa: E402

SPACE = 3
EXTRA_TOKENS = 2
CORPUS = Path(__file__).read_text("utf-8").splitlines()
SIZES = {"hidden_size": 32, "filter_size": 48, "num_heads": 4, "num_hidden_layers": 2}
MODELS = {
    "base-v3": (transformer.transformer_base_v3, {}),
    "base-v1": (transformer.transformer_base_v1, {}),
    "base-v1-separate": (
        transformer.transformer_base_v1,
        {"shared_embedding_and_softmax_weights": False, "symbol_modality_num_shards": 1},
    ),
    "padded": (
        transformer.transformer_base_v2,
        {"vocab_divisor": 128, "symbol_modality_num_shards": 1},
    ),
}


def make(folder, encoder, hparams, settings):
    folder.mkdir()
    for key, value in {**SIZES, **settings}.items():
        hparams.set_hparam(key, value)
    encoder.store_to_file(str(folder / "vocab.subwords"))
    random = np.random.default_rng(1)
    sources = [[*random.integers(2, encoder.vocab_size, 9).tolist(), 1] for _ in range(20)]
    targets = [random.integers(2, encoder.vocab_size, 8).tolist() for _ in sources]
    with tf.Graph().as_default(), tf.Session() as session:
        hparams.problem_hparams = problem_hparams.test_problem_hparams(
            encoder.vocab_size, encoder.vocab_size, hparams
        )
        write_hparams(hparams, folder / "hparams.json")
        model = transformer.Transformer(
            hparams, tf.estimator.ModeKeys.EVAL, hparams.problem_hparams
        )
        features = {
            "inputs": tf.constant(sources)[:, :, None, None],
            "targets": tf.constant([[*target, 1] for target in targets])[:, :, None, None],
            "target_space_id": tf.constant(SPACE),
        }
        logits, _ = model(features)
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            model.set_mode(tf.estimator.ModeKeys.PREDICT)
            inputs = {name: features[name] for name in ("inputs", "target_space_id")}
            found = {
                "1": model.infer(dict(inputs), decode_length=EXTRA_TOKENS)["outputs"],
                "4": model.infer(dict(inputs), decode_length=EXTRA_TOKENS, beam_size=4, alpha=0.6)[
                    "outputs"
                ],
            }
        tf.train.create_global_step()
        for variable in tf.global_variables():
            if variable.dtype.base_dtype != tf.float32:
                variable.initializer.run()
                continue
            scale = 0.3 if len(variable.shape) == 1 else 1.5 * int(variable.shape[0]) ** -0.5
            if "symbol_modality" in variable.name:
                scale = 0.4
            values = scale * random.standard_normal(variable.shape.as_list())
            if "symbol_modality" in variable.name and "weights_0" in variable.name:
                values[0] = 0  # padding, which our search never writes
                values[1] *= 3.0  # the end
                values[encoder.vocab_size :] = 0
            variable.load(values + ("scale" in variable.name), session)
        tf.train.Saver().save(session, str(folder / "model.ckpt"), global_step=7)
        logits, found = session.run([logits, found])
    strings = [text_encoder_strings(encoder, ids) for ids in sources]
    (folder / "expected.json").write_text(
        json.dumps(
            {
                "vocabularies": ["vocab.subwords"],
                "options": {"target_space": SPACE},
                "sources": [tokens[:-1] for tokens in strings],
                "targets": [text_encoder_strings(encoder, ids) for ids in targets],
                "translations": {
                    key: [text_encoder_strings(encoder, cut(ids)) for ids in rows.tolist()]
                    for key, rows in found.items()
                },
                "end": 1,
                "first": 2,
                "most_tokens": len(sources[0]) + EXTRA_TOKENS,
            }
        )
    )
    np.save(folder / "logits.npy", logits[:, :, 0, 0])


def cut(ids):
    return ids[: ids.index(1)] if 1 in ids else ids


def text_encoder_strings(encoder, ids):
    return [encoder.all_subtoken_strings[i] for i in ids]


def write_hparams(hparams, path):
    """As `tensor2tensor/bin/t2t_trainer.py` does."""
    copy = hparams_lib.copy_hparams(hparams)
    for name in ("problem_hparams", "modality", "problem"):
        if name in copy:
            copy.del_hparam(name)
    path.write_text(copy.to_json(indent=0, sort_keys=True))


if __name__ == "__main__":
    subwords = text_encoder.SubwordTextEncoder.build_from_generator(CORPUS, 200)
    for model_name, (make_hparams, model_settings) in MODELS.items():
        make(Path(sys.argv[1]) / model_name, subwords, make_hparams(), model_settings)
