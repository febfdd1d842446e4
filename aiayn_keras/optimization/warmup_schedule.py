"""The learning rate over the training (paper 5.3)."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="aiayn_keras")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """A linear warm-up, then decay with the inverse square root of the step (equation 3).

    `d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)`, where the first update is step 1.

    Args:
        hidden_dim: The model's width (d_model).
        warmup_steps: Number of optimizer updates until the peak.
        peak_learning_rate: The rate at the end of the warm-up. Defaults to the paper's
            `(hidden_dim · warmup_steps)^-0.5`; another value scales the whole curve.
        gradient_accumulation_steps: The optimizer's argument of that name, or 1. Keras' optimizers
            hand a schedule their count of batches, of which this many make one update.

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
        if warmup_steps < 1 or gradient_accumulation_steps < 1:
            raise ValueError(
                "`warmup_steps` and `gradient_accumulation_steps` must be at least 1. Received: "
                f"warmup_steps={warmup_steps}, "
                f"gradient_accumulation_steps={gradient_accumulation_steps}."
            )
        self.hidden_dim = hidden_dim
        self.warmup_steps = warmup_steps
        self.peak_learning_rate = peak_learning_rate
        self.gradient_accumulation_steps = gradient_accumulation_steps

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
