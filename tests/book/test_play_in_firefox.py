"""The page to type into, in Firefox, where it and its driver are installed."""

import time

import pytest

from tests.browser import headless_firefox, serving
from tests.play_in_browser import FILLED

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

SENTENCE = "The old man has seventy-one red houses."
SECONDS = 60
"""Maximum wait for something that must happen; no test measures it."""
LISTEN = "addEventListener('securitypolicyviolation', (each) => console.error(each.blockedURI))"


def wait(condition):
    """Waits until a function returns something true, and returns it."""
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def text_of(browser, name):
    return browser.find_element("id", name).get_property("textContent")


@pytest.fixture
def firefox():
    with headless_firefox() as found:
        yield found


def test_it_translates_fills_every_view_and_works_without_the_server(firefox, folder, model):
    browser, messages = firefox
    (expected,) = model.translate([SENTENCE])
    with serving(folder.parent) as address:
        browser.get(f"{address}play/#model=float32")
        wait(lambda: not browser.find_elements("id", "not-served"))
        browser.execute_script(LISTEN)
        browser.find_element("id", "source").send_keys(SENTENCE)
        wait(lambda: text_of(browser, "status").startswith("Probability"))
        assert text_of(browser, "translation") == expected.text
        for view, selector in FILLED.items():
            browser.find_element("id", f"tab-{view}").click()
            wait(lambda each=selector: browser.find_elements("css selector", each))
        # Of the other model, whose files are only there once all of them are kept.
        kept = "caches.match('model/int8/config.json').then(arguments[0])"
        wait(lambda: browser.execute_async_script(kept) is not None)
    browser.get("about:blank")
    browser.get(f"{address}play/#text={SENTENCE}")
    wait(lambda: text_of(browser, "status").startswith("Probability"))
    assert text_of(browser, "translation") == expected.text
    assert messages == []
