import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.export import export_saved_model
from aiayn_keras.models.translation import tokenize
from tests.export.c_client import build_c_client, run_c_client
from tests.helpers import assert_close

TEXTS = [
    "The old bus arrived yesterday.",
    "She knows that the girl is happy.",
    "",
    "   ",
    "Half past three.",
    "I will call Maria because the forest costs 16 € – naïve ☃ words!",
]


@pytest.fixture(scope="module")
def model(trained_run):
    return TransformerSeq2SeqLM.from_preset(str(trained_run))


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return model.export(tmp_path_factory.mktemp("models") / "small")


# Runs without this package.
FRESH = """
import json, sys
import numpy as np
import tensorflow as tf
import tensorflow_text
request = json.load(sys.stdin)
model = tf.saved_model.load(request["path"])
inputs = {name: tf.constant(value) for name, value in request["inputs"].items()}
outputs = model.signatures[request["signature"]](**inputs)
def plain(value):
    value = value.numpy()
    if value.dtype == object:
        return np.vectorize(lambda text: text.decode(), otypes=[object])(value).tolist()
    return value.tolist()
assert not {"aiayn_keras", "keras_hub"} & set(sys.modules)
print(json.dumps({name: plain(value) for name, value in outputs.items()}))
"""


def call_in_fresh_process(path, signature, **inputs):
    request = {"path": str(path), "signature": signature, "inputs": inputs}
    ran = subprocess.run(
        [sys.executable, "-c", FRESH], input=json.dumps(request), capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_fresh_process_translates_as_the_model_does(model, exported):
    answer = call_in_fresh_process(exported, "serving_default", text=TEXTS)
    expected = model.translate(TEXTS)
    assert answer["translation"] == [translation.text for translation in expected]
    assert_close(answer["score"], [translation.score for translation in expected], rtol=1e-4)


def test_nbest_is_the_models(model, exported):
    answer = call_in_fresh_process(exported, "translate_nbest", text=TEXTS)
    expected = model.translate(TEXTS, num_return_sequences=4)
    assert answer["translations"] == [[h.text for h in t.hypotheses] for t in expected]
    scores = [[h.score for h in t.hypotheses] for t in expected]
    assert_close(answer["scores"], scores, rtol=1e-4)


def test_the_score_signature_scores_as_the_model_does(model, exported):
    sources, targets = TEXTS[:2], ["Der alte Bus.", "Ja."]
    answer = call_in_fresh_process(exported, "score", source=sources, target=targets)
    assert_close(answer["log_probability"], model.score(sources, targets), rtol=1e-4)


def test_generate_ids_takes_and_gives_token_ids(model, exported):
    tokenizer = model.preprocessor.tokenizer
    (ids,) = tokenize(TEXTS[:1], "texts", tokenizer, 100)
    answer = call_in_fresh_process(exported, "generate_ids", token_ids=[[*ids, 0, 0]])
    (row,) = answer["token_ids"]
    assert row[0] == tokenizer.start_token_id
    pieces = [i for i in row if i not in tokenizer.special_token_ids]
    assert tokenizer.detokenize([pieces]) == [model.translate(TEXTS[:1])[0].text]


def test_a_c_program_without_python_translates_as_the_model_does(model, exported, tmp_path):
    rows = run_c_client(build_c_client(tmp_path), exported, TEXTS)
    expected = model.translate(TEXTS)
    assert [text for _, text in rows] == [translation.text for translation in expected]
    assert_close([score for score, _ in rows], [t.score for t in expected], rtol=1e-3, atol=1e-3)


def test_the_graph_has_only_ops_of_the_stock_server(exported):
    from tensorflow.core.protobuf import saved_model_pb2
    from tensorflow.python.framework import op_def_registry

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((exported / "saved_model.pb").read_bytes())
    graph = saved_model.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    functions = {f.signature.name for f in graph.library.function}
    ops = {node.op for node in nodes} - functions
    assert "While" in ops
    assert not {op for op in ops if "Xla" in op or op in ("PyFunc", "EagerPyFunc")}
    assert {op for op in ops if op.startswith("Sentencepiece")} == {
        "SentencepieceDetokenizeOp",
        "SentencepieceOp",
        "SentencepieceTokenizeOp",
    }
    assert {op for op in ops if op_def_registry.get(op) is None} == set()
    compiled = [f.signature.name for f in graph.library.function if f.attr["_XlaMustCompile"].b]
    assert compiled == []


def test_a_text_longer_than_the_model_is_cut(model, exported):
    limit = model.backbone.max_sequence_length
    tokenizer = model.preprocessor.tokenizer
    long_text = "bus " * limit
    pieces = tokenizer([long_text])[0][: limit - 1]
    answer = call_in_fresh_process(exported, "serving_default", text=[long_text])
    cut = model.translate([tokenizer.detokenize([pieces])[0]])[0]
    assert answer["translation"] == [cut.text]


def test_versions_count_up_and_are_never_overwritten(model, tmp_path):
    first = export_saved_model(model, tmp_path / "small", num_beams=1)
    second = export_saved_model(model, tmp_path / "small", num_beams=1)
    assert (first.name, second.name) == ("1", "2")
    with pytest.raises(FileExistsError, match="2 exists already"):
        export_saved_model(model, tmp_path / "small", version=2)
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == ["1", "2"]


def test_a_failed_export_leaves_nothing(model, tmp_path):
    with pytest.raises(ValueError, match="`num_beams` must be at least 1"):
        export_saved_model(model, tmp_path / "small", num_beams=0)
    assert list((tmp_path / "small").iterdir()) == []


def test_an_unknown_format_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match=r"Unknown `format` 'onxx'. There are: saved_model"):
        model.export(tmp_path / "small", format="onxx")


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_other_backends_export_the_same(model, trained_run, tmp_path, backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    script = (
        "import sys; from aiayn_keras import TransformerSeq2SeqLM;"
        "print(TransformerSeq2SeqLM.from_preset(sys.argv[1]).export(sys.argv[2]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(trained_run), str(tmp_path / "small")],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert ran.returncode == 0, ran.stderr
    answer = call_in_fresh_process(tmp_path / "small" / "1", "serving_default", text=TEXTS)
    assert answer["translation"] == [translation.text for translation in model.translate(TEXTS)]


def test_the_committed_demo_model_translates():
    path = Path(__file__).parents[2] / "saved_models" / "demo_en_de" / "1"
    answer = call_in_fresh_process(
        path, "serving_default", text=["The girl is happy.", "Every day Paul works."]
    )
    assert answer["translation"] == ["Das Mädchen ist glücklich.", "Jeden Tag arbeitet Paul."]
    assert np.all(np.array(answer["score"]) < 0)
