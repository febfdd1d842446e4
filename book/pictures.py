"""Renews the README's pictures of interactive pages, in Chromium.

    make book && python -m book.pictures

Needs Chromium, its driver, and the built book with its page to type into.
"""

import tempfile
import time
from pathlib import Path

from book.live import SENTENCE, load_model
from book.sources import ROOT
from tests.browser import headless_browser, serving
from tests.play_in_browser import PlayPage

BUILT = ROOT / "build/book/html"
SEARCHED = "It is raining cats and dogs, but we will go for a walk anyway."
"""Source of the picture of a search, as in the README."""
HEADS = (0, 2, 3)
"""Heads that the picture of the explorer shows, each in a colour."""


def main():
    """Writes `docs/play.png`, `docs/attention_explorer.png` and `docs/decoding_steps.png`."""
    from aiayn_keras.plotting import attention_explorer, decoding_steps

    model = load_model()
    (best,) = model.translate([SENTENCE])
    with tempfile.TemporaryDirectory() as folder, headless_browser() as browser:
        browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        explorer = attention_explorer(model.attention_maps(SENTENCE, best.text))
        explorer.save(Path(folder) / "explorer.html")
        decoding_steps(model.record_search(SEARCHED)).save(Path(folder) / "steps.html")
        with serving(folder) as address:
            _explorer(browser, f"{address}explorer.html", ROOT / "docs/attention_explorer.png")
            _steps(browser, f"{address}steps.html", ROOT / "docs/decoding_steps.png")
        with serving(BUILT) as address:
            _play(browser, f"{address}play/", ROOT / "docs/play.png")


def _play(browser, address, path):
    _set_size(browser, 1000, 1540)
    page = PlayPage(browser, address)
    page.open(text=SENTENCE)
    page.wait(lambda: page.frames("explorer"))
    browser.switch_to.frame(page.frames("explorer")[0])
    _point_at(browser, "▁rojo")
    browser.switch_to.default_content()
    _take(browser, path)


def _explorer(browser, address, path):
    _set_size(browser, 840, 800)
    browser.get(address)
    for head in HEADS:
        browser.find_elements("css selector", "#heads input")[head].click()
    _point_at(browser, "▁rojo")
    _take(browser, path)


def _steps(browser, address, path):
    _set_size(browser, 1000, 1000)
    browser.get(address)
    for _ in range(8):
        browser.find_element("id", "forward").click()
    _take(browser, path)


def _point_at(browser, text):
    words = browser.find_elements("css selector", "#queries button")
    next(word for word in words if text in word.text).click()


def _set_size(browser, width, height):
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1.5, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def _take(browser, path):
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    time.sleep(0.5)  # until it is drawn
    browser.save_screenshot(str(path))
    _with_fewer_colours(path)


def _with_fewer_colours(path):
    """A page has few colours; a palette makes the file a third of its size."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    main()
