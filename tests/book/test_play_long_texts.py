"""The page to type into, given texts that are longer than what its model reads."""

import json
import shutil

import pytest

from tests.browser import serving
from tests.play_in_browser import PlayPage, texts_of

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

pytestmark = pytest.mark.slow

SENTENCE = "The old man has seventy-one red houses."


@pytest.fixture
def page_of_short_sentences(folder, browser, tmp_path):
    """The page of a model that has learned to read twelve pieces."""
    shutil.copytree(folder, tmp_path / "play")
    for weights in ("int8", "float32"):
        file = tmp_path / "play/model" / weights / "play.json"
        written = json.loads(file.read_text("utf-8"))
        assert written == {"copy_without_letters": False, "learned_length": None}
        file.write_text('{"learned_length": 12}', encoding="utf-8")
    with serving(tmp_path) as address:
        yield PlayPage(browser, f"{address}play/")


def test_a_sentence_that_is_longer_than_what_was_learned_is_said_to_be(page_of_short_sentences):
    page = page_of_short_sentences
    page.open(text="The girl is happy.")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    assert not page.find("long").is_displayed()
    page.find("clear").click()
    page.find("source").send_keys(SENTENCE)
    page.wait(page.find("long").is_displayed)
    assert "at most 12 pieces" in page.text_of("long")


def test_a_text_that_is_longer_than_what_was_learned_is_translated_by_sentences(
    page_of_short_sentences, model
):
    page = page_of_short_sentences
    sentences = ["The girl is happy.", "The cat is old!", "It is one o'clock."]
    found = [each.text for each in model.translate(sentences)]
    page.open(text="{}  {}\n- {}".format(*sentences), model="float32")
    page.wait_for_translation("{}  {}\n- {}".format(*found))
    assert page.text_of("status").endswith("Sentence 1 of 3.")
    assert not page.find("long").is_displayed()
    page.browser.find_elements("css selector", "#translation .sentence")[1].click()
    page.wait(lambda: page.text_of("status").endswith("Sentence 2 of 3."))
    assert texts_of(page, "#hypotheses .text")[0] == found[1]


def test_a_folder_of_ones_own_says_what_its_model_has_learned_to_read(page, model, tmp_path):
    folder = model.export(tmp_path / "mine", format="onnx", attention=True)
    file = folder / "play.json"
    written = json.loads(file.read_text("utf-8"))
    assert written == {"copy_without_letters": False, "learned_length": None}
    sentences = ["The girl is happy.", "The cat is old!", SENTENCE]
    text, expected = (
        " ".join(each) for each in (sentences, [found.text for found in model.translate(sentences)])
    )
    page.open(text=text, view="folder")
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    file.write_text('{"learned_length": "12"}', encoding="utf-8")
    page.find("folder").send_keys(str(folder))
    page.wait(lambda: "learned_length must be a whole number" in page.text_of("problem"))
    file.write_text('{"learned_length": 12}', encoding="utf-8")
    page.find("folder").send_keys(str(folder))
    page.wait_for_translation(expected)
    assert page.text_of("status").endswith("Sentence 1 of 3.")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Mr. Smith met Dr. A. Jones. They left.", ["Mr. Smith met Dr. A. Jones.", "They left."]),
        ('"Go!" she said. "Why?" He went.', ['"Go!" she said.', '"Why?"', "He went."]),
        ("Page No. 5 is lost. No. 5", ["Page No. 5 is lost.", "No. 5"]),
        ("Stop! —dijo. ¡Vete!", ["Stop! —dijo.", "¡Vete!"]),
        ("one\n\ntwo 12.\n34\n", ["one", "two 12."]),
        ("我回家。她看书。", ["我回家。", "她看书。"]),
        ("1. Go\n2) - Stop", ["Go", "Stop"]),
        ("no end", ["no end"]),
        ("12 34!", []),
    ],
)
def test_the_page_finds_sentences(page, text, sentences):
    page.open()
    script = """
        const [text, done] = arguments;
        import("./onnx/sentences.js").then(({ sentencesOf, join }) => {
          const parts = sentencesOf(text);
          const sentences = parts.filter((_, place) => place % 2);
          done([parts.join(""), sentences, join(parts, sentences.map(() => "Yes."))]);
        });
    """
    whole, found, joined = page.browser.execute_async_script(script, text)
    assert (whole, found) == (text, sentences)
    if text == "我回家。她看书。":
        assert joined == "Yes. Yes."
