"""Recipes and commands that import a module of the user's own."""

import sys

import pytest

from aiayn_keras.training import RecipeError, train
from aiayn_keras.training.building import has_own_class, read_sizes
from tests.cli.command import run, run_in_fresh_process
from tests.runs import small_recipe
from tests.training.fine_tuning import recipe_from

MODULE = """
import keras

import aiayn_keras as ak
from aiayn_keras.layers import PositionwiseFeedForward


class Doubled(PositionwiseFeedForward):
    def call(self, x, training=None):
        return 2.0 * super().call(x, training=training)


class Encoder(ak.EncoderBlock):
    feed_forward_cls = Doubled


@keras.saving.register_keras_serializable(package="own_parts_of_a_test")
class Mine(ak.TransformerBackbone):
    encoder_block_cls = Encoder


class Nameless(ak.TransformerBackbone):
    pass


number = 7
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Name of a module in the current folder."""
    (tmp_path / "own_parts_of_a_test.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield "own_parts_of_a_test"
    sys.modules.pop("own_parts_of_a_test", None)


def test_a_recipe_names_the_class_of_a_new_model(module):
    path = list(sys.path)
    recipe = small_recipe(f"model.class={module}:Mine")
    assert read_sizes(recipe)["hidden_dim"] == 32
    backbone = recipe.model.build(200, None)
    assert type(backbone) is sys.modules[module].Mine
    assert backbone.encoder_blocks[0].feed_forward.__class__.__name__ == "Doubled"
    assert sys.path == path
    assert has_own_class(recipe)
    assert not has_own_class(small_recipe())


def test_an_initial_model_may_have_an_own_class(module, tmp_path):
    recipe = small_recipe(f"model.class={module}:Mine")
    for name, own in (("own", recipe), ("usual", small_recipe())):
        own.model.build(200, None).save_to_preset(tmp_path / name)
        fine_tuning = recipe_from(tmp_path / name)
        assert has_own_class(fine_tuning) == (name == "own")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("{}:Nameless", "is not registered, so no model folder could name it"),
        ("{}:number", "must be a class derived from `TransformerBackbone`. Received: 7"),
        ("{}:Missing", "must be a class derived from `TransformerBackbone`. Received: None"),
        ("no_such_module:Mine", "no_such_module cannot be imported: ModuleNotFoundError: .*folder"),
        ("broken:Mine", "broken cannot be imported: SyntaxError"),
    ],
)
def test_another_class_is_refused_before_the_corpus_is_read(module, tmp_path, name, message):
    (tmp_path / "broken.py").write_text("class Mine(:")
    recipe = small_recipe(f"model.class={name.format(module)}")
    with pytest.raises((ValueError, ImportError), match=message):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.yaml").exists()


@pytest.mark.parametrize("settings", [["model.class=Mine"], ["model.class=a:b:c"]])
def test_a_name_without_its_module_is_refused(settings):
    with pytest.raises(RecipeError, match=r"`model\.class`"):
        small_recipe(*settings)


def test_a_command_imports_modules(module, trained_run):
    result = run("info", trained_run, "--import", module)
    assert result.exit_code == 0, result.output
    assert module in sys.modules
    result = run("info", trained_run, "--import", "no_such_module")
    assert result.exit_code == 1
    assert "no_such_module cannot be imported: ModuleNotFoundError" in result.stderr


@pytest.mark.slow
def test_a_model_of_an_own_class_is_trained_and_translates_in_other_processes(module, tmp_path):
    folder = tmp_path / "run"
    translation = train(small_recipe(f"model.class={module}:Mine"), folder)
    assert translation is not None
    command = ("-m", "aiayn_keras_cli", "translate", folder)
    refused = run_in_fresh_process(*command, input="The girl is happy.\n", cwd=tmp_path)
    assert refused.returncode == 1
    assert "no class is registered as 'own_parts_of_a_test>Mine'" in refused.stderr
    answer = run_in_fresh_process(
        *command, "--import", module, input="The girl is happy.\n", cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == 1
