"""The local page in a real browser, by keyboard and mouse."""

import numpy as np
import pytest

from tests.browser import contrast, luminance, prefer_scheme, requested_urls, set_width
from tests.serving.page_in_browser import PageInBrowser
from tests.serving.page_server import FACTS, PageServer

GIRL, MÄDCHEN = "The girl is happy.", "Das Mädchen ist glücklich."
OTHER = "Das Mädchen hat glücklich."
LINES, TRANSLATED_LINES = f"{GIRL}\n\n  Paul works.", f"{MÄDCHEN}\n\n  Paul arbeitet."


@pytest.fixture(scope="module")
def server(folder_translator):
    with PageServer(folder_translator, FACTS) as server:
        yield server


@pytest.fixture
def page(browser, server):
    """The page of the demo model; its console must stay empty."""
    yield PageInBrowser(browser, server.url)
    assert browser.get_log("browser") == []


def test_a_text_is_translated_as_it_is_typed(page, server):
    page.press(GIRL)  # the text has the focus from the beginning
    page.wait_for_translation(MÄDCHEN)
    assert "log-probability −0.27" in page.text_of("#status")
    assert page.text_of("#status").endswith(" ms.")
    page.press(" ", "x")
    page.press("\b", "\b")
    page.wait_for_translation(MÄDCHEN)
    page.explorer_words()
    urls = {url for url in requested_urls(page.browser) if url.startswith("http")}
    assert {server.url, f"{server.url}translate", f"{server.url}explore"} < urls
    assert all(url.startswith(server.url) for url in urls)


def test_the_page_says_what_it_is_for_and_of_which_languages(page):
    assert page.find("h1").text == "demo"
    assert page.find("#languages").text == "English → German."
    assert page.find("#source").accessible_name == "Text"
    assert page.find("#source").get_attribute("lang") == "en"
    assert page.find("#translation").get_attribute("lang") == "de"
    assert page.find("#translation").get_attribute("aria-live") == "polite"
    tabs = [tab.text for tab in page.all("#tabs button") if tab.is_displayed()]
    assert tabs == ["Attention", "Search", "Next piece", "Your translation"]
    assert not page.all("[data-engine], #formats")
    footer = page.find("footer").text
    assert "not for production" in footer
    assert footer.endswith("a command")


def test_lines_stay_lines_and_each_sentence_has_its_own_translations(page):
    page.paste(LINES)
    page.wait_for_translation(TRANSLATED_LINES)
    page.alternatives()
    assert page.all("#hypotheses .text")[0].text == MÄDCHEN
    page.all("#translation .sentence")[1].click()
    assert page.text_of("#status").endswith("Sentence 2 of 2.")
    page.wait(lambda: "▁Paul" in page.explorer_words())
    assert page.all("#hypotheses .text")[0].text == "Paul arbeitet."
    assert page.find("#sentence").get_property("value") == "1"
    page.all("#hypotheses label")[1].click()
    second = page.all("#hypotheses .text")[1].text
    assert page.text_of("#translation") == f"{MÄDCHEN}\n\n  {second}"


def test_a_file_is_translated_and_given_back(page, tmp_path):
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    behavior = {"behavior": "allow", "downloadPath": str(downloads)}
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
    file = tmp_path / "my notes.md"
    file.write_text(f"# {GIRL}\n\n`code`\n", encoding="utf-8")
    page.find("#file").send_keys(str(file))
    page.wait(lambda: page.find("#document-status").text.endswith("is translated: my notes.de.md"))
    page.wait((downloads / "my notes.de.md").is_file)
    translated = (downloads / "my notes.de.md").read_text(encoding="utf-8")
    assert translated == f"# {MÄDCHEN}\n\n`code`\n"
    file = tmp_path / "scan.pdf"
    file.write_bytes(b"%PDF")
    page.find("#file").send_keys(str(file))
    page.wait(lambda: "format .pdf is not supported" in page.find("#document-status").text)
    page.browser.get_log("browser")  # Chromium writes down the status 422


def test_a_file_that_is_dropped_is_translated(page):
    drop = """
    const files = new DataTransfer();
    files.items.add(new File([arguments[0]], "letter.txt"));
    for (const kind of ["dragover", "drop"]) {
      window.dispatchEvent(new DragEvent(kind, { dataTransfer: files, cancelable: true }));
    }
    """
    page.browser.execute_script(drop, f"{GIRL}\n")
    page.wait(lambda: page.find("#document-status").text.endswith("letter.de.txt"))


@pytest.mark.slow
def test_the_mouse_chooses_a_translation_and_explores_it(page):
    page.press(GIRL)
    page.wait_for_translation(MÄDCHEN)
    lines = page.alternatives()
    scores = [each.text for each in page.all("#hypotheses .scores")]
    assert scores[0].startswith("log-probability −0.27")
    assert len(scores) == FACTS.num_beams
    lines[1].click()
    assert page.text_of("#translation") == OTHER
    page.wait(lambda: "▁hat" in page.explorer_words())
    lines[0].click()
    page.wait(lambda: "▁ist" in page.explorer_words())


