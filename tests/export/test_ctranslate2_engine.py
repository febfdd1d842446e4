"""CTranslate2 as an engine: the translations of our search, or a refusal that says why."""

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import EngineError, choose_engine
from aiayn_keras.export.ctranslate2 import CTranslate2Engine
from aiayn_keras.layers import AddNorm
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras_light import ctranslate2_search
from aiayn_keras_light.ctranslate2_search import CTranslate2Search
from tests.cli.command import run
from tests.export.random_model import build_random_model
from tests.helpers import assert_close, slow_but

pytest.importorskip("ctranslate2")

FOLDER = Path(__file__).parents[2] / "saved_models" / "tatoeba_en_es_keras"
SENTENCES = [
    "I was waiting for you to get here.",
    "The girl is happy.",
    "Where is the “kitchen”?",
    "I like tea. 😀",
    "He bought two tickets for 442 dollars, and she paid for both of them.",
    "water",
    "…",
    "",
    "THE CAT SLEEPS.",
    "Nobody knew what had happened the night before the trial began.",
]
# The best translations of the last three are among the last that a search finds.
TEXTS = [*SENTENCES, "hmmmm", "aaaaaaaaahhhhh", "oh oh oh oh oh"]
SEARCHES = {
    "defaults": {},
    "n-best": {"num_return_sequences": 4},
    "without penalty": {"length_penalty": 0.0},
    "n-best without penalty": {"length_penalty": 0.0, "num_return_sequences": 3},
    "of other toolkits": {"length_penalty": 1.0, "length_penalty_offset": 0},
    "greedy": {"num_beams": 1, "length_penalty": 0.0},
    "eight beams": {"num_beams": 8, "min_length": 0},
    "cut short": {"max_length": 4},
    "prefixes": {"prefixes": ["El"] * len(TEXTS)},
    "alignments": {"return_alignments": True},
    "small batches": {"batch_size": 3},
}


@pytest.fixture(scope="module")
def model():
    return TransformerSeq2SeqLM.from_preset(str(FOLDER))


@pytest.fixture
def automatic(monkeypatch):
    """Undo the fixture of all tests that keeps `auto` from this engine."""
    monkeypatch.setattr(CTranslate2Engine, "is_automatic", True)


QUICK = ("defaults", "prefixes")


@pytest.mark.parametrize("name", slow_but(QUICK, list(SEARCHES)))
def test_translations_and_scores_are_those_of_our_search(model, name):
    options = SEARCHES[name]
    ours = model.translate(TEXTS, engine="keras", **options)
    theirs = model.translate(TEXTS, engine="ctranslate2", **options)
    for one, other in zip(ours, theirs, strict=True):
        assert [h.tokens for h in one.hypotheses] == [h.tokens for h in other.hypotheses]
        for a, b in zip(one.hypotheses, other.hypotheses, strict=True):
            assert_close([a.score, a.normalized_score], [b.score, b.normalized_score], 1e-5, 1e-4)
        if one.alignment is not None:
            assert_close(one.alignment, other.alignment, atol=1e-4)


def test_several_translations_of_single_words_are_those_of_our_search(model):
    words = ["Help", "Lost", "table", "city"]  # with many short translations, and a long one
    ours, theirs = (
        model.translate(words, engine=engine, num_return_sequences=4)
        for engine in ("keras", "ctranslate2")
    )
    for one, other in zip(ours, theirs, strict=True):
        assert [each.text for each in one.hypotheses] == [each.text for each in other.hypotheses]


def test_int8_translates_nearly_the_same(model):
    ours = model.translate(SENTENCES)
    rounded = model.translate(SENTENCES, engine="ctranslate2-int8")
    same = [one.text == other.text for one, other in zip(ours, rounded, strict=True)]
    assert sum(same) >= len(SENTENCES) - 2
    scores = [[each.score for each in found] for found in (ours, rounded)]
    assert scores[0] != scores[1]


