"""Training's loss, metrics and learning rate (paper 5.3 and 5.4)."""

from aiayn_keras.optimization.loss import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    TokenAccuracy,
    TokenStatistics,
    label_smoothed_cross_entropy,
    token_statistics,
    token_weights,
)
from aiayn_keras.optimization.warmup_schedule import WarmupSchedule, paper_adam

__all__ = [
    "LabelSmoothedCrossEntropy",
    "Perplexity",
    "TokenAccuracy",
    "TokenStatistics",
    "WarmupSchedule",
    "label_smoothed_cross_entropy",
    "paper_adam",
    "token_statistics",
    "token_weights",
]
