"""Trainings of `experiments.augmentation` differ in what their rows say, and in nothing else."""

import keras
import pytest

from experiments import augmentation
from experiments.augmentation import FURTHER, KINDS, ROWS, START, left_out, make_recipe

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="Trainings are compared on one backend."
)


def recipe(row):
    return make_recipe({**FURTHER, "model": {"initial": "start"}}, left_out(row)).model_dump()


def test_every_augmentation_of_the_recipe_has_a_row():
    shares = recipe("all")["augmentation"]
    assert {name for name, share in shares.items() if share} == {*KINDS, "variants"}


@pytest.mark.parametrize("name", KINDS)
def test_a_row_leaves_out_one_augmentation(name):
    given, wanted = recipe(f"without {name}"), recipe("all")
    wanted["augmentation"][name] = 0.0
    assert given == wanted


def test_the_first_training_and_the_last_row_have_none():
    for made in (make_recipe(START, KINDS).model_dump(), recipe("none")):
        assert not any(made["augmentation"][name] for name in KINDS)


def test_the_table_compares_a_row_with_all_and_none():
    """Every figure is made up of the place of its row and that of its kind."""
    kinds = [each for kinds in KINDS.values() for each in kinds] + [("clean text", "BLEU")]
    results = {
        row: {
            "figures": [
                {"kind": kind, "meaning": meaning, "value": place + number / 100}
                for number, (kind, meaning) in enumerate(kinds)
            ],
            **{"seconds": 1800, "machine": "2 × a processor", "commit": "0123456789abcdef"},
        }
        for place, row in enumerate(ROWS)
    }
    text = augmentation.section(results)
    assert "| `joined` | two sentences, of chrF2 of each alone | 0.00 | 1.00 | 13.00 |" in text
    assert "| `phrases` | commonest words, with linked words alone | 0.13 | 12.13 | 13.13 |" in text
    words = " ".join(text.split())
    assert "BLEU on clean text: all 0.1, without joined 1.1, without lower_cased 2.1" in words
    assert "took 7.0 hours on 2 × a processor, at 0123456789ab." in words
    assert "Not measured" not in words
    del results["without names"], results["none"]
    text = augmentation.section(results)
    assert "| `joined` | two sentences, of chrF2 of each alone | 0.00 | 1.00 |  |" in text
    assert "`names`" not in text
    assert "Not measured yet: without names, none." in " ".join(text.split())
    del results["all"]
    assert augmentation.section(results).startswith("Not measured yet: all, without names")
