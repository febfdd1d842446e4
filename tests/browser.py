"""A browser to try pages in, and the measure of what can be read in it."""

import contextlib
import functools
import http.server
import json
import os
import shutil
import threading

import numpy as np
import pytest


def _installed(names, driver):
    """Selenium's `webdriver` and the paths of a browser and its driver; skips without them."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed.")
    program, driver = next(filter(None, map(shutil.which, names)), None), shutil.which(driver)
    if program is None or driver is None:
        pytest.skip(f"No browser to try the page in: {program=}, {driver=}.")
    return webdriver, program, driver


@contextlib.contextmanager
def headless_browser():
    """A headless Chromium or Chrome that writes down its console and its requests."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    webdriver, program, driver = _installed(names, "chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.add_argument("--headless=new")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_script_timeout(300)  # seconds; on a busy machine WebDriver's 30 may be too few
    try:
        yield browser
    finally:
        browser.quit()


@contextlib.contextmanager
def headless_firefox():
    """A headless Firefox, and the list of what its pages write into their console."""
    webdriver, program, driver = _installed(("firefox", "firefox-esr"), "geckodriver")
    options = webdriver.FirefoxOptions()
    options.binary_location = program
    options.add_argument("-headless")
    options.set_capability("webSocketUrl", True)
    browser = webdriver.Firefox(options=options, service=webdriver.FirefoxService(driver))
    messages = []
    browser.script.add_console_message_handler(messages.append)
    browser.script.add_javascript_error_handler(messages.append)
    try:
        yield browser, messages
    finally:
        browser.quit()


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files with the types that browsers want, and writes no log."""

    extensions_map = {  # noqa: RUF012 - the library's name
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, *arguments, refused, max_age, **options):
        self._refused, self._max_age = refused, max_age
        super().__init__(*arguments, **options)

    def end_headers(self):
        if self._max_age:
            self.send_header("Cache-Control", f"max-age={self._max_age}")
        super().end_headers()

    def do_GET(self):
        if self.path in self._refused:
            self._refused.remove(self.path)
            self.send_error(503)
        else:
            super().do_GET()

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving(folder, refused_once=(), max_age=0):
    """Serves a folder on the loopback interface during the block, which gets the address.

    Args:
        folder: Path of the folder.
        refused_once: Paths whose first request gets the answer of a busy server.
        max_age: Seconds for which a browser may use a file without asking again; 0 to say nothing.
    """
    handler = functools.partial(
        _Handler, refused=set(refused_once), max_age=max_age, directory=str(folder)
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def requested_urls(browser):
    """URLs that the browser has requested since the last call."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def set_width(browser, width):
    """Gives the window a width; the height is always the same."""
    metrics = {"width": width, "height": 700, "deviceScaleFactor": 2, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def prefer_scheme(browser, scheme):
    """Makes the reader's system `"light"` or `"dark"`; None for the browser's own."""
    features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@contextlib.contextmanager
def forced_colors(browser):
    """Gives pages the few colours of a reader who needs strong contrast, during the block."""
    features = [{"name": "forced-colors", "value": "active"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def style_of(browser, selector, name):
    """A property's value in use, of the first element that a selector finds."""
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    return browser.execute_script(script, selector, name)


def save_picture(browser, path):
    """Writes what the window shows as a PNG.

    `get` may return while Chromium is still swapping the old page for the new one, and a picture
    taken at that moment is refused ("Not attached to an active page"). Once the new page has drawn
    two frames, the swap is over; a picture that is refused even so is taken again.
    """
    errors = pytest.importorskip("selenium.common.exceptions", reason="Selenium is not installed.")
    for attempt in range(3):
        browser.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )
        try:
            browser.save_screenshot(str(path))
            return
        except errors.TimeoutException as error:
            if attempt == 2 or "aborted by navigation" not in str(error):
                raise


def contrast(first, second):
    """Contrast of two colours `rgb(r, g, b)` as WCAG 2 defines it, 1 to 21."""
    darker, lighter = sorted(map(luminance, (first, second)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color):
    """Relative luminance of `rgb(r, g, b)` as WCAG 2 defines it, 0 to 1."""
    red, green, blue = (
        float(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]
    )
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))
