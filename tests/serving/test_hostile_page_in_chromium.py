"""The local page in a real browser with hostile texts, other requests or a failing server."""

import threading

import numpy as np
import pytest

from aiayn_keras.convert.tokenizers import build_word_model
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras.plotting import attention_explorer, decoding_steps
from aiayn_keras.serving.local_page import FolderTranslator
from aiayn_keras.serving.local_page.server import MAX_WAITING
from tests.browser import requested_urls
from tests.claims.hostile_text import BROKEN_UTF8, EMOJI, RIGHT_TO_LEFT, SPACES, SYMBOLS
from tests.helpers import slow_but
from tests.serving.page_in_browser import PageInBrowser
from tests.serving.page_server import (
    FACTS,
    KIT_FACTS,
    EchoTranslatorDouble,
    PageServer,
    WaitingTranslatorDouble,
)

GIRL, MÄDCHEN = "The girl is happy.", "Das Mädchen ist glücklich."
MARKUP = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</div></textarea><svg onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    '"><a href="javascript:alert(1)">x</a>',
    "&lt;b&gt; &amp; ${alert(1)} {{alert(1)}}",
)
TEXTS = {
    "markup": "\n".join(MARKUP),
    "emoji": " ".join(EMOJI),
    "right to left": f"a {RIGHT_TO_LEFT} b",
    "NUL": "a\x00b",
    "symbols": " ".join(SYMBOLS),
    "spaces": f"a{SPACES}b".replace("\r", "").replace("\n", ""),
    "not UTF-8": b" ".join(BROKEN_UTF8).decode("utf-8", errors="replace"),
    "one long word": "x" * 10_000,
    "many lines": "a\n" * 100,
}


@pytest.fixture
def open_page(browser):
    """Returns a function that opens the page of a server."""
    return lambda server: PageInBrowser(browser, server.url)


@pytest.fixture(scope="module")
def echo():
    """A server that translates each text to itself, as a model might."""
    with PageServer(EchoTranslatorDouble(), FACTS) as server:
        yield server


@pytest.fixture(scope="module")
def server(folder_translator):
    with PageServer(folder_translator, FACTS) as server:
        yield server


def assert_inert(page):
    """Asserts that no dialog is open and that the text has not created an element."""
    assert page.browser.execute_script("return document.title") == "demo – translate"
    found = page.all(
        "main script, img, main svg, main a:not(#view-change a), main b, iframe iframe"
    )
    assert found == []
    assert page.browser.get_log("browser") == []


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_text_is_shown_as_it_is(open_page, echo, text):
    page = open_page(echo)
    page.paste(text)
    page.wait_until_answered()
    lines = [line.strip() for line in text.splitlines()]
    shown = [line.strip() for line in page.text_of("#translation").splitlines()]
    assert shown == lines
    page.alternatives()
    first = next(line for line in lines if line)
    assert page.all("#hypotheses .text")[0].get_property("textContent") == first
    assert page.sideways() == 0
    assert_inert(page)


@pytest.mark.parametrize("text", slow_but(["markup", "NUL"], TEXTS))
def test_a_model_answers_any_text(open_page, server, text):
    page = open_page(server)
    page.paste(text)
    page.wait_until_answered()
    page.paste(GIRL)
    page.wait_for_translation(MÄDCHEN)
    assert page.text_of("#problem") == ""
    assert_inert(page)


def test_half_of_an_emoji_is_no_error(open_page, echo):
    page = open_page(echo)
    page.browser.execute_script(
        "const source = document.getElementById('source');"
        "source.value = 'a\\ud83d'; source.dispatchEvent(new Event('input'))"
    )
    page.wait_for_translation("a\N{REPLACEMENT CHARACTER}")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>" * 4_000, "ä" * 100_000])
def test_a_hundred_thousand_characters_are_not_sent_but_explained(open_page, server, text):
    page = open_page(server)
    page.paste(text)
    page.wait(lambda: page.text_of("#problem"))
    assert page.text_of("#problem") == (
        "The text has 100,000 characters; this page takes at most 10,000 at once."
    )
    assert page.find("#source").get_property("value") == text
    assert f"{server.url}translate" not in requested_urls(page.browser)
    assert page.sideways() == 0
    assert_inert(page)
    page.paste(GIRL)
    page.wait_for_translation(MÄDCHEN)


