"""Recipe cards for the paper's own experiment, WMT14 English-German, which was not run here."""

from aiayn_keras.training import load_recipe
from benchmarks.report import markdown_table
from benchmarks.tpu.chips import PEAK_FLOPS
from experiments.prose import paragraph

PAPER_FLOPS = {"base": 3.3e18, "big": 2.3e19}
"""Operations per training in the paper's Table 2, English to German."""

P100 = 9.5e12
"""Operations per second that the paper assumes a P100 sustains (footnote 5)."""

SHARE_OF_PEAK = 0.3
"""Assumed share of its half-precision peak that a newer device sustains."""

DEVICES = {
    "8 NVIDIA P100, the paper's": 8 * P100,
    "1 NVIDIA P100": P100,
    "1 NVIDIA T4": SHARE_OF_PEAK * PEAK_FLOPS["Tesla T4"],
    "1 NVIDIA A100": SHARE_OF_PEAK * PEAK_FLOPS["NVIDIA A100"],
    "1 NVIDIA H100": SHARE_OF_PEAK * PEAK_FLOPS["NVIDIA H100"],
    "4 TPU v5e": 4 * SHARE_OF_PEAK * PEAK_FLOPS["TPU v5 lite"],
}


def hours(size, device):
    """Computes the hours of a training from the paper's operations.

    Args:
        size: "base" or "big".
        device: A key of `DEVICES`.
    """
    return PAPER_FLOPS[size] / DEVICES[device] / 3600


def section(cpu_tokens_per_second):
    """Markdown of both cards.

    Args:
        cpu_tokens_per_second: Target tokens per second when training the base model on a CPU.
    """
    cards = {size: _card(size) for size in PAPER_FLOPS}
    fields = [[name, *(card[name] for card in cards.values())] for name in cards["base"]]
    rows = [
        [device, *(f"{hours(size, device):,.1f}" for size in PAPER_FLOPS)] for device in DEVICES
    ]
    table = markdown_table(["device", "base, hours", "big, hours"], rows)
    recipe = load_recipe("wmt14_en_de_base")
    tokens = recipe.training.updates * recipe.batches.tokens_per_batch
    days = tokens / cpu_tokens_per_second / 86_400
    first = """**Not run**: neither the corpus nor a suitable device was available where this was
    written. Both recipes need the 4.5 million sentence pairs of WMT14 English-German
    (statmt.org/wmt14), newstest2013 for choosing settings and newstest2014 for reporting, as plain
    text in the files that the recipes name. They also need time. The paper's Table 2 gives
    3.3·10¹⁸ (base) and 2.3·10¹⁹ operations (big) per training, which is the training time times
    the sustained speed of its GPUs. This is an upper bound: the model's own products, counted in
    [devices.md](devices.md), are fewer."""
    second = f"""Hours for that many operations, with the paper's 9.5 TFLOPS for a P100 and, for
    the other devices, an assumed {100 * SHARE_OF_PEAK:.0f} % of their published peak in half
    precision:"""
    third = f"""On two CPU cores, at the measured {cpu_tokens_per_second:,} target tokens per second
    ([benchmarks.md](benchmarks.md)), base would take at most {days:.0f} days, counting the padding
    in its batches. For v5e, [devices.md](devices.md) projects 3 to 6 times fewer hours than this
    table (big on 4 chips: 5.6 to 8.9): its step has two to three times fewer operations than are
    counted here, and reaches 35 to 64 % of the peak instead of {100 * SHARE_OF_PEAK:.0f} %. Neither
    training was run."""
    cards_table = markdown_table(["recipe card", *PAPER_FLOPS], fields)
    words = (paragraph(first), paragraph(second), table, paragraph(third), cards_table)
    return "\n\n".join(words)


def _card(size):
    recipe = load_recipe(f"wmt14_en_de_{size}")
    training, evaluation = recipe.training, recipe.evaluation
    return {
        "command": f"`aiayn-keras train wmt14_en_de_{size}`",
        "architecture": f"`{recipe.model.preset}`",
        "vocabulary": f"{recipe.tokenizer.vocabulary_size:,}",
        "updates": f"{training.updates:,}",
        "positions per batch and side": f"{recipe.batches.tokens_per_batch:,}",
        "warm-up, updates": f"{recipe.optimizer.warmup_steps:,}",
        "mean of last checkpoints": str(training.average_checkpoints),
        "beam, α": f"{evaluation.num_beams}, {evaluation.length_penalty}",
        "precision": f"`{training.precision}`",
        "BLEU in the paper, newstest2014": {"base": "27.3", "big": "28.4"}[size],
    }
