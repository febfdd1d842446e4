import numpy as np
import pytest

from aiayn_keras.export.served_sentences import BATCH_SIZE
from aiayn_keras.export.serving_kit import write_kit
from tests.documents.hard_texts import HARD_TEXTS
from tests.export.served import Served, call_in_fresh_process
from tests.helpers import assert_close

TEXTS = [
    "\n  - The girl is happy.  She works.\r\n\r\n\tHalf past three\n---\n",
    "",
    " \n",
    "The old bus, " * 60 + "x" * 400,
    *(each.text for each in HARD_TEXTS.values()),
]


@pytest.fixture(scope="module")
def version_folder(model, tmp_path_factory):
    pytest.importorskip("tensorflow_serving")
    folder = tmp_path_factory.mktemp("documents") / "small"
    return model.export(folder, num_beams=2, max_input_length=60, documents=True)


@pytest.fixture(scope="module")
def served(version_folder):
    return Served(version_folder)


@pytest.fixture(scope="module")
def expected(model):
    """The translations of a model of as few positions as the export takes wordpieces."""
    from aiayn_keras.documents.long_texts import translate_by_sentence

    tokenizer = model.preprocessor.tokenizer
    return translate_by_sentence(
        TEXTS, lambda sentences: model.translate(sentences, num_beams=2), tokenizer, 61
    )


@pytest.mark.slow
def test_a_fresh_process_translates_documents_as_the_model_does(version_folder, expected):
    answer = call_in_fresh_process(version_folder, "translate_document", text=TEXTS)
    assert answer["translation"] == [document.text for document in expected]
    assert answer["sentences"] == [len(document.sources) for document in expected]
    scores = [document.score for document in expected]
    assert_close(answer["score"], scores, rtol=1e-4, atol=1e-4)
    assert max(answer["sentences"]) > 10
    assert sum(answer["sentences"]) > 2 * BATCH_SIZE


def test_no_texts_have_no_translations(served):
    answer = served("translate_document", text=np.array([], object))
    assert {name: value.shape for name, value in answer.items()} == {
        "translation": (0,),
        "score": (0,),
        "sentences": (0,),
    }


def test_a_row_does_not_depend_on_the_others(served):
    together = served("translate_document", text=TEXTS[:4])
    alone = [served("translate_document", text=[text])["translation"][0] for text in TEXTS[:4]]
    assert together["translation"].tolist() == alone


@pytest.mark.slow
def test_bytes_that_are_no_utf8_spoil_no_other_row(served):
    import tensorflow as tf

    texts = tf.constant([b"\xff\xfe. \xc3 bus", b"The girl is happy."])
    answer = served.loaded.signatures["translate_document"](text=texts)
    alone = served("serving_default", text=["The girl is happy."])
    assert answer["translation"].numpy()[1].decode() == alone["translation"][0]


@pytest.fixture(scope="module")
def graph(version_folder):
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((version_folder / "saved_model.pb").read_bytes())
    return saved_model.meta_graphs[0].graph_def


def test_the_only_other_op_of_tensorflow_text_is_the_sentence_breaker(graph):
    import tensorflow as tf

    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    names = {node.op for node in nodes} - {f.signature.name for f in graph.library.function}
    texts = {name for name in names if not hasattr(tf.raw_ops, name)}
    assert texts - {"VarHandleOp"} == {
        "SentenceFragmentsV2",
        "SentencepieceDetokenizeOp",
        "SentencepieceIdToStringOp",
        "SentencepieceOp",
        "SentencepieceTokenizeOp",
        "SentencepieceTokenizeWithOffsetsOp",
    }


def test_the_server_is_warmed_up_for_documents(version_folder):
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    path = version_folder / "assets.extra" / "tf_serving_warmup_requests"
    logs = [
        prediction_log_pb2.PredictionLog.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(str(path))
    ]
    signatures = [log.predict_log.request.model_spec.signature_name for log in logs]
    assert "translate_document" in signatures


def test_the_model_card_says_so(version_folder):
    card = (version_folder.parent / "README.md").read_text("utf-8")
    assert card.count("| `translate_document` |") == 1


def test_a_model_of_no_known_length_is_sent_sentences_or_documents(tmp_path, note_version):
    note_version(tmp_path / "small", 1, documents=True)
    write_kit(tmp_path / "small")
    card = (tmp_path / "small" / "README.md").read_text("utf-8")
    assert "Send it sentence by sentence, or to `translate_document`.\n" in card


@pytest.mark.slow
def test_without_being_asked_there_is_no_signature(exported):
    assert "translate_document" not in (exported.parent / "README.md").read_text("utf-8")
    assert "translate_document" not in Served(exported).loaded.signatures


def test_documents_is_true_or_false(model, tmp_path):
    with pytest.raises(TypeError, match=r"`documents` must be True or False\. Received: 1"):
        model.export(tmp_path / "small", documents=1)
