"""The local page as users see it in a browser."""

SECONDS = 60
"""Maximum wait for something that must happen; no test measures it."""

STATE = """
const text = (id) => document.getElementById(id)?.textContent;
return {
    url: location.href, shown: document.visibilityState, ready: document.readyState,
    focus: [document.hasFocus(), document.activeElement?.id],
    source: document.getElementById("source")?.value, translation: text("translation"),
    problem: text("problem"), status: text("status"), nothing: text("nothing"),
};
"""
"""The state of the page, for error messages."""


class PageInBrowser:
    """The page of a server, freshly opened without the leftovers of other tests.

    Args:
        browser: A driver of Selenium.
        url: Address of the page.
    """

    def __init__(self, browser, url):
        self.browser = browser
        browser.get(f"{url}nothing")  # same origin, without the page's script
        browser.execute_script("sessionStorage.clear(); localStorage.clear()")
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(url)
        # A browser sets the focus when it first draws, possibly after the page is loaded.
        focused = "return document.activeElement?.id"
        self.wait(lambda: browser.execute_script(focused) == "source")

    def find(self, selector):
        (found,) = self.all(selector)
        return found

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def text_of(self, selector):
        """Returns the text with its spaces and line breaks, visible or not."""
        return self.find(selector).get_property("textContent")

    def texts_of(self, selector):
        """Returns the texts of all elements that are there now, read at once."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.browser.execute_script(script, selector)

    def wait(self, condition):
        """Waits until a function returns something true, and returns it."""
        from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
        from selenium.webdriver.support.wait import WebDriverWait

        ignored = [StaleElementReferenceException]
        wait = WebDriverWait(self.browser, SECONDS, 0.02, ignored_exceptions=ignored)
        try:
            return wait.until(lambda _: condition())
        except TimeoutException as error:
            state, console = self.browser.execute_script(STATE), self.browser.get_log("browser")
            raise AssertionError(f"The wait was in vain; {state=}, {console=}.") from error

    def wait_for_translation(self, text):
        self.wait(lambda: self.text_of("#translation") == text and not self.is_busy())

    def is_busy(self):
        """Returns whether a translation is on its way."""
        return self.find("#translation").get_attribute("aria-busy") == "true"

    def wait_until_answered(self):
        """Waits until the text is translated, or there is nothing to ask the model for."""
        begins = ("Probability", "A text without")
        self.wait(lambda: self.text_of("#status").startswith(begins) and not self.is_busy())

    def choose(self, view):
        """Chooses a view by its tab."""
        self.find(f"#tab-{view}").click()

    def alternatives(self):
        """Opens the list of other translations, and returns its lines."""
        if not self.find("#others").get_property("open"):
            self.find("#others summary").click()
        return self.all("#hypotheses label")

    def paste(self, text):
        """Puts any characters into the text, including those that keys cannot type."""
        self.browser.execute_script(
            "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
            self.find("#source"),
            text,
        )

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def press_control_enter(self):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        chain = ActionChains(self.browser, duration=0).key_down(Keys.CONTROL)
        chain.send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()

    def focused(self):
        """Returns the element with the focus, which must be visible."""
        element = self.browser.switch_to.active_element
        shown = element
        if element.get_attribute("type") == "radio":
            shown = element.find_element("xpath", "..")
        assert shown.value_of_css_property("outline-style") == "solid"
        return element

    def sideways(self):
        """Returns the number of pixels by which the page is wider than the window."""
        return self.browser.execute_script(
            "const { scrollWidth, clientWidth } = document.documentElement;"
            "return scrollWidth - clientWidth"
        )

    def explorer_words(self):
        """Returns the words in the explorer's left column as soon as there are some."""
        return self.wait(self._words_of_frame)

    def _words_of_frame(self):
        """Returns None while the page inserts or replaces the frame.

        A frame that was found may be gone when the driver enters or reads it, or may not have its
        process yet: each case raises a different error.
        """
        from selenium.common import exceptions

        frames = self.all("#explorer iframe")
        if len(frames) != 1:
            return None
        try:
            self.browser.switch_to.frame(frames[0])
            return [word.text for word in self.all("#queries .word")]
        except (
            exceptions.NoSuchElementException,
            exceptions.NoSuchFrameException,
            exceptions.StaleElementReferenceException,
        ):
            return None
        except exceptions.WebDriverException as error:
            if "frame detached" not in str(error):
                raise
            return None
        finally:
            self.browser.switch_to.default_content()
