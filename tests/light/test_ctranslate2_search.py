"""The number of cores that search for a sentence; tests/export compares what is found."""

from types import SimpleNamespace

import pytest

from aiayn_keras_light import ctranslate2_search
from aiayn_keras_light.ctranslate2_search import CTranslate2Search
from aiayn_keras_light.search_numbers import SearchNumbers


class TokenizerDouble:
    """In the place of a tokenizer: four special tokens and two words."""

    source_ids = (3,)
    pad_token_id, unk_token_id, start_token_id, end_token_id = range(4)

    def get_vocabulary(self):
        return ["<pad>", "<unk>", "<s>", "</s>", "a", "b"]

    def of_targets(self):
        return self


@pytest.mark.parametrize(
    ("hidden_dim", "compute_type", "is_amd", "num_rows", "expected"),
    [
        (256, "float32", True, 1, 2),
        (256, "float32", True, 3, 2),
        (256, "float32", True, 4, 1),
        (256, "float32", False, 1, 1),
        (256, "int8", True, 1, 1),
        (512, "float32", False, 1, 16),
        (512, "int8", True, 1, 16),
        (512, "int8", True, 4, 1),
    ],
)
def test_cores_of_a_batch(monkeypatch, hidden_dim, compute_type, is_amd, num_rows, expected):
    monkeypatch.setattr(ctranslate2_search, "_is_amd", lambda: is_amd)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(16), raising=False)
    calls = []

    def translate_batch(cores_per_batch, num_cores, sources, **options):
        calls.append((cores_per_batch, num_cores))
        return [SimpleNamespace(hypotheses=[["a", "</s>"]], scores=[-1.0]) for _ in sources]

    search = CTranslate2Search(TokenizerDouble(), hidden_dim, compute_type, translate_batch)
    rows = [(4,) * (n + 1) for n in range(num_rows)]
    found = search._search(rows, SearchNumbers(length_penalty=0.0), 9, 1)
    assert calls == [(expected, 16)]
    assert found == {row: [(-1.0, [4, 3])] for row in rows}


def test_one_core_is_not_shared(monkeypatch):
    monkeypatch.setattr(ctranslate2_search, "_is_amd", lambda: True)
    search = CTranslate2Search(TokenizerDouble(), 64, "float32", None)
    assert search._cores_of_few_rows(1) == 1