def test_markup_that_got_into_the_page_would_run_no_script(open_page, server):
    page = open_page(server)
    ran = page.browser.execute_async_script(
        "const done = arguments[0];"
        "document.addEventListener('securitypolicyviolation', () => done(window.ran));"
        "document.body.insertAdjacentHTML('beforeend', '<img src=data:, onerror=\"ran=true\">');"
    )
    assert ran is None
    entries = page.browser.get_log("browser")  # of the header and of the page itself
    assert entries
    assert all("Content Security Policy" in entry["message"] for entry in entries)


def test_the_page_reaches_no_other_address(open_page, server):
    page = open_page(server)
    directive = page.browser.execute_async_script(
        "const done = arguments[0];"
        "document.addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));"
        "fetch('http://127.0.0.1:9/').catch(() => setTimeout(done, 2000, 'not refused'));"
    )
    assert directive == "connect-src"
    page.browser.get_log("browser")  # it tells of the refusal


def test_another_site_asks_for_nothing_and_frames_nothing(open_page, server, tmp_path):
    (tmp_path / "other.html").write_text(
        f"<!DOCTYPE html><title>other</title><iframe src='{server.url}'></iframe>"
    )
    page = open_page(server)
    page.browser.get((tmp_path / "other.html").as_uri())
    page.browser.switch_to.frame(0)
    framed = page.browser.execute_script("return document.title")
    page.browser.switch_to.default_content()
    assert framed != "demo – translate"
    for content_type in ("application/json", "text/plain"):
        outcome = page.browser.execute_async_script(
            "const [url, type, done] = arguments;"
            "const headers = { 'Content-Type': type };"
            "fetch(url, { method: 'POST', body: '{\"text\": \"a\"}', headers })"
            "  .then(() => done('read'), ({ name }) => done(name))",
            f"{server.url}translate",
            content_type,
        )
        assert outcome == "TypeError"


# ---- A model whose wordpieces are markup ----

PIECES = (
    "</script><img/src=x/onerror=top.document.title='hurt'>",
    "<script>top.document.title='hurt'</script>",
    "--><svg/onload=top.document.title='hurt'>",
    "</textarea></style></iframe><iframe/srcdoc='<script>alert(1)</script>'>",
    "&quot;&lt;b&gt;",
    "${alert(1)}",
)


@pytest.fixture(scope="module")
def markup_model():
    """A model of random weights that reads and writes nothing but such pieces."""
    tokenizer = TransformerTokenizer(build_word_model([None] * 4 + list(PIECES)))
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 1, 2, 8, intermediate_dim=12, max_sequence_length=32
    )
    noise = np.random.default_rng(1)
    for weight in backbone.weights:
        weight.assign(weight + noise.normal(0.0, 0.4, weight.shape))
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 16, 16)
    return TransformerSeq2SeqLM(backbone, preprocessor)


def assert_frame_is_inert(browser, frame):
    """Asserts that a page in a frame shows pieces as text and has no element made of them."""
    browser.switch_to.frame(frame)
    found = browser.execute_script(
        "return [document.body.innerText.includes('onerror'),"
        "        document.querySelectorAll('img, svg[onload], iframe, b').length]"
    )
    browser.switch_to.default_content()
    assert found == [True, 0]


@pytest.mark.slow
def test_pieces_of_a_vocabulary_are_text_on_the_page_and_in_its_frames(open_page, markup_model):
    translator = FolderTranslator(markup_model, max_length=6)
    with PageServer(translator, FACTS) as server:
        page = open_page(server)
        page.paste(" ".join(PIECES[:3]))
        page.wait_until_answered()
        assert any(piece in page.text_of("#translation") for piece in PIECES)
        assert_inert(page)
        for view, frame in (("attention", "#explorer"), ("search", "#steps")):
            page.choose(view)
            page.wait(lambda frame=frame: page.all(f"{frame} iframe"))
            assert_frame_is_inert(page.browser, page.find(f"{frame} iframe"))
        page.choose("next")
        assert any(map(shows_markup, page.wait(lambda: page.texts_of("#next-pieces bdi"))))
        page.choose("own")
        page.wait(lambda: page.text_of("#own-score").startswith("Yours"))
        assert any(map(shows_markup, page.texts_of("#own-pieces bdi")))
        assert any(map(shows_markup, page.texts_of("#source-pieces bdi, #target-pieces bdi")))
        assert_inert(page)


def shows_markup(text):
    return any(piece in text for piece in PIECES)