def assign_weights(model):
    table = model.backbone.token_embedding.embeddings
    table.assign(np.roll(keras.ops.convert_to_numpy(table), 7, axis=0))


def enable_lora(model):
    model.backbone.enable_lora(2)
    for weight in model.backbone.trainable_weights:
        if "lora" in weight.path:
            weight.assign(weight + 0.1)


@pytest.mark.parametrize("change", [assign_weights, enable_lora])
def test_changed_weights_are_noticed(change):
    model = TransformerSeq2SeqLM.from_preset(str(FOLDER))
    before = model.translate(TEXTS[:2], engine="ctranslate2")
    change(model)
    ours, theirs = (model.translate(TEXTS[:2], engine=e) for e in ("keras", "ctranslate2"))
    assert [each.text for each in theirs] == [each.text for each in ours]
    assert [each.text for each in theirs] != [each.text for each in before]


@pytest.mark.slow
def test_another_strength_of_adapters_is_noticed():
    model = TransformerSeq2SeqLM.from_preset(str(FOLDER))
    enable_lora(model)
    for engine in ("keras", "ctranslate2"):
        model.translate(TEXTS[:2], engine=engine)
    model.score(TEXTS[:2], TEXTS[:2])
    for layer in model.backbone._flatten_layers():
        if getattr(layer, "lora_enabled", False):
            layer.lora_alpha = 6
    ours, theirs = (model.translate(TEXTS[:2], engine=e) for e in ("keras", "ctranslate2"))
    assert [each.text for each in theirs] == [each.text for each in ours]
    # A model that has never searched before translates and scores with the new strength.
    fresh = TransformerSeq2SeqLM(model.backbone, model.preprocessor)
    assert [each.score for each in ours] == [
        each.score for each in fresh.translate(TEXTS[:2], engine="keras")
    ]
    expected = fresh.score(TEXTS[:2], TEXTS[:2])
    assert model.score(TEXTS[:2], TEXTS[:2]).tolist() == expected.tolist()


class OwnAddNorm(AddNorm):
    """A part that CTranslate2 does not know, with the weights of one that it knows."""


def quantize(model):
    model.backbone.decoder_blocks[1].feed_forward.hidden_dense.quantize("int8")


def use_own_part(model):
    model.backbone.decoder_blocks[1].feed_forward_add_norm.__class__ = OwnAddNorm


# What is searched for once the model has changed, so that CTranslate2 searches with the copy that
# it has, has to make one for more cores, or leaves all to our search.
SEARCHES_AFTER = {
    "sentence": ("water", {}),
    "batch": (SENTENCES[:4], {}),
    "prefix": ("water", {"prefixes": "El"}),
}


@pytest.mark.parametrize("search", slow_but(["sentence", "prefix"], list(SEARCHES_AFTER)))
@pytest.mark.parametrize(
    ("change", "reason"), [(quantize, "quantized"), (use_own_part, "parts of your own: OwnAddNorm")]
)
def test_a_change_that_rules_it_out_is_noticed(change, reason, search, monkeypatch):
    monkeypatch.setattr(ctranslate2_search, "SMALL_HIDDEN_DIM", 0)  # copies for different cores
    model = TransformerSeq2SeqLM.from_preset(str(FOLDER))
    model.translate("water", engine="ctranslate2")
    change(model)
    texts, options = SEARCHES_AFTER[search]
    for _ in range(2):
        with pytest.raises(
            EngineError, match=f"^The engine ctranslate2 cannot be used: .*{reason}"
        ):
            model.translate(texts, engine="ctranslate2", **options)


@pytest.mark.slow
@pytest.mark.usefixtures("automatic")
def test_after_a_change_that_rules_it_out_our_search_searches():
    model = TransformerSeq2SeqLM.from_preset(str(FOLDER))
    model.translate("water", engine="ctranslate2")
    quantize(model)
    found, ours = (model.translate(TEXTS, engine=engine) for engine in ("auto", "keras"))
    assert found == ours


