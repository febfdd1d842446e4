"""The graph as the stock server needs it, and its runtime without Python."""

import json
import subprocess
import sys

import numpy as np
import pytest

from aiayn_keras.export import export_saved_model
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.serving.local_page import KitTranslator
from tests.export.c_client import build_c_client, run_c_client
from tests.export.random_model import build_random_model
from tests.export.served import Served
from tests.helpers import assert_close, slow_but
from tests.number_words import train_tokenizer

TEXTS = np.array(["The old bus arrived yesterday.", "", "Half past three.", "日本 \n🙂"], object)
SIGNATURES = {
    "serving_default": {"text": TEXTS},
    "translate_nbest": {"text": TEXTS},
    "align": {"text": TEXTS},
    "score": {"source": TEXTS, "target": TEXTS[::-1]},
    "generate_ids": {"token_ids": np.array([[5, 6, 3], [7, 3, 0]], "int32")},
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return build_c_client(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def graph(exported):
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((exported / "saved_model.pb").read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    return meta_graph


@pytest.fixture(scope="module")
def op_names(graph):
    library = graph.graph_def.library
    nodes = [*graph.graph_def.node, *(node for f in library.function for node in f.node_def)]
    return {node.op for node in nodes} - {function.signature.name for function in library.function}


def test_every_signature_is_tried(graph):
    assert {name for name in graph.signature_def if name[0] != "_"} == SIGNATURES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("signature", slow_but(["serving_default"], list(SIGNATURES)))
def test_a_c_program_gives_what_python_gives(client, exported, served, signature):
    inputs = SIGNATURES[signature]
    answer = run_c_client(client, exported, signature, inputs)
    expected = served(signature, **inputs)
    assert answer.keys() == expected.keys()
    for name, value in expected.items():
        if value.dtype == object:
            assert answer[name].tolist() == value.tolist()
        else:
            assert_close(answer[name], value, rtol=1e-3, atol=1e-3)


def test_the_graph_has_only_ops_of_tensorflow_and_its_tokenizer(op_names):
    known = subprocess.run(  # where nothing but TensorFlow is imported
        [
            *(sys.executable, "-c"),
            "import json, sys, tensorflow\n"
            "from tensorflow.python.framework import op_def_registry as ops\n"
            "print(json.dumps([op for op in json.load(sys.stdin) if ops.get(op)]))",
        ],
        input=json.dumps(sorted(op_names)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "While" in op_names
    assert op_names - set(json.loads(known.stdout)) == {
        "SentenceFragmentsV2",
        "SentencepieceDetokenizeOp",
        "SentencepieceIdToStringOp",
        "SentencepieceOp",
        "SentencepieceTokenizeOp",
        "SentencepieceTokenizeWithOffsetsOp",
    }


def test_no_op_needs_python_or_xla(op_names, graph):
    bad = [op for op in op_names if "Xla" in op or "PyFunc" in op or op.startswith("_")]
    assert bad == []
    functions = graph.graph_def.library.function
    for attribute in ("_XlaMustCompile", "_xla_compile_id", "_tf2xla_options"):
        assert [f.signature.name for f in functions if f.attr[attribute].b] == []


def test_no_table_waits_to_be_filled(op_names, graph):
    assert [op for op in op_names if "Table" in op] == []
    # The tokenizers carry their vocabulary in the graph.
    nodes = [node for f in graph.graph_def.library.function for node in f.node_def] + list(
        graph.graph_def.node
    )
    tokenizers = [node for node in nodes if node.op == "SentencepieceOp"]
    assert tokenizers
    assert all(node.attr["model"].s for node in tokenizers)


def test_inputs_have_no_fixed_size(graph):
    for name, inputs in SIGNATURES.items():
        signature = graph.signature_def[name]
        assert signature.inputs.keys() == inputs.keys()
        for tensor in signature.inputs.values():
            assert {dim.size for dim in tensor.tensor_shape.dim} == {-1}


@pytest.mark.slow
def test_its_readme_asks_for_the_ids_that_the_model_reads(seed, tmp_path):
    pytest.importorskip("tensorflow_serving")
    tokenizer = TransformerTokenizer(train_tokenizer().proto, source_end=False)
    model = build_random_model(tokenizer, seed, num_layers=1, num_encoder_layers=2)
    folder = export_saved_model(model, tmp_path / "endless", num_beams=1)
    assert "(B, S), `pieces`, padded" in (tmp_path / "endless" / "README.md").read_text("utf-8")
    text = "one two"
    (pieces,), served = tokenizer([text]), Served(folder)
    (expected,) = served("serving_default", text=[text])["score"]
    assert_close(expected, model.translate([text], num_beams=1)[0].score, rtol=1e-4)
    assert_close(served("generate_ids", token_ids=[[*pieces, 0]])["score"], [expected], rtol=1e-5)
    ended = served("generate_ids", token_ids=[[*pieces, tokenizer.end_token_id]])["score"][0]
    assert abs(ended - expected) > 0.01


@pytest.mark.parametrize("source_end", [pytest.param(True, marks=pytest.mark.slow), False])
def test_the_page_of_its_kit_leaves_nothing_of_a_long_text_out(source_end, seed, tmp_path):
    pytest.importorskip("tensorflow_serving")
    tokenizer = TransformerTokenizer(train_tokenizer().proto, source_end=source_end)
    model = build_random_model(tokenizer, seed, num_layers=1)
    folder = export_saved_model(model, tmp_path / "kit", num_beams=1, max_input_length=8)
    translator, text = KitTranslator(folder), "one two three four five six seven eight nine"
    sources = [sentence.source for sentence in translator.translate(text).sentences]
    assert " ".join(sources) == text
    assert all(len(pieces) <= 8 for pieces in tokenizer(sources))


@pytest.mark.slow
def test_a_coverage_penalty_is_exported_in_bfloat16(tmp_path):
    """Its sums of attention keep their shape in the loop for a single text, too."""
    model = build_random_model(train_tokenizer(), seed=3, num_layers=1, dtype="bfloat16")
    options = {"coverage_penalty": 0.3, "no_repeat_ngram_size": 2, "max_length": 6}
    served = Served(model.export(tmp_path / "small", num_beams=3, **options))
    texts = ["drei vier", "", "neun"]
    for some in (texts, texts[:1]):
        expected = model.translate(some, num_beams=3, **options)
        answer = served("serving_default", text=some)
        assert answer["translation"].tolist() == [each.text for each in expected]
        assert_close(answer["score"], [each.score for each in expected], rtol=0.02, atol=0.05)
