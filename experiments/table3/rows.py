"""The rows of Table 3 in small: what differs from the base model, and the paper's row beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from experiments.table3.layers import (
    BackboneWithoutResiduals,
    BackboneWithUnscaledAttention,
    BackboneWithUnscaledEmbedding,
    NoWarmup,
)

BASE_RECIPE = Path(__file__).parent / "base.yaml"


class PaperRow(NamedTuple):
    """A row of the paper's Table 3: English to German, newstest2013, no averaging of checkpoints.

    Attributes:
        label: What it changes.
        perplexity: Perplexity per wordpiece.
        bleu: BLEU.
    """

    label: str
    perplexity: float
    bleu: float


PAPER_BASE = PaperRow("base", 4.92, 25.8)


@dataclass(frozen=True)
class Row:
    """A row of Table 3 in small.

    Attributes:
        name: Name of its result files.
        group: The paper's letter, or "–" for a row that the paper does not have.
        label: What differs from the base model.
        settings: Settings of the recipe, `section.field=value`.
        backbone_cls: The model's class, if it is another one.
        schedule_cls: The learning-rate schedule's class, if it is another one.
        paper: The `PaperRow`, if the paper has the row.
        claim: What the paper says of it, if it does.
        expected: Sign of the difference in BLEU that follows from that; 0 for no difference.
    """

    name: str
    group: str
    label: str
    settings: tuple[str, ...] = ()
    backbone_cls: type | None = None
    schedule_cls: type | None = None
    paper: PaperRow | None = None
    claim: str | None = None
    expected: int | None = None


def _paper_row(name, group, label, settings, paper, claim=None, expected=None):
    return Row(
        name,
        group,
        label,
        tuple(settings.split()),
        paper=PaperRow(*paper),
        claim=claim,
        expected=expected,
    )


ONE_HEAD = "6.2: one head is 0.9 BLEU worse than the best setting"
KEYS = "6.2: reducing d_k hurts model quality"
BIGGER = "6.2: bigger models are better"
DROPOUT = "6.2: dropout is very helpful in avoiding over-fitting"
SMOOTHING = "5.4: label smoothing hurts perplexity, but improves BLEU"
POSITIONS = "6.2: learned positions give nearly identical results"
SCALE = "3.2.1: large dot products push the softmax where gradients are small"

# The base model here has 4+4 layers, 4 heads of 32, widths 128 and 256; the paper's 6+6, 8 of 64,
# 512 and 2048. Beside a row stands the paper's of the same factor, or the nearest one. Another
# d_model changes the learning rate as in equation 3, by the inverse of its root.
ROWS = (
    Row("base", "base", "4+4 layers, 4 heads, d_model 128, d_ff 256", paper=PAPER_BASE),
    _paper_row("h1", "A", "1 head of 128", "model.num_heads=1",
               ("1 head of 512", 5.29, 24.9), ONE_HEAD, -1),
    _paper_row("h2", "A", "2 heads of 64", "model.num_heads=2",
               ("4 heads of 128", 5.00, 25.5)),
    _paper_row("h8", "A", "8 heads of 16", "model.num_heads=8",
               ("16 heads of 32", 4.91, 25.8)),
    _paper_row("k8", "B", "d_k 8", "model.key_dim=8",
               ("d_k 16", 5.16, 25.1), KEYS, -1),
    _paper_row("k16", "B", "d_k 16", "model.key_dim=16",
               ("d_k 32", 5.01, 25.4), KEYS, -1),
    _paper_row("n2", "C", "2+2 layers", "model.num_layers=2",
               ("2+2 layers", 6.11, 23.7), BIGGER, -1),
    _paper_row("n6", "C", "6+6 layers", "model.num_layers=6",
               ("8+8 layers", 4.88, 25.5), BIGGER, 1),
    _paper_row("d64", "C", "d_model 64",
               "model.hidden_dim=64 optimizer.peak_learning_rate=0.00495",
               ("d_model 256", 5.75, 24.5), BIGGER, -1),
    _paper_row("d256", "C", "d_model 256",
               "model.hidden_dim=256 optimizer.peak_learning_rate=0.002475",
               ("d_model 1024", 4.66, 26.0), BIGGER, 1),
    _paper_row("f128", "C", "d_ff 128", "model.intermediate_dim=128",
               ("d_ff 1024", 5.12, 25.4), BIGGER, -1),
    _paper_row("f512", "C", "d_ff 512", "model.intermediate_dim=512",
               ("d_ff 4096", 4.75, 26.2), BIGGER, 1),
    _paper_row("dropout_00", "D", "dropout 0", "model.dropout=0.0",
               ("dropout 0", 5.77, 24.6), DROPOUT, -1),
    _paper_row("smoothing_00", "D", "label smoothing 0", "optimizer.label_smoothing=0.0",
               ("label smoothing 0", 4.67, 25.3), SMOOTHING, -1),
    _paper_row("learned", "E", "learned positions", "model.position_embedding=learned",
               ("learned positions", 4.92, 25.7), POSITIONS, 0),
    Row("no_key_scale", "–", "attention without 1/√d_k",
        backbone_cls=BackboneWithUnscaledAttention, claim=SCALE, expected=-1),
    Row("no_embedding_scale", "–", "embeddings without √d_model",
        backbone_cls=BackboneWithUnscaledEmbedding),
    Row("no_residuals", "–", "no residual connections", backbone_cls=BackboneWithoutResiduals),
    Row("no_warmup", "–", "no warm-up, its peak at once", schedule_cls=NoWarmup),
    Row("pre_norm", "–", "normalization before each sublayer", ("model.normalize_first=true",)),
)  # fmt: skip