def test_threads_may_translate_at_once(model):
    expected, found = [each.text for each in model.translate(TEXTS)], [None] * 4

    def work(i):
        found[i] = [each.text for each in model.translate(TEXTS, engine="ctranslate2")]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.usefixtures("automatic")
def test_auto_is_ctranslate2_where_it_finds_the_same(model):
    for options in (SearchOptions(), SearchOptions(num_return_sequences=3, max_length=9)):
        assert choose_engine("auto", (model,), options) == "ctranslate2"


REFUSED = {
    "ensembles": (2, {}),
    "constraint": (1, {"constraint": "brackets"}),
    "coverage_penalty": (1, {"coverage_penalty": 0.1}),
    "no_repeat_ngram_size": (1, {"no_repeat_ngram_size": 3}),
    "min_length": (1, {"min_length": 2}),
    "length_penalty": (1, {"length_penalty": 1.5}),
    "one beam": (1, {"num_beams": 1}),
}


@pytest.mark.usefixtures("automatic")
@pytest.mark.parametrize("reason", REFUSED)
def test_other_searches_are_ours_or_refused(model, reason):
    number, fields = REFUSED[reason]
    models, options = (model,) * number, SearchOptions(**fields)
    assert choose_engine("auto", models, options) == "keras"
    with pytest.raises(EngineError, match=f"^The engine ctranslate2 cannot be used: .*{reason}"):
        choose_engine("ctranslate2", models, options)


class OwnLayer(keras.layers.Layer):
    """A part that CTranslate2 does not know."""

    def call(self, x):
        return x


@pytest.mark.usefixtures("automatic")
def test_other_models_are_ours_or_refused(model, monkeypatch):
    tokenizer = model.preprocessor.tokenizer

    def check(other, reason):
        assert choose_engine("auto", (other,), SearchOptions()) == "keras"
        with pytest.raises(EngineError, match=reason):
            choose_engine("ctranslate2", (other,), SearchOptions())

    check(build_random_model(tokenizer, 1, key_dim=5), "heads of width")
    check(build_random_model(tokenizer, 1, activation="elu"), "activation")
    half = TransformerSeq2SeqLM.from_preset(str(FOLDER), dtype="mixed_bfloat16")
    check(half, "computes in bfloat16")
    blocks = model.backbone._flatten_layers
    monkeypatch.setattr(model.backbone, "_flatten_layers", lambda: [*blocks(), OwnLayer()])
    check(model, "parts of your own: OwnLayer")


@pytest.mark.usefixtures("automatic")
def test_without_the_package_our_search_searches(model, monkeypatch):
    find_spec = importlib.util.find_spec

    def not_installed(name, *arguments):
        """Test double of an environment without CTranslate2."""
        return None if name == "ctranslate2" else find_spec(name, *arguments)

    monkeypatch.setattr(importlib.util, "find_spec", not_installed)
    assert choose_engine("auto", (model,), SearchOptions()) == "keras"
    with pytest.raises(EngineError, match=r"pip install 'aiayn-keras\[fast\]'"):
        model.translate("water", engine="ctranslate2")


def test_an_unknown_engine_is_refused(model):
    with pytest.raises(EngineError, match="one of auto, keras, ctranslate2, ctranslate2-int8"):
        model.translate("water", engine="marian")


