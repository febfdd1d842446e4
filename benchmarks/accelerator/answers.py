"""What a backend computes on this machine's device, beside what TensorFlow computed on a CPU.

`references.json` holds TensorFlow's answers, written by `python -m benchmarks.accelerator
--write-references`: logits of the included model for some sentence pairs, its translations of
`benchmarks/quality/typed_texts.txt` with their scores, and the losses of a small training. Float32
throughout, with products in full float32.
"""

import json
from pathlib import Path

import numpy as np

from benchmarks.processes import ROOT

MODEL = ROOT / "saved_models" / "tatoeba_en_es_keras"
TEXTS = ROOT / "benchmarks" / "quality" / "typed_texts.txt"
REFERENCES = Path(__file__).with_name("references.json")
PAIRS = (
    ("Where is the kitchen?", "¿Dónde está la cocina?"),
    ("The old man bought a red car last week.", "El anciano compró un coche rojo."),
    ("I like tea.", "Me gusta el té."),
    ("She said that she would come, but she did not.", "Dijo que vendría, pero no vino."),
)
LOGIT_STRIDE = 100  # of every hundredth token, the logits are stored
NUM_UPDATES = 200

MAX_LOGIT_DIFFERENCE = 1e-3
MAX_SCORE_DIFFERENCE = 1e-3  # nats
MIN_EQUAL_SHARE = 0.99  # of translations; two hypotheses may have almost the same score
MAX_LOSS_DIFFERENCE = 0.01  # as a share of the loss; a training amplifies rounding


def use_float32_products():
    """Lets the backend multiply float32 in full, not in TF32, which GPUs may do by default."""
    import keras

    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_tensor_float_32_execution(False)
    elif keras.config.backend() == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "float32")
    else:
        import torch

        torch.set_float32_matmul_precision("highest")


def compute_answers(num_texts=None, updates=NUM_UPDATES):
    """The answers of the backend that runs.

    Args:
        num_texts: Number of texts to translate; None for all.
        updates: Number of updates of the training.

    Returns:
        Dictionary of `logits`, nested lists; `translations`, a list of strings; `scores`, a list
        of their log-probabilities in nats, and `losses`, in nats a token.
    """
    from aiayn_keras import TransformerSeq2SeqLM

    use_float32_products()
    model = TransformerSeq2SeqLM.from_preset(str(MODEL))
    texts = TEXTS.read_text(encoding="utf-8").splitlines()[:num_texts]
    found = [each.hypotheses[0] for each in model.translate(texts, engine="keras", num_beams=4)]
    return {
        "logits": logits_of(model),
        "translations": [hypothesis.text for hypothesis in found],
        "scores": [hypothesis.score for hypothesis in found],
        "losses": train_losses(model.preprocessor.tokenizer, updates),
    }


def logits_of(model):
    """Logits at every position of the targets of `PAIRS`."""
    from keras import ops

    x, _, _ = model.preprocessor(tuple(map(list, zip(*PAIRS, strict=True))))
    logits = ops.convert_to_numpy(model(x, training=False))
    lengths = np.asarray(x["decoder_padding_mask"]).sum(axis=1)
    return [row[:n, ::LOGIT_STRIDE].tolist() for row, n in zip(logits, lengths, strict=True)]


def train_losses(tokenizer, updates):
    """The loss at every update of a small model's training by `fit`, without dropout.

    The initial weights are NumPy's, as every backend draws different random numbers.
    """
    import keras

    from aiayn_keras import TransformerBackbone, TransformerSeq2SeqLM
    from aiayn_keras.data import PackedBatches, TokenPairs, UpdateBatches, generate_demo_pairs

    pairs = generate_demo_pairs(2000, 0, "train")
    sides = [tokenizer([pair[side] for pair in pairs]) for side in (0, 1)]
    batches = UpdateBatches(PackedBatches(TokenPairs(*sides), tokens_per_batch=1024))
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 2, num_heads=4, hidden_dim=64, intermediate_dim=128, dropout=0
    )
    random = np.random.default_rng(0)
    for weight in backbone.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(random.normal(0, weight.shape[-1] ** -0.5, weight.shape))
    model = TransformerSeq2SeqLM(backbone)
    model.compile(optimizer=keras.optimizers.Adam(1e-3, 0.9, 0.98, 1e-9), weighted_metrics=[])
    endless = (batches[number % len(batches)] for number in range(updates))
    history = model.fit(endless, epochs=updates, steps_per_epoch=1, verbose=0)
    return history.history["loss"]


def write_references():
    """Computes and stores the answers of TensorFlow on this machine's CPU."""
    answers = compute_answers()
    for name in ("scores", "losses"):
        answers[name] = [round(number, 6) for number in answers[name]]
    answers["logits"] = np.round(np.concatenate(answers["logits"]), 4).tolist()
    text = json.dumps(answers, ensure_ascii=False, indent=0)
    REFERENCES.write_text(text + "\n", encoding="utf-8")


def compare(answers):
    """Compares answers with the stored ones, as far as there are any.

    Returns:
        Dictionary of `logit_difference`, `texts`, `equal`, `score_difference` (of equal
        translations), `updates`, `loss_difference` (as a share) and `agrees`.
    """
    stored = json.loads(REFERENCES.read_text(encoding="utf-8"))
    logits = np.concatenate(answers["logits"])
    number, updates = len(answers["translations"]), len(answers["losses"])
    found = list(zip(answers["translations"], answers["scores"], strict=True))
    expected = list(zip(stored["translations"], stored["scores"], strict=True))[:number]
    scores = [
        (score, other)
        for (text, score), (wanted, other) in zip(found, expected, strict=True)
        if text == wanted
    ]
    losses = np.asarray(answers["losses"]) / stored["losses"][:updates] - 1
    result = {
        "logit_difference": float(np.abs(logits - stored["logits"]).max()),
        "texts": number,
        "equal": len(scores),
        "score_difference": float(np.abs(np.diff(scores)).max(initial=0)),
        "updates": updates,
        "loss_difference": float(np.abs(losses).max()),
    }
    # Written so that NaN does not agree.
    agrees = (
        result["logit_difference"] <= MAX_LOGIT_DIFFERENCE
        and result["equal"] >= MIN_EQUAL_SHARE * number
        and result["score_difference"] <= MAX_SCORE_DIFFERENCE
        and result["loss_difference"] <= MAX_LOSS_DIFFERENCE
    )
    return result | {"agrees": agrees}
