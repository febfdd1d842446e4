"""Rows of Table 3 on a small scale: their differences from the base, and the paper's rows."""

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
        label: The change.
        perplexity: Perplexity per wordpiece.
        bleu: BLEU.
    """

    label: str
    perplexity: float
    bleu: float


PAPER_BASE = PaperRow("base", 4.92, 25.8)


class Claim(NamedTuple):
    """A claim of the paper about a row.

    Attributes:
        text: The section and the claim.
        figure: Figure that it is about, "bleu" or "perplexity".
        expected: Expected sign of the row's difference from the base model; 0 for none.
    """

    text: str
    figure: str
    expected: int


@dataclass(frozen=True)
class Row:
    """A row of Table 3 on a small scale.

    Attributes:
        name: Name of its result files.
        group: The paper's letter, or "–" for a row that the paper does not have.
        label: What differs from the base model.
        settings: Settings of the recipe, `section.field=value`.
        backbone_cls: The model's class, if it differs.
        schedule_cls: The learning-rate schedule's class, if it differs.
        paper: The `PaperRow`, if the paper has the row.
        claims: Tuple of the paper's `Claim`s about it.
    """

    name: str
    group: str
    label: str
    settings: tuple[str, ...] = ()
    backbone_cls: type | None = None
    schedule_cls: type | None = None
    paper: PaperRow | None = None
    claims: tuple[Claim, ...] = ()


def _paper_row(name, group, label, settings, paper, *claims):
    return Row(name, group, label, tuple(settings.split()), paper=PaperRow(*paper), claims=claims)


ONE_HEAD = Claim("6.2: one head is 0.9 BLEU worse than the best setting", "bleu", -1)
KEYS = Claim("6.2: reducing d_k hurts model quality", "bleu", -1)
SMALLER, BIGGER = (Claim("6.2: bigger models are better", "bleu", sign) for sign in (-1, 1))
DROPOUT = Claim("6.2: dropout is very helpful in avoiding over-fitting", "bleu", -1)
SMOOTHING = (
    Claim("5.4: label smoothing improves BLEU", "bleu", -1),
    Claim("5.4: label smoothing hurts perplexity", "perplexity", -1),
)
POSITIONS = Claim("6.2: learned positions give nearly identical results", "bleu", 0)
SCALE = Claim("3.2.1 suspects: large dot products make the softmax's gradients small", "bleu", -1)
# The paper's own row of more layers is 0.3 BLEU worse than its base, and its perplexity better.
DEEPER = Claim("6.2: bigger models are better", "perplexity", -1)

# The base model here has 4+4 layers, 4 heads of 32, widths 128 and 256; the paper's 6+6, 8 of 64,
# 512 and 2048. Each row is compared with the paper's row of the same factor, or the nearest. A
# different d_model changes the learning rate as in equation 3, by the inverse of its root.
ROWS = (
    Row("base", "base", "4+4 layers, 4 heads, d_model 128, d_ff 256", paper=PAPER_BASE),
    _paper_row("h1", "A", "1 head of 128", "model.num_heads=1",
               ("1 head of 512", 5.29, 24.9), ONE_HEAD),
    _paper_row("h2", "A", "2 heads of 64", "model.num_heads=2",
               ("4 heads of 128", 5.00, 25.5)),
    _paper_row("h8", "A", "8 heads of 16", "model.num_heads=8",
               ("16 heads of 32", 4.91, 25.8)),
    _paper_row("k8", "B", "d_k 8", "model.key_dim=8",
               ("d_k 16", 5.16, 25.1), KEYS),
    _paper_row("k16", "B", "d_k 16", "model.key_dim=16",
               ("d_k 32", 5.01, 25.4), KEYS),
    _paper_row("n2", "C", "2+2 layers", "model.num_layers=2",
               ("4+4 layers", 5.19, 25.3), SMALLER),
    _paper_row("n6", "C", "6+6 layers", "model.num_layers=6",
               ("8+8 layers", 4.88, 25.5), DEEPER),
    _paper_row("d64", "C", "d_model 64",
               "model.hidden_dim=64 optimizer.peak_learning_rate=0.00495",
               ("d_model 256", 5.75, 24.5), SMALLER),
    _paper_row("d256", "C", "d_model 256",
               "model.hidden_dim=256 optimizer.peak_learning_rate=0.002475",
               ("d_model 1024", 4.66, 26.0), BIGGER),
    _paper_row("f128", "C", "d_ff 128", "model.intermediate_dim=128",
               ("d_ff 1024", 5.12, 25.4), SMALLER),
    _paper_row("f512", "C", "d_ff 512", "model.intermediate_dim=512",
               ("d_ff 4096", 4.75, 26.2), BIGGER),
    _paper_row("dropout_00", "D", "dropout 0", "model.dropout=0.0",
               ("dropout 0", 5.77, 24.6), DROPOUT),
    _paper_row("smoothing_00", "D", "label smoothing 0", "optimizer.label_smoothing=0.0",
               ("label smoothing 0", 4.67, 25.3), *SMOOTHING),
    _paper_row("learned", "E", "learned positions", "model.position_embedding=learned",
               ("learned positions", 4.92, 25.7), POSITIONS),
    Row("no_key_scale", "–", "attention without 1/√d_k",
        backbone_cls=BackboneWithUnscaledAttention, claims=(SCALE,)),
    Row("no_embedding_scale", "–", "embeddings without √d_model",
        backbone_cls=BackboneWithUnscaledEmbedding),
    Row("no_residuals", "–", "no residual connections", backbone_cls=BackboneWithoutResiduals),
    Row("no_warmup", "–", "no warm-up, its peak at once", schedule_cls=NoWarmup),
    Row("pre_norm", "–", "normalization before each sublayer", ("model.normalize_first=true",)),
)  # fmt: skip