@pytest.mark.slow
def test_pieces_of_a_vocabulary_are_text_in_a_notebook_and_a_book(browser, markup_model, tmp_path):
    source, target = " ".join(PIECES), " ".join(PIECES[::-1])
    shown = [
        attention_explorer(markup_model.attention_maps(source, target)),
        decoding_steps(markup_model.record_search(source, (2,), (0.6,), max_length=5)),
    ]
    cells = "".join(each._repr_html_() for each in shown)
    (tmp_path / "book.html").write_text(f"<!DOCTYPE html><title>book</title>{cells}", "utf-8")
    browser.get_log("browser")  # of the tests before, which provoke refusals
    browser.get((tmp_path / "book.html").as_uri())
    frames = browser.find_elements("css selector", "iframe")
    assert len(frames) == 2
    for frame in frames:
        assert_frame_is_inert(browser, frame)
    assert browser.title == "book"
    assert browser.get_log("browser") == []


# ---- Many requests ----


@pytest.mark.slow
def test_fifty_requests_at_once_are_answered_or_refused_and_the_page_still_works(open_page, server):
    page = open_page(server)
    statuses = page.browser.execute_async_script(
        "const done = arguments[1];"
        "const headers = { 'Content-Type': 'application/json' };"
        "const lines = (number) => `${arguments[0]}\\n`.repeat(1 + number % 4);"
        "const body = (number) => JSON.stringify({ text: lines(number) });"
        "const send = (_, number) =>"
        "  fetch('/translate', { method: 'POST', headers, body: body(number) });"
        "Promise.all(Array.from({ length: 50 }, send))"
        "  .then(answers => done(answers.map(({ status }) => status)), done)",
        GIRL,
    )
    assert len(statuses) == 50
    assert set(statuses) <= {200, 503}
    page.press(GIRL)
    page.wait_for_translation(MÄDCHEN)


def test_a_newer_text_ends_the_request_for_the_older_one(open_page):
    translator = WaitingTranslatorDouble()
    with PageServer(translator, FACTS) as server:
        page = open_page(server)
        page.paste("old")
        assert translator.started.acquire(timeout=60)
        assert page.find("#translation").get_attribute("aria-busy") == "true"
        page.paste("new")
        for _ in ("the old one is abandoned", "the new one is begun"):
            assert translator.started.acquire(timeout=60)
        translator.may_end.release()
        page.wait_for_translation("new")
        assert page.find("#translation").get_attribute("aria-busy") == "false"
    assert (translator.texts, translator.abandoned) == (["old", "new"], ["old"])


def test_a_busy_server_is_asked_again(open_page):
    translator = WaitingTranslatorDouble()
    with PageServer(translator, FACTS) as server:
        page = open_page(server)
        ask = (lambda: server.ask("/translate", {"text": "other"}),)
        others = [threading.Thread(target=each) for each in ask * (MAX_WAITING + 1)]
        for other in others:
            other.start()
        page.paste("mine")
        page.wait(lambda: "Too many requests" in page.text_of("#problem"))
        translator.may_end.release(1000)
        page.wait_for_translation("mine")
        assert page.text_of("#problem") == ""
        for other in others:
            other.join()


def test_a_server_that_is_gone_is_said(open_page):
    with PageServer(EchoTranslatorDouble(), FACTS) as server:
        page = open_page(server)
        page.press("a")
        page.wait_for_translation("a")
    page.press("b")
    page.wait(lambda: "`aiayn-keras serve`" in page.text_of("#problem"))
    assert page.text_of("#translation") == "a"


def test_a_kit_shows_its_translations_and_the_attention_of_the_best(open_page):
    with PageServer(EchoTranslatorDouble(), KIT_FACTS) as server:
        page = open_page(server)
        page.press("a")
        page.wait_for_translation("a")
        shown = [tab.text for tab in page.all("#tabs button") if tab.is_displayed()]
        assert shown == ["Attention"]
        for selector in ("#beams", "#alpha", "#read", "#written", "#document", "#start-tour"):
            assert not page.find(selector).is_displayed(), selector
        lines = page.alternatives()
        page.wait(lambda: page.find("iframe").is_displayed())
        lines[1].click()
        assert not page.find("iframe").is_displayed()
        assert "only shows the attention of the best translation" in page.text_of("#nothing")
        lines[0].click()
        page.wait(lambda: page.find("iframe").is_displayed())
        assert not page.find("#nothing").is_displayed()
