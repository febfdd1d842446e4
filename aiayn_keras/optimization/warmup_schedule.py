"""The paper's optimizer (section 5.3): Adam with the warm-up schedule."""

import keras
from keras import ops

from aiayn_keras_light.checks import check_integer, check_number

_MAX_STEPS = 10**9
"""Bound on numbers of updates and batches, and on the width, within an int32."""


@keras.saving.register_keras_serializable(package="aiayn_keras")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """A linear warm-up, then decay with the inverse square root of the step (equation 3).

    `d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)`, where the first update is step 1.

    Args:
        hidden_dim: The model's width (d_model).
        warmup_steps: Number of optimizer updates until the peak.
        peak_learning_rate: The rate at the end of the warm-up. Defaults to the paper's
            `(hidden_dim · warmup_steps)^-0.5`; a different value scales the whole curve.
        gradient_accumulation_steps: The optimizer's argument of that name, or 1. Keras' optimizers
            pass a schedule the number of batches; this many of them make one update.

    Raises:
        ValueError: For a number out of bounds.
        TypeError: For a value that is not a number, or not an integer where one is needed.

    Example:
        >>> schedule = WarmupSchedule(hidden_dim=512)
        >>> round(float(schedule(3999)), 7)
        0.0006988
    """

    def __init__(
        self,
        hidden_dim,
        warmup_steps=4000,
        peak_learning_rate=None,
        gradient_accumulation_steps=1,
    ):
        super().__init__()
        self.hidden_dim = check_integer("hidden_dim", hidden_dim, 1, _MAX_STEPS)
        self.warmup_steps = check_integer("warmup_steps", warmup_steps, 1, _MAX_STEPS)
        self.peak_learning_rate = None
        if peak_learning_rate is not None:
            self.peak_learning_rate = check_number("peak_learning_rate", peak_learning_rate, 0, 1e6)
        self.gradient_accumulation_steps = check_integer(
            "gradient_accumulation_steps", gradient_accumulation_steps, 1, _MAX_STEPS
        )

    def __call__(self, step):
        update = ops.floor_divide(ops.cast(step, "int32"), self.gradient_accumulation_steps)
        # Keras counts from 0, the paper from 1.
        update = ops.cast(update, "float32") + 1.0
        peak = self.peak_learning_rate
        if peak is None:
            peak = (self.hidden_dim * self.warmup_steps) ** -0.5
        rise = update / self.warmup_steps
        decay = ops.rsqrt(rise)
        return peak * ops.minimum(rise, decay)

    def get_config(self):
        return {
            "hidden_dim": self.hidden_dim,
            "warmup_steps": self.warmup_steps,
            "peak_learning_rate": self.peak_learning_rate,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
        }


def paper_adam(
    hidden_dim,
    warmup_steps=4000,
    peak_learning_rate=None,
    gradient_accumulation_steps=1,
    ema_momentum=None,
):
    """Adam(β₁ = 0.9, β₂ = 0.98, ε = 1e-9) with the `WarmupSchedule` (paper 5.3).

    Keras implements the second form of Adam, with ε̂ added to the square root of the uncorrected
    second moment (Kingma and Ba, end of section 2, https://arxiv.org/abs/1412.6980). It differs
    from the first form in early updates where gradients are near ε: by 35 % where they are 1e-8.

    Args:
        hidden_dim: The model's width (d_model).
        warmup_steps: Number of optimizer updates until the peak of the learning rate.
        peak_learning_rate: The rate at the peak. Defaults to `(hidden_dim · warmup_steps)^-0.5`.
        gradient_accumulation_steps: Number of batches that make one update.
        ema_momentum: If given, the optimizer keeps an exponential moving average of the weights;
            each update keeps this share of it, in (0, 1). It is not debiased: the weights after
            the first update still make up `ema_momentum^updates` of it, 37 % after 1,000 updates
            at 0.999.

    Returns:
        A `keras.optimizers.Adam`.

    Raises:
        ValueError: For a number out of bounds.
        TypeError: For a value that is not a number, or not an integer where one is needed.
    """
    schedule = WarmupSchedule(
        hidden_dim, warmup_steps, peak_learning_rate, gradient_accumulation_steps
    )
    batches = schedule.gradient_accumulation_steps
    if ema_momentum is not None:
        ema_momentum = check_number("ema_momentum", ema_momentum, 0, 1)
        if ema_momentum in (0, 1):  # no average, or no training
            raise ValueError(
                f"`ema_momentum` must be between 0 and 1. Received: ema_momentum={ema_momentum}."
            )
    return keras.optimizers.Adam(
        schedule,
        beta_1=0.9,
        beta_2=0.98,
        epsilon=1e-9,
        gradient_accumulation_steps=None if batches == 1 else batches,
        use_ema=ema_momentum is not None,
        # Keras updates the average with every batch, not with every update.
        ema_momentum=(ema_momentum or 0.0) ** (1 / batches),
    )
