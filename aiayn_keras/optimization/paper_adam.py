"""The paper's optimizer (paper 5.3)."""

import keras

from aiayn_keras.optimization.warmup_schedule import WarmupSchedule


def paper_adam(
    hidden_dim,
    warmup_steps=4000,
    peak_learning_rate=None,
    gradient_accumulation_steps=1,
    ema_momentum=None,
):
    """Adam(β₁ = 0.9, β₂ = 0.98, ε = 1e-9) with the `WarmupSchedule` (paper 5.3).

    Args:
        hidden_dim: The model's width (d_model).
        warmup_steps: Number of optimizer updates until the peak of the learning rate.
        peak_learning_rate: The rate at the peak. Defaults to `(hidden_dim · warmup_steps)^-0.5`.
        gradient_accumulation_steps: Number of batches that make one update.
        ema_momentum: If given, the optimizer keeps an exponential moving average of the weights,
            of which each update keeps this share, in (0, 1).

    Returns:
        A `keras.optimizers.Adam`.
    """
    batches = gradient_accumulation_steps
    return keras.optimizers.Adam(
        WarmupSchedule(hidden_dim, warmup_steps, peak_learning_rate, batches),
        beta_1=0.9,
        beta_2=0.98,
        epsilon=1e-9,
        gradient_accumulation_steps=None if batches == 1 else batches,
        use_ema=ema_momentum is not None,
        # Keras moves the average with every batch, not with every update.
        ema_momentum=(ema_momentum or 0.0) ** (1 / batches),
    )
