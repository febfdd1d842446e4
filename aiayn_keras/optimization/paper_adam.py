"""The paper's optimizer (paper 5.3)."""

import keras

from aiayn_keras.checks import check_number
from aiayn_keras.optimization.warmup_schedule import WarmupSchedule


def paper_adam(
    hidden_dim,
    warmup_steps=4000,
    peak_learning_rate=None,
    gradient_accumulation_steps=1,
    ema_momentum=None,
):
    """Adam(β₁ = 0.9, β₂ = 0.98, ε = 1e-9) with the `WarmupSchedule` (paper 5.3).

    Keras has Adam in its second form, with ε̂ added to the square root of the uncorrected second
    moment (Kingma and Ba, end of section 2, https://arxiv.org/abs/1412.6980). It differs from the
    first form where gradients are near ε, in early updates: by 35 % where they are 1e-8.

    Args:
        hidden_dim: The model's width (d_model).
        warmup_steps: Number of optimizer updates until the peak of the learning rate.
        peak_learning_rate: The rate at the peak. Defaults to `(hidden_dim · warmup_steps)^-0.5`.
        gradient_accumulation_steps: Number of batches that make one update.
        ema_momentum: If given, the optimizer keeps an exponential moving average of the weights,
            of which each update keeps this share, in (0, 1). It is not debiased: the
            weights after the first update keep `ema_momentum^updates` of it, 37 % after 1,000
            updates at 0.999.

    Returns:
        A `keras.optimizers.Adam`.

    Raises:
        ValueError: For a number out of bounds.
        TypeError: For something that is no number, or no integer where one is needed.
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
        # Keras moves the average with every batch, not with every update.
        ema_momentum=(ema_momentum or 0.0) ** (1 / batches),
    )
