"""The C client itself, on a stand-in for a model: a module that upper-cases what it tokenizes."""

import numpy as np
import pytest
import sentencepiece

from tests.export.c_client import build_c_client, run_c_client

SENTENCES = [
    "ein kleines haus",
    "zwei\nzeilen",
    "der große Hund schläft",
    "",
    "zwei Wörter\u2028und mehr",
    "日本 🙂",
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return build_c_client(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("vocabulary") / "vocabulary"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 20),
        model_prefix=str(prefix),
        model_type="bpe",
        vocab_size=80,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return prefix.with_suffix(".model").read_bytes()


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory, vocabulary):
    """SavedModel with the signature of an exported model: upper case, and minus the tokens."""
    import tensorflow as tf
    import tensorflow_text

    class UpperCaseStandIn(tf.Module):
        def __init__(self):
            super().__init__()
            self.tokenizer = tensorflow_text.SentencepieceTokenizer(vocabulary)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def __call__(self, text):
            ids = self.tokenizer.tokenize(text)
            translation = tf.strings.upper(self.tokenizer.detokenize(ids), encoding="utf-8")
            return {"translation": translation, "score": -tf.cast(ids.row_lengths(), tf.float32)}

    module = UpperCaseStandIn()
    folder = str(tmp_path_factory.mktemp("stand_in") / "1")
    tf.saved_model.save(module, folder, signatures={"serving_default": module.__call__})
    return folder


def translate(client, stand_in, texts, **options):
    inputs = {"text": np.array(texts, dtype=object)}
    return run_c_client(client, stand_in, "serving_default", inputs, **options)


@pytest.mark.slow
def test_text_and_scores_survive_the_way_through_c(client, stand_in, vocabulary):
    tokenizer = sentencepiece.SentencePieceProcessor(model_proto=vocabulary)
    pieces = tokenizer.encode(SENTENCES)
    answer = translate(client, stand_in, SENTENCES)
    assert answer["translation"].tolist() == [tokenizer.decode(ids).upper() for ids in pieces]
    assert answer["score"].tolist() == [-len(ids) for ids in pieces]


@pytest.mark.slow
def test_no_lines_give_no_lines(client, stand_in):
    assert translate(client, stand_in, [])["translation"].shape == (0,)


@pytest.mark.slow
def test_a_missing_op_library_is_named(client, stand_in):
    with pytest.raises(RuntimeError, match="SentencepieceOp"):
        translate(client, stand_in, SENTENCES, op_libraries=())
