"""Training's loss, metrics and learning rate (paper 5.3 and 5.4)."""

from aiayn_keras.optimization.label_smoothing import (
    LabelSmoothedCrossEntropy,
    label_smoothed_cross_entropy,
    token_weights,
)
from aiayn_keras.optimization.metrics import Perplexity, TokenAccuracy, TokenStatistics
from aiayn_keras.optimization.warmup_schedule import WarmupSchedule, paper_adam

__all__ = [
    "LabelSmoothedCrossEntropy",
    "Perplexity",
    "TokenAccuracy",
    "TokenStatistics",
    "WarmupSchedule",
    "label_smoothed_cross_entropy",
    "paper_adam",
    "token_weights",
]
