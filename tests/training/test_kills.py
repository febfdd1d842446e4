"""A training that is killed and resumed ends with the weights of one that was not."""

import time

from aiayn_keras.training import list_checkpoints
from benchmarks.kills import differences, train, write_recipe


def test_a_killed_training_ends_with_the_very_same_weights(tmp_path):
    recipe = write_recipe(tmp_path, updates=20)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    start = time.monotonic()
    train(recipe, undisturbed)
    seconds = time.monotonic() - start

    # After the first checkpoint, and before the second one if the moment is well met.
    checkpoints = killed / "checkpoints"
    assert not train(
        recipe, killed, seconds * 3, stop_when=lambda: len(list_checkpoints(checkpoints)) > 0
    )
    assert 10 in dict(list_checkpoints(checkpoints))
    assert not (killed / "evaluation.json").exists()
    assert train(recipe, killed)
    assert differences(killed, undisturbed) == []
