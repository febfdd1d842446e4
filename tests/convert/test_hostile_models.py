"""Models of other toolkits that are right but for one thing: one clear line each."""

import functools
import re

import pytest

from aiayn_keras.convert import (
    convert_ctranslate2,
    convert_fairseq,
    convert_marian,
    convert_opennmt_tf,
)

pytest.importorskip("ctranslate2")
pytest.importorskip("tensorflow")
pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.claims.hostile_bundles import hostile_bundles
from tests.claims.hostile_marian import hostile_marian_models
from tests.claims.hostile_models import (
    hostile_checkpoints,
    hostile_engine_models,
)
from tests.claims.hostile_tensors import CANARY


def answers(cases, convert):
    """Names, answers and expected messages; an answer that is no clear line is shown as it is."""
    for name, arguments, message in cases:
        try:
            convert(*arguments) if isinstance(arguments, tuple) else convert(arguments)
        except (ValueError, OSError) as error:
            yield name, str(error), message
        else:
            yield name, "converted", message


@pytest.mark.parametrize(
    ("make_cases", "convert", "least"),
    [
        (hostile_engine_models, convert_ctranslate2, 70),
        (hostile_checkpoints, convert_fairseq, 12),
        (hostile_marian_models, convert_marian, 30),
        (hostile_bundles, functools.partial(convert_opennmt_tf, num_heads=3), 50),
    ],
)
def test_every_hostile_model_is_refused_in_one_line(make_cases, convert, least, tmp_path):
    found = list(answers(make_cases(tmp_path), convert))
    wrong = [
        f"{name}: {answer}"
        for name, answer, message in found
        if not re.search(message, answer) or "\n" in answer or len(answer) > 1000
    ]
    assert wrong == []
    assert len(found) >= least
    assert not CANARY.exists()
