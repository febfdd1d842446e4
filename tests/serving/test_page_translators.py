"""The page's translators: a model folder and a kit answer as the model does."""

import io
import json

import numpy as np
import pytest
import sentencepiece

from aiayn_keras.common.kit_files import UntrustedGraphError
from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.decoding.constraints import TokenAutomaton
from aiayn_keras.serving.local_page import FolderTranslator, KitTranslator, find_version
from aiayn_keras.serving.local_page.kit_translator import bound_wordpieces
from aiayn_keras.serving.local_page.requests import PageTranslation
from tests.serving.page_server import SAVED_MODELS

GIRL, MÄDCHEN = "The girl is happy.", "Das Mädchen ist glücklich."
TEXT = f"{GIRL} {GIRL}\n\n   Paul works.\r\n"
TRANSLATION = f"{MÄDCHEN} {MÄDCHEN}\n\n   Paul arbeitet.\r\n"


@pytest.fixture(scope="module")
def kit_translator():
    pytest.importorskip("tensorflow_text")
    return KitTranslator(find_version(SAVED_MODELS / "demo_en_de"))


@pytest.fixture(params=["folder", "kit"])
def translator(request):
    return request.getfixturevalue(f"{request.param}_translator")


def test_sentences_are_translated_and_the_text_between_them_is_kept(translator):
    found = translator.translate(TEXT)
    assert found.text == TRANSLATION
    assert [sentence.source for sentence in found.sentences] == [GIRL, GIRL, "Paul works."]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\u2028\x85"])
def test_a_text_without_words_is_its_own_translation(folder_translator, text):
    assert folder_translator.translate(text) == PageTranslation(text, ())


def test_hypotheses_equal_the_models(translator, demo_model):
    (sentence,) = translator.translate(GIRL).sentences
    expected = demo_model.translate([GIRL], num_return_sequences=4)[0].hypotheses
    assert [each.text for each in sentence.hypotheses] == [each.text for each in expected]
    np.testing.assert_allclose(
        [each.score for each in sentence.hypotheses], [each.score for each in expected], rtol=1e-4
    )


def test_normalised_scores_equal_those_of_the_served_graph(folder_translator, kit_translator):
    def scores(translator):
        (sentence,) = translator.translate(GIRL).sentences
        return [each.normalized_score for each in sentence.hypotheses]

    np.testing.assert_allclose(scores(folder_translator), scores(kit_translator), rtol=1e-4)
    assert scores(kit_translator) == sorted(scores(kit_translator), reverse=True)


def test_the_best_translation_is_explored(translator):
    explorer = translator.explore(GIRL, MÄDCHEN)
    assert "▁glückli" in explorer["words"]["target"]


@pytest.mark.slow
def test_the_search_of_a_folder_is_shown_step_by_step(folder_translator, kit_translator):
    steps = folder_translator.steps(GIRL)
    searches = steps["searches"]
    assert [search["beams"] for search in searches] == [1, 2, 3, 4, 5]
    assert all(MÄDCHEN in [text for _, text, *_ in each["finished"]] for each in searches)
    assert "search" in folder_translator.views
    assert "search" not in kit_translator.views


def test_a_kit_explores_only_the_best_translation(kit_translator):
    with pytest.raises(
        ValueError, match="only shows the attention of a sentence's best translation"
    ):
        kit_translator.explore(GIRL, "Das Mädchen hat glücklich.")
    with pytest.raises(ValueError, match="text without words has no attention"):
        kit_translator.explore("", "")


def test_an_overlong_sentence_is_split_the_same_way_and_no_part_is_lost(
    folder_translator, kit_translator
):
    text = "the girl knows that the old bus comes, " * 40
    by_folder, by_kit = (each.translate(text) for each in (folder_translator, kit_translator))
    sources = [sentence.source for sentence in by_folder.sentences]
    assert len(sources) > 1
    assert " ".join(sources) == text.strip()
    assert [sentence.source for sentence in by_kit.sentences] == sources
    assert by_kit.text == by_folder.text


def test_a_translation_can_be_given_up_between_batches(translator):
    def give_up():
        raise InterruptedError

    with pytest.raises(InterruptedError):
        translator.translate(f"{GIRL}\n" * 40, give_up)


def test_the_newest_version_of_a_kit_is_found(tmp_path):
    assert find_version(tmp_path) is None
    for name in ("2", "10", "9x", "note"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "saved_model.pb").touch()
    (tmp_path / "11").mkdir()
    assert find_version(tmp_path) == tmp_path / "10"
    assert find_version(tmp_path / "2") == tmp_path / "2"


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nfkc_cf", "identity"])
def test_no_sentence_has_more_wordpieces_than_the_bound(normalization):
    """The bound is tightest for byte fallback, which spells a character with several pieces."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(generate_demo_pairs(600, 0, "train").sources),
        model_writer=written,
        vocab_size=400,
        byte_fallback=True,
        model_type="bpe",
        normalization_rule_name=normalization,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    texts = [chr(code) * 3 for code in range(1 << 17) if not 0xD800 <= code < 0xE000]
    for text, pieces in zip(texts, processor.encode(texts), strict=True):
        assert len(pieces) <= bound_wordpieces(text.encode()), text


@pytest.mark.slow
def test_a_folder_s_search_is_compiled_before_the_first_text(demo_model, monkeypatch):
    searched, translate = [], demo_model.translate
    monkeypatch.setattr(
        demo_model,
        "translate",
        lambda *texts, **options: searched.append(texts) or translate(*texts, **options),
    )
    FolderTranslator(demo_model).warm_up()
    assert searched == [(["a"],)]
    FolderTranslator(
        demo_model, constraint=TokenAutomaton(((0, 9, 1),), (1,)), max_length=1
    ).warm_up()


def test_a_kit_that_may_write_files_is_not_loaded_unless_it_is_trusted(tmp_path):
    tf = pytest.importorskip("tensorflow")
    canary, module = tmp_path / "canary", tf.Module()

    class Writing(tf.saved_model.experimental.TrackableResource):
        """A resource that writes a file when it is loaded."""

        def _create_resource(self):
            return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=(), shared_name="x", container="")

        def _initialize(self):
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=0.0)
            tf.io.write_file(str(canary), "it ran")

    module.writing = Writing()
    spec = tf.TensorSpec([None], tf.string, name="text")
    module.serve = tf.function(lambda text: {"x": text}, input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(tmp_path / "kit"), signatures=module.serve)
    canary.unlink(missing_ok=True)
    (tmp_path / "kit/assets.extra").mkdir()
    notes = {"options": {"max_input_length": 9}, "card": {}}
    (tmp_path / "kit/assets.extra/export.json").write_text(json.dumps(notes))
    with pytest.raises(UntrustedGraphError, match=r"has the operation `WriteFile`.* with --trust"):
        KitTranslator(tmp_path / "kit")
    assert not canary.exists()
    with pytest.raises(ValueError, match="it lacks align"):
        KitTranslator(tmp_path / "kit", trust=True)
    assert canary.read_text() == "it ran"
