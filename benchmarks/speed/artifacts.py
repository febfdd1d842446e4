"""Models that systems load: random weights, exports, and copies in other formats.

Each maker runs in a process of its own, so that no measured process holds a second framework.
"""

from pathlib import Path

import numpy as np

from benchmarks.processes import Worker
from benchmarks.random_models import build_random_model
from benchmarks.speed.decode_systems import NUM_BEAMS

# Keras backends on which the makers run.
BACKENDS = {
    "random_model": "torch",
    "saved_model": "tensorflow",
    "ctranslate2": "torch",
    "marian": "torch",
}


def make_artifact(kind, model, target, checkout=None):
    """Runs a maker in another process.

    Args:
        kind: A key of `BACKENDS`.
        model: A model folder; for `"random_model"` the name of an architecture.
        target: The folder to make.
        checkout: Folder of another version of this package that makes it.

    Raises:
        WorkerError: If it fails.
    """
    log = Path(f"{target}.log")
    with Worker(log, BACKENDS[kind], checkout) as worker:
        worker.call(
            f"benchmarks.speed.artifacts:write_{kind}", model=str(model), target=str(target)
        )


def write_random_model(model, target):
    build_random_model(model).save_to_preset(target)


def write_saved_model(model, target):
    """Writes one version: `saved_model.pb` lies in the folder itself."""
    target = Path(target)
    written = _load(model).export(target / "versions", num_beams=NUM_BEAMS, length_penalty=0.0)
    for path in written.iterdir():
        path.rename(target / path.name)


def write_ctranslate2(model, target):
    _load(model).export(target, format="ctranslate2")


def write_marian(model, target):
    """Writes it, and holds it to our logits."""
    import torch

    from benchmarks.speed import decode_marian

    model = _load(model)
    decode_marian.write_marian(model, target)
    copied = decode_marian.build_marian(target)
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


def _load(model):
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(model)
