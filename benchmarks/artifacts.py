"""What systems load: models of random weights, exports, and copies in other formats.

Every maker runs in a process of its own, so that the measured processes hold no second framework:
`make_artifact` in the calling one, `python -m benchmarks.artifacts KIND MODEL TARGET` in the other.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.tasks import NUM_BEAMS


def make_artifact(kind, model, target):
    """Runs a maker in another process.

    Args:
        kind: A key of `MAKERS`.
        model: A model folder; for `"random_model"` the name of an architecture.
        target: The folder to make.

    Raises:
        RuntimeError: If it fails, with its last line.
    """
    backend = MAKERS[kind][0]
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.artifacts", kind, str(model), str(target)],
        env={**os.environ, "KERAS_BACKEND": backend, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    if process.returncode:
        last_line = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{kind}: {last_line}")


def build_random_model(preset, vocabulary_size=32_000, seed=1, **options):
    """A named architecture with random weights; its words are t4, t5, and so on.

    Args:
        preset: A key of `TransformerBackbone.presets`.
        vocabulary_size: Number of tokens.
        seed: Of the weights.
        **options: Other arguments of `TransformerBackbone`.

    Returns:
        A `TransformerSeq2SeqLM`.
    """
    import keras

    from aiayn_keras import (
        TransformerBackbone,
        TransformerSeq2SeqLM,
        TransformerSeq2SeqLMPreprocessor,
    )

    keras.utils.set_random_seed(seed)
    backbone = TransformerBackbone.from_preset(
        preset, load_weights=False, vocabulary_size=vocabulary_size, **options
    )
    preprocessor = TransformerSeq2SeqLMPreprocessor(word_tokenizer(vocabulary_size))
    model = TransformerSeq2SeqLM(backbone, preprocessor)
    model.compile()
    return model


def _write_random_model(preset, target):
    build_random_model(preset).save_to_preset(str(target))


def word_tokenizer(vocabulary_size):
    """A tokenizer whose token i is the word `t<i>`."""
    from sentencepiece import sentencepiece_model_pb2

    from aiayn_keras import TransformerTokenizer

    proto = sentencepiece_model_pb2.ModelProto()
    kinds = proto.SentencePiece
    specials = {"<pad>": kinds.CONTROL, "<unk>": kinds.UNKNOWN, "<s>": kinds.CONTROL}
    specials["</s>"] = kinds.CONTROL
    for piece, kind in specials.items():
        proto.pieces.add(piece=piece, score=0.0, type=kind)
    for i in range(len(specials), vocabulary_size):
        proto.pieces.add(piece=f"▁t{i}", score=-1.0, type=kinds.NORMAL)
    proto.trainer_spec.model_type = proto.trainer_spec.WORD
    proto.trainer_spec.vocab_size = vocabulary_size
    proto.trainer_spec.pad_id, proto.trainer_spec.unk_id = 0, 1
    proto.trainer_spec.bos_id, proto.trainer_spec.eos_id = 2, 3
    return TransformerTokenizer(proto=proto.SerializeToString())


def random_texts(num_texts, num_words, vocabulary_size=32_000, seed=0):
    """Texts of the words of `word_tokenizer`."""
    rows = np.random.default_rng(seed).integers(4, vocabulary_size, size=(num_texts, num_words))
    return [" ".join(f"t{i}" for i in row) for row in rows]


def _write_saved_model(model_folder, target):
    model = _load(model_folder)
    written = model.export(target / "versions", num_beams=NUM_BEAMS, length_penalty=0.0)
    for path in written.iterdir():
        path.rename(target / path.name)


def _write_ctranslate2(model_folder, target):
    from aiayn_keras.export.ctranslate2 import export_ctranslate2

    export_ctranslate2(_load(model_folder), target)


def _write_marian(model_folder, target):
    """Writes it, and holds it to our logits."""
    import torch

    from benchmarks.peers import build_marian, write_marian

    model = _load(model_folder)
    write_marian(model, target)
    copied = build_marian(target)
    random = np.random.default_rng(0)
    vocabulary_size = model.backbone.vocabulary_size
    sources = torch.from_numpy(random.integers(4, vocabulary_size, size=(3, 11)))
    targets = torch.from_numpy(random.integers(4, vocabulary_size, size=(3, 7)))
    source_mask = torch.ones_like(sources)
    source_mask[1, 5:] = 0
    with torch.no_grad():
        theirs = copied(input_ids=sources, attention_mask=source_mask, decoder_input_ids=targets)
        ours = model(
            {
                "encoder_token_ids": sources,
                "encoder_padding_mask": source_mask,
                "decoder_token_ids": targets,
                "decoder_padding_mask": torch.ones_like(targets),
            },
            training=False,
        )
    difference = float((theirs.logits - ours).abs().max())
    if difference > 1e-4:
        raise ValueError(f"Marian's logits differ by {difference:.2g} from ours.")


def _load(model_folder):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(model_folder))


# By kind: the Keras backend it runs on, and the function.
MAKERS = {
    "random_model": ("torch", _write_random_model),
    "saved_model": ("tensorflow", _write_saved_model),
    "ctranslate2": ("torch", _write_ctranslate2),
    "marian": ("torch", _write_marian),
}

if __name__ == "__main__":
    chosen, source, folder = sys.argv[1:]
    MAKERS[chosen][1](source, Path(folder))
