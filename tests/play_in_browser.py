"""The page to type into, in a browser."""

import time
from urllib.parse import urlencode, urlsplit

from tests.browser import requested_urls

SECONDS = 60
"""Maximum wait for something that must happen; no test measures it."""
ASK = """
const [request, values, done] = arguments;
const ask = async () => {
  window.testEngine ??= await (await import("./engine.js")).openEngine();
  return window.testEngine.ask(request, values);
};
ask().then((answer) => done({ answer }), (error) => done({ error: error.message }));
"""
OPEN = """
const [files, done] = arguments;
const ask = async () => {
  window.testEngine ??= await (await import("./engine.js")).openEngine();
  const made = Object.entries(files).map(([path, text]) => [path, new File([text], path)]);
  return window.testEngine.ask("open", { files: made });
};
ask().then((answer) => done({ answer }), (error) => done({ error: error.message }));
"""

FILLED = {
    "attention": "#explorer iframe",
    "search": "#steps iframe",
    "next": "#next-pieces button",
    "own": "#own-pieces td",
    "change": "#layers-and-heads input",
    "folder": "#folder",
}
"""An element of every view that is there once the view is filled."""


class PlayPage:
    """The page as a reader sees it.

    Args:
        browser: A driver of Selenium.
        address: Address of the page's folder, with a slash at its end.
    """

    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def open(self, **settings):
        """Opens the page with settings in its link; what was asked for before is forgotten."""
        self.browser.get("about:blank")
        self.browser.get_log("browser")
        requested_urls(self.browser)
        link = f"#{urlencode(settings)}" if settings else ""
        self.browser.get(f"{self.address}index.html{link}")
        # The page listens once this is gone; its program may still be loading.
        self.wait(lambda: not self.browser.find_elements("id", "not-served"))

    def find(self, name):
        return self.browser.find_element("id", name)

    def text_of(self, name):
        return self.find(name).get_property("textContent")

    def frames(self, name):
        """Frames in an element that are shown, at most one."""
        script = "const all = [...document.querySelectorAll(`#${arguments[0]} iframe`)];"
        script += "return all.filter((frame) => frame.offsetHeight > 100)"
        return self.browser.execute_script(script, name)

    def wait(self, condition):
        """Waits until a function returns something true, and returns it."""
        end = time.monotonic() + SECONDS
        while not (found := condition()):
            if time.monotonic() > end:
                state = [self.text_of(name) for name in ("status", "problem", "translation")]
                raise AssertionError(f"In vain: {state} {self.browser.get_log('browser')}")
            time.sleep(0.02)
        return found

    def wait_for_translation(self, text):
        """Waits until this is the translation, whole."""

        def is_there():
            return self.text_of("translation") == text and self.text_of("status").startswith(
                ("Probability", "A text without")
            )

        self.wait(is_there)

    def ask(self, request, **values):
        """Asks an engine like the page's, see `engine.js`; returns its answer.

        Raises:
            RuntimeError: With its error.
        """
        return self._answer(self.browser.execute_async_script(ASK, request, values))

    def open_folder(self, files):
        """Opens a folder of texts by path as the reader's own model; like `ask`."""
        return self._answer(self.browser.execute_async_script(OPEN, files))

    def _answer(self, found):
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["answer"]

    def requests_elsewhere(self):
        """URLs of other hosts that were asked since the page was opened."""
        host = urlsplit(self.address).netloc
        urls = map(urlsplit, requested_urls(self.browser))
        return [
            url.geturl() for url in urls if url.scheme.startswith("http") and url.netloc != host
        ]


def press(page, *names):
    """Presses keys together, by their names in Selenium."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    *held, last = (getattr(Keys, name) for name in names)
    chain = ActionChains(page.browser)
    for key in held:
        chain.key_down(key)
    chain.send_keys(last)
    for key in held:
        chain.key_up(key)
    chain.perform()


def texts_of(page, selector):
    """Texts of all elements that are there now, read at once."""
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
    return page.browser.execute_script(script, selector)


def shown_next(page):
    """Names of the next pieces."""
    return texts_of(page, "#next-pieces button > :first-child")