@pytest.mark.slow
def test_the_command_says_which_engine_searches(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("water\nThe girl is happy.\n", encoding="utf-8")
    results = {
        engine: run("translate", FOLDER, "--input", source, "--engine", engine)
        for engine in ("keras", "ctranslate2")
    }
    assert results["keras"].stdout == results["ctranslate2"].stdout
    assert "ctranslate2 searches; --engine keras" in results["ctranslate2"].stderr
    assert "searches" not in results["keras"].stderr
    arguments = "evaluate", FOLDER, "--source", source, "--reference", source, "--json"
    assert '"engine": "ctranslate2"' in run(*arguments, "--engine", "ctranslate2").stdout


@pytest.mark.parametrize(
    ("hidden_dim", "compute_type", "num_rows", "expected"),
    [
        (256, "float32", 1, 1),
        (512, "float32", 3, 8),
        (512, "float32", 4, 1),
        (512, "int8", 1, 1),
        (512, "int8", 4, 1),
    ],
)
def test_cores_share_a_sentence_only_where_its_products_are_large(
    hidden_dim, compute_type, num_rows, expected, model, monkeypatch
):
    monkeypatch.setattr(ctranslate2_search, "usable_cores", lambda: 8)
    called = []

    def record_cores(cores_per_batch, num_cores, sources, **options):
        called.append((cores_per_batch, num_cores))
        return [ctranslate2_result() for _ in sources]

    tokenizer = model.preprocessor.tokenizer
    search = CTranslate2Search(tokenizer, hidden_dim, compute_type, record_cores)
    ids = np.array([[100 + row, 5, tokenizer.end_token_id] for row in range(num_rows)])
    prompts, limits = np.zeros((num_rows, 4), "int32"), np.full(num_rows, 3)
    search.find(
        SearchOptions(length_penalty=0.0),
        lambda ids, *_: (np.zeros((len(ids), 1, 4)), np.zeros((len(ids), 1))),
        *(ids, np.ones_like(ids), prompts, limits, np.array(0)),
    )
    assert called == [(expected, 8)]


@pytest.mark.parametrize(
    ("num_rows", "num_left", "expected"), [(16, 2, [1, 1]), (16, 3, [16]), (4, 1, [1]), (4, 2, [4])]
)
def test_many_sentences_left_to_our_search_are_found_in_one_batch(
    num_rows, num_left, expected, model
):
    tokenizer = model.preprocessor.tokenizer
    ids = np.array([[100 + row, 5, tokenizer.end_token_id] for row in range(num_rows)])
    prompts, limits = np.zeros((num_rows, 4), "int32"), np.full(num_rows, 3)
    left = np.arange(num_rows)[-num_left:]
    prompts[left, 1] = 7  # a prefix
    batches = []

    def find_by_first_id(ids, *_):
        batches.append(len(ids))
        return np.repeat(ids[:, None, :1], 4, axis=2), -ids[:, :1].astype("float32")

    def find_nothing(*_, **__):
        return [finished_result() for _ in range(num_rows - num_left)]

    search = CTranslate2Search(tokenizer, 256, "float32", find_nothing)
    found, log_probs = search.find(
        SearchOptions(length_penalty=0.0),
        find_by_first_id,
        *(ids, np.ones_like(ids), prompts, limits, np.array(0)),
    )
    assert batches == expected
    assert (found[left, 0, 1] == 100 + left).all()
    assert (log_probs[left, 0] == -100 - left).all()
    assert (log_probs[: num_rows - num_left] == -1).all()


def finished_result():
    """What CTranslate2 gives for a sentence whose translation is a word."""
    return SimpleNamespace(hypotheses=[["▁a", "</s>"]], scores=[-1.0])


def ctranslate2_result():
    """What CTranslate2 gives for a sentence whose search was cut off."""
    return SimpleNamespace(hypotheses=[["▁a"]], scores=[-1.0])


@pytest.mark.skipif(sys.platform != "linux", reason="wheels for others have another OpenMP")
@pytest.mark.parametrize(("own", "expected"), [({}, "1000"), ({"GOMP_SPINCOUNT": "77"}, "77")])
def test_waiting_threads_sleep_soon_unless_the_user_wants_it_otherwise(own, expected):
    code = (
        "import os; from aiayn_keras_light.ctranslate2_search import load_ctranslate2; "
        "load_ctranslate2(); print(os.environ.get('GOMP_SPINCOUNT'))"
    )
    clean = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment = clean | {"OMP_DISPLAY_ENV": "VERBOSE"} | own
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert f"GOMP_SPINCOUNT = '{expected}'" in done.stderr
    assert done.stdout.strip() == own.get("GOMP_SPINCOUNT", "None")
