"""The local page in a real browser, by keyboard and mouse."""

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
    assert page.text_of("#timing").endswith(" s")
    page.press(" ", "x")
    page.press("\b", "\b")
    page.wait_for_translation(MÄDCHEN)
    urls = {url for url in requested_urls(page.browser) if not url.startswith("data:")}
    assert urls == {server.url, f"{server.url}translate"}


def test_the_page_says_what_it_is_for_and_of_which_languages(page):
    assert page.find("h1").text == "demo"
    assert page.find("#languages").text == "English → German"
    assert page.find("#source").accessible_name == "English"
    assert page.find("#target").accessible_name == "German"
    assert page.find("#target").get_attribute("lang") == "de"
    assert page.find("#target").get_attribute("aria-live") == "polite"
    footer = page.find("footer").text
    assert "not for production" in footer
    assert footer.endswith("a command")


def test_lines_stay_lines_and_each_sentence_has_its_own_translations(page):
    page.paste(LINES)
    page.wait_for_translation(TRANSLATED_LINES)
    page.find("summary").click()
    assert page.all("#hypotheses .text")[0].text == MÄDCHEN
    page.all("#target .sentence")[1].click()
    assert page.all("#hypotheses .text")[0].text == "Paul arbeitet."
    assert page.find("#sentence").get_property("value") == "1"
    page.all("#hypotheses label")[1].click()
    second = page.all("#hypotheses .text")[1].text
    assert page.text_of("#target") == f"{MÄDCHEN}\n\n  {second}"


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


def test_the_mouse_chooses_a_translation_and_explores_it(page):
    page.press(GIRL)
    page.wait_for_translation(MÄDCHEN)
    page.find("summary").click()
    scores = [each.text for each in page.all("#hypotheses .scores")]
    assert scores[0] == "score −0.27 · normalised −0.18"
    assert len(scores) == FACTS.max_hypotheses
    page.all("#hypotheses label")[1].click()
    assert page.text_of("#target") == OTHER
    page.find("#explore").click()
    page.wait(lambda: "▁hat" in page.explorer_words())
    page.all("#hypotheses label")[0].click()
    page.wait(lambda: "▁ist" in page.explorer_words())
    page.find("#explore").click()
    assert page.all("iframe") == []


def test_the_explorer_is_a_frame_that_may_run_scripts_and_nothing_else(page):
    page.press(GIRL)
    page.wait_for_translation(MÄDCHEN)
    page.find("#explore").click()
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
    assert visited == ["clear", "target", "copy", "sentence", "summary"]
    page.press(Keys.ENTER, Keys.TAB, Keys.ARROW_DOWN)
    assert page.focused().accessible_name.startswith(OTHER)
    assert page.text_of("#target").startswith(OTHER)
    page.press(Keys.TAB, Keys.ENTER)
    assert page.focused().get_attribute("aria-expanded") == "true"
    page.wait(lambda: "▁hat" in page.explorer_words())
    page.press(Keys.TAB, Keys.TAB)
    assert page.browser.switch_to.active_element.tag_name == "iframe"


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
    assert not page.find("#closer").is_displayed()
    page.browser.refresh()
    assert page.find("#source").get_property("value") == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_and_paper_follow_the_reader_or_the_button(page, scheme):
    other = {"light": "dark", "dark": "light"}[scheme]
    prefer_scheme(page.browser, scheme)
    try:
        page.press(GIRL)
        page.wait_for_translation(MÄDCHEN)
        page.find("summary").click()
        page.find("#explore").click()
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
        ("#target", "#target"),
        ("#hypotheses label:has(:checked) .scores", "#hypotheses label:has(:checked)"),
        ("#explore", "#explore"),
        ("footer", "body"),
    ):
        ink = page.find(selector).value_of_css_property("color")
        paper = page.find(behind).value_of_css_property("background-color")
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
        page.wait(lambda: page.text_of("#target").startswith(TRANSLATED_LINES))
        page.find("summary").click()
        page.find("#explore").click()
        page.explorer_words()
        assert page.sideways() == 0
        for selector in ("#source", "#target", "#sentence", "#hypotheses", "#theme", "iframe"):
            box = page.find(selector).rect
            assert box["x"] >= 0, selector
            assert box["x"] + box["width"] <= width, selector
        side_by_side = page.find("#source").rect["y"] == page.find("#target").rect["y"]
        assert side_by_side == (width > 1000)
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