def test_the_explorer_is_a_frame_that_may_run_scripts_and_nothing_else(page):
    page.press(GIRL)
    page.wait_for_translation(MÄDCHEN)
    words = page.explorer_words()
    assert words[:2] == ["▁Das", "▁Mädchen"]
    frame = page.find("iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    page.browser.switch_to.frame(frame)
    page.all("#queries button")[0].click()
    assert len(page.all("#keys .number")) == 6
    reached = page.browser.execute_script(
        "try { return parent.document.title } catch (error) { return error.name }"
    )
    assert reached == "SecurityError"
    needed = page.browser.execute_script("return document.documentElement.scrollHeight")
    page.browser.switch_to.default_content()
    page.wait(lambda: page.find("iframe").get_property("clientHeight") >= needed)


def test_the_page_is_used_with_the_keyboard_alone(page):
    from selenium.webdriver.common.keys import Keys

    page.press(LINES.replace("\n", Keys.ENTER))
    page.press_control_enter()
    page.wait_for_translation(TRANSLATED_LINES)
    assert page.focused().get_attribute("id") == "source"
    visited = []
    while not visited or visited[-1] != "summary":
        page.press(Keys.TAB)
        element = page.focused()
        visited.append(element.get_attribute("id") or element.tag_name)
    buttons = ["clear", "example", "start-tour", "show-words"]
    assert visited == ["beams", "alpha", *buttons, "copy", "translation", "sentence", "summary"]
    page.press(Keys.ENTER, Keys.TAB, Keys.ARROW_DOWN)
    assert page.focused().accessible_name.startswith(OTHER)
    assert page.text_of("#translation").startswith(OTHER)
    page.wait(lambda: "▁hat" in page.explorer_words())
    page.press(Keys.TAB, Keys.TAB)
    assert page.focused().get_attribute("id") == "tab-attention"
    page.press(Keys.TAB, Keys.TAB)
    # The frame has a process of its own, which the browser asks to take the focus.
    page.wait(lambda: page.browser.switch_to.active_element.tag_name == "iframe")
    page.find("#tab-attention").send_keys(Keys.ARROW_LEFT)
    assert page.focused().get_attribute("id") == "tab-own"
    page.wait(lambda: page.text_of("#own-score").startswith("Yours"))


def test_the_translation_is_copied(page, server):
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    grant = {"origin": server.url.rstrip("/"), "permissions": permissions}
    page.browser.execute_cdp_cmd("Browser.grantPermissions", grant)
    try:
        page.paste(LINES)
        page.wait_for_translation(TRANSLATED_LINES)
        page.find("#copy").click()
        page.wait(lambda: page.find("#copy").text == "Copied")
        copied = page.browser.execute_async_script(
            "navigator.clipboard.readText().then(arguments[0], error => arguments[0](error.name))"
        )
        assert copied == TRANSLATED_LINES
    finally:
        page.browser.execute_cdp_cmd("Browser.resetPermissions", {})


@pytest.mark.slow
def test_text_and_theme_survive_a_reload_and_can_be_cleared(page):
    page.press(GIRL)
    page.wait_for_translation(MÄDCHEN)
    page.find("#theme").click()
    theme = page.find("html").get_attribute("data-theme")
    page.browser.refresh()
    assert page.find("#source").get_property("value") == GIRL
    assert page.find("html").get_attribute("data-theme") == theme
    page.wait_for_translation(MÄDCHEN)
    page.find("#clear").click()
    page.wait_for_translation("")
    assert page.focused().get_attribute("id") == "source"
    assert not page.find("#result").is_displayed()
    page.browser.refresh()
    assert page.find("#source").get_property("value") == ""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_and_paper_follow_the_reader_or_the_button(page, scheme):
    other = {"light": "dark", "dark": "light"}[scheme]
    prefer_scheme(page.browser, scheme)
    try:
        page.press(GIRL)
        page.wait_for_translation(MÄDCHEN)
        page.alternatives()
        for expected in (scheme, other):
            assert_readable(page, expected)
            button = {"light": "Dark theme", "dark": "Light theme"}[expected]
            assert page.find("#theme").text == button
            page.find("#theme").click()
    finally:
        prefer_scheme(page.browser, None)


def assert_readable(page, scheme):
    """Page and explorer are light or dark, and their text differs enough from what is behind it."""
    for selector, behind in (
        ("h1", "body"),
        ("#languages", "body"),
        ("#source", "#source"),
        ("#translation", "body"),
        ("#tab-search", "#tab-search"),
        ("#source-pieces small", "body"),
        ("#hypotheses label:has(:checked) .scores", "#hypotheses label:has(:checked)"),
        ("footer", "body"),
    ):
        ink = page.all(selector)[0].value_of_css_property("color")
        paper = page.all(behind)[0].value_of_css_property("background-color")
        assert (luminance(paper) > 0.5) == (scheme == "light"), selector
        assert contrast(ink, paper) >= 4.5, selector
    page.explorer_words()
    page.browser.switch_to.frame(page.find("iframe"))
    paper = page.find("body").value_of_css_property("background-color")
    page.browser.switch_to.default_content()
    assert (luminance(paper) > 0.5) == (scheme == "light"), "the explorer's"


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_nothing_is_cut_off_at_the_side(page, width):
    set_width(page.browser, width)
    try:
        page.paste(f"{LINES}\n{'Donaudampfschiff' * 8}")
        page.wait(lambda: page.text_of("#translation").startswith(TRANSLATED_LINES))
        page.alternatives()
        page.explorer_words()
        for selector in ("#source", "#translation", "#sentence", "#hypotheses", "#theme", "iframe"):
            box = page.find(selector).rect
            assert box["x"] >= 0, selector
            assert box["x"] + box["width"] <= width, selector
        for view in ("attention", "search", "next", "own"):
            page.choose(view)
            assert page.sideways() == 0, view
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_the_views_show_what_the_model_says(page, demo_model):
    page.paste(GIRL)
    page.wait_for_translation(MÄDCHEN)
    page.choose("next")
    first = page.wait(lambda: page.texts_of("#next-pieces bdi"))[0]
    best = demo_model.score([GIRL], [MÄDCHEN], per_token=True)[0]
    shown = float(page.texts_of("#next-pieces .number")[0].removesuffix("\u00a0%"))
    assert shown == pytest.approx(100 * np.exp(best[0]), abs=0.06)
    page.all("#next-pieces button")[0].click()
    page.wait(lambda: page.text_of("#next-written") == first.removeprefix("▁"))
    page.choose("own")
    page.wait(lambda: "log-probability −0.27" in page.text_of("#own-score"))
    own = page.find("#own")
    own.clear()
    own.send_keys(OTHER)
    (expected,) = demo_model.score([GIRL], [OTHER])
    score = f"log-probability {expected:.3f}".replace(" -", " −")
    page.wait(lambda: score in page.text_of("#own-score"))
    page.choose("search")
    page.wait(lambda: page.all("#steps iframe"))
    page.browser.switch_to.frame(page.find("#steps iframe"))
    page.wait(lambda: "4 beams and α = 0.6" in page.text_of("#recorded"))
    page.browser.switch_to.default_content()
    assert page.find("#steps iframe").get_attribute("sandbox") == "allow-scripts"


def test_a_next_piece_that_the_server_cannot_give_is_explained_and_can_be_taken_again(
    browser, folder_translator
):
    with PageServer(folder_translator, FACTS) as server:
        page = PageInBrowser(browser, server.url)
        page.press(GIRL)
        page.wait_for_translation(MÄDCHEN)
        page.find("#tab-next").click()
        page.wait(lambda: page.all("#next-pieces button"))
    take = "document.querySelector('#next-pieces button').click()"
    browser.execute_script(take)
    page.wait(lambda: "server does not answer" in page.text_of("#next-limit"))
    assert page.text_of("#next-written") == "nothing yet"
    answers = """
    const answer = { written: "Das", limit: null, logits: "", may_be_chosen: "", best: [] };
    const headers = { "Content-Type": "application/json" };
    fetch = async () => new Response(JSON.stringify(answer), { headers });
    """
    browser.execute_script(answers + take)
    page.wait(lambda: page.text_of("#next-written") == "Das")
    assert page.text_of("#next-limit") == ""
    assert not [each for each in browser.get_log("browser") if "Uncaught" in each["message"]]


def test_the_sliders_search_with_other_beams_and_penalties(page, demo_model):
    page.paste(GIRL)
    page.wait_for_translation(MÄDCHEN)
    for name, value in (("beams", 2), ("alpha", 1.5)):
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        page.browser.execute_script(move, page.find(f"#{name}"), value)
    options = {"num_beams": 2, "length_penalty": 1.5, "num_return_sequences": 2}
    expected = demo_model.translate(GIRL, **options).hypotheses
    signed = [f"{each.normalized_score:.3f}".replace("-", "−") for each in expected]
    page.wait(lambda: [s.split()[-1] for s in page.texts_of("#hypotheses .scores")] == signed)
    assert page.texts_of("#hypotheses .text") == [each.text for each in expected]
    assert "beams=2&alpha=1.5" in page.browser.current_url


def test_the_tour_leaves_out_what_the_engine_cannot_do(page):
    page.find("#start-tour").click()
    titles = []
    while page.find("#tour").is_displayed():
        titles.append(page.text_of("#tour-title"))
        page.find("#tour-next").click()
    assert [title.split(": ")[0] for title in titles] == [f"{i} of 7" for i in range(1, 8)]
    assert not any("Word order" in title for title in titles)
    page.wait_until_answered()
    page.wait(lambda: page.all("#steps iframe"))
