"""The page to type into, as a screen reader and a keyboard meet it."""

import pytest

from tests.play_in_browser import FILLED, press, shown_next, texts_of

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

pytestmark = pytest.mark.slow

SENTENCE = "The old man has seventy-one red houses."
NAMED = {
    *("button", "checkbox", "link", "radio", "slider", "tab", "tabpanel", "tablist", "textbox"),
    *("Iframe", "image", "Canvas", "combobox", "heading"),
}
"""Roles whose elements mean nothing without a name."""


def nodes_of(browser):
    """Nodes of the accessibility tree that are not ignored: role, name and properties."""
    found = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    for node in found:
        if not node["ignored"]:
            properties = {each["name"]: each["value"].get("value") for each in node["properties"]}
            yield node["role"]["value"], node["name"]["value"], properties


def live_regions(browser):
    """Names of the elements whose changes are read out."""
    return browser.execute_script(
        """
        const roles = ["status", "alert"];
        const isLive = (each) => each.ariaLive ? each.ariaLive !== "off"
          : roles.includes(each.role) || each.tagName === "OUTPUT";
        return [...document.querySelectorAll("*")].filter(isLive).map(({ id }) => id);
        """
    )


def test_every_view_names_its_controls(page):
    page.open(text=SENTENCE)
    page.wait(lambda: page.frames("explorer"))
    for view, selector in FILLED.items():
        page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
        page.wait(lambda each=selector: page.browser.find_elements("css selector", each))
        nodes = list(nodes_of(page.browser))
        assert len([role for role, _, _ in nodes if role == "tabpanel"]) == 1
        assert [each for each in nodes if each[0] in NAMED and not each[1]] == [], view


def test_a_slider_is_said_once_and_as_it_is_seen(page):
    page.open(text=SENTENCE)
    page.wait(lambda: page.frames("explorer"))
    assert not [name for name in live_regions(page.browser) if name.endswith("-value")]
    for slider in ("top-k", "score-scale"):
        shown = page.find(f"{slider}-value").get_property("value")
        assert page.find(slider).get_attribute("aria-valuetext") == shown
        assert shown != page.find(slider).get_property("value")


COUNT_CHANGES = """
window.changes = [];
for (const name of ["status", "nothing", "problem"]) {
  new MutationObserver((records) => {
    for (const { target } of records) changes.push(target.textContent);
  }).observe(document.getElementById(name), { childList: true });
}
"""


def test_what_goes_on_is_said_once(page):
    page.open()
    page.browser.execute_script(COUNT_CHANGES)
    script = "const [e, text] = arguments; e.value = text; e.dispatchEvent(new Event('input'))"
    page.browser.execute_script(script, page.find("source"), SENTENCE)
    page.wait(lambda: page.text_of("status").startswith("Probability"))
    said = [each for each in page.browser.execute_script("return changes") if each]
    assert said[0] == "Loading the model …"
    assert "Translating …" in said
    assert len(said) == len(set(said))
    assert not [each for each in said if "MB" in each]  # it would be said many times a second


def test_the_focus_stays_when_its_button_can_no_longer_be_pressed(page):
    page.open(text="The girl is happy.", view="next")
    page.wait(lambda: shown_next(page))
    page.browser.execute_script("document.querySelector('#next-pieces button').focus()")
    press(page, "ENTER")
    page.wait(lambda: page.text_of("next-written") != "nothing yet")
    page.browser.execute_script("document.getElementById('next-back').focus()")
    press(page, "ENTER")
    page.wait(lambda: page.text_of("next-written") == "nothing yet")
    assert page.browser.execute_script("return document.activeElement.id") == "next-restart"
    while "the end" not in page.text_of("next-written"):
        written = page.text_of("next-written")
        page.browser.execute_script("document.querySelector('#next-pieces button').focus()")
        press(page, "ENTER")
        page.wait(lambda written=written: page.text_of("next-written") != written)
        page.wait(lambda: shown_next(page))
    assert page.browser.execute_script("return document.activeElement.id") == "next-restart"


def test_the_focus_stays_when_the_page_s_own_model_is_used_again(page, model, tmp_path):
    folder = model.export(tmp_path / "mine", format="onnx", attention=True)
    page.open(view="folder")
    page.find("folder").send_keys(str(folder))
    page.wait(lambda: "1,000 pieces" in page.text_of("own-model-facts"))
    page.browser.execute_script("document.getElementById('site-model').focus()")
    press(page, "ENTER")
    page.wait(page.find("formats").is_displayed)
    assert page.browser.execute_script("return document.activeElement.id") == "folder"


def test_pieces_are_a_list_with_a_name(page):
    page.open(text=SENTENCE)
    page.wait(lambda: texts_of(page, "#target-pieces li"))
    lists = [name for role, name, _ in nodes_of(page.browser) if role == "list"]
    assert lists[:2] == ["Pieces that the encoder reads", "Pieces that the decoder wrote"]
