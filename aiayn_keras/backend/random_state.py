"""State of random generators that belong to a backend."""

import keras
import numpy as np


def seed_torch_dropout(*numbers):
    """Seeds torch's own generator, from which Keras draws dropout on PyTorch; else does nothing."""
    if keras.config.backend() == "torch":
        import torch

        (seed,) = np.random.SeedSequence(numbers).generate_state(1)
        torch.manual_seed(int(seed))
