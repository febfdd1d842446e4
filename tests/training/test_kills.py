"""A sample of `tests.claims.kills`: one kill.

Files that survive it are the same on every backend, so one backend is enough; that a training goes
on to the same weights on each is a test of the trainer.
"""

import keras
import pytest

from aiayn_keras.training import list_checkpoints
from tests.claims.kills import differences, train, write_recipe

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="One backend is enough."
)


def test_a_killed_training_ends_with_the_very_same_weights(tmp_path):
    recipe = write_recipe(tmp_path, updates=20)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    assert train(recipe, undisturbed)  # not here, where TensorFlow's threads are set already

    # After the first checkpoint, and before the second one if the moment is well met.
    checkpoints = killed / "checkpoints"
    assert not train(recipe, killed, stop_when=lambda: len(list_checkpoints(checkpoints)) > 0)
    assert 10 in dict(list_checkpoints(checkpoints))
    assert not (killed / "evaluation.json").exists()
    assert train(recipe, killed)
    assert differences(killed, undisturbed) == []
