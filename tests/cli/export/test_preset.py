import h5py
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.common.weight_files import NUMBER_FORMATS
from tests.cli.command import SOURCES, assert_one_clear_line, run


@pytest.mark.parametrize("weights", NUMBER_FORMATS)
def test_preset_writes_a_model_folder_to_pass_on(trained_run, model, tmp_path, weights):
    result = run(
        *("export", "preset", trained_run, "--output", tmp_path),
        *("--name", "mine", "--weights", weights),
    )
    assert result.exit_code == 0, result.output
    folder = tmp_path / "mine"
    assert result.stdout.strip() == str(folder)
    with h5py.File(folder / "model.weights.h5") as file:
        types = set()
        file.visititems(lambda _, item: types.add(str(getattr(item, "dtype", None))))
    assert ("float16" in types) == (weights == "float16")
    assert (folder / "recipe.yaml").read_bytes() == (trained_run / "recipe.yaml").read_bytes()
    assert not (folder / "checkpoints").exists()
    translations = TransformerSeq2SeqLM.from_preset(str(folder)).translate(SOURCES)
    expected = model.translate(SOURCES)
    assert [each.score for each in translations] == pytest.approx(
        [each.score for each in expected], abs=0.02
    )


def test_preset_replaces_nothing(trained_run, tmp_path):
    (tmp_path / "mine").mkdir()
    arguments = ("export", "preset", trained_run, "--output", tmp_path, "--name", "mine")
    assert_one_clear_line(run(*arguments), "exists already")
