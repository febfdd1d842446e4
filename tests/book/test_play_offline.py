"""The page to type into, without a network: what its service worker keeps."""

import shutil
from urllib.parse import urlencode

import pytest

from tests.browser import serving
from tests.helpers import slow_but
from tests.play_in_browser import PlayPage

pytest.importorskip("onnx")
pytest.importorskip("tokenizers")

SENTENCE = "The old man has seventy-one red houses."
PATHS_KEPT = """
const done = arguments[0];
const pathsOf = async (name) =>
  (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname);
caches.keys().then(async (names) => done((await Promise.all(names.map(pathsOf))).flat()));
"""


def wait_until_kept(page, folder, with_float32=False):
    """Waits until the browser keeps the files that the page needs without a network."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    needed = {
        f"/play/{name.as_posix()}"
        for name in names
        if (with_float32 or name.parts[:2] != ("model", "float32"))
        and name.name != "service_worker.js"
    }
    page.wait(lambda: needed.issubset(page.browser.execute_async_script(PATHS_KEPT)))


def test_once_loaded_it_works_without_the_server(browser, folder, model):
    (expected,) = model.translate([SENTENCE])
    with serving(folder.parent) as address:
        page = PlayPage(browser, f"{address}play/")
        page.open(text="It is one o'clock.", model="float32")
        page.wait(lambda: page.text_of("status").startswith("Probability"))
        kept = "return navigator.serviceWorker.controller !== null"
        page.wait(lambda: browser.execute_script(kept))
        wait_until_kept(page, folder)
    browser.get(f"{address}play/#text={SENTENCE}")  # as somebody writes the address
    page.wait_for_translation(expected.text)
    browser.get_log("browser")


REGISTER_LATER = """
const { register } = ServiceWorkerContainer.prototype;
ServiceWorkerContainer.prototype.register = async function (...values) {
  await new Promise((resolve) => { window.registerNow = resolve; });
  return register.apply(this, values);
};
"""


@pytest.mark.parametrize("is_chosen_before", slow_but(["later"], {"before": True, "later": False}))
def test_weights_that_are_chosen_are_kept_whenever_the_service_worker_comes(
    browser, folder, model, before_the_page, is_chosen_before
):
    (expected,) = model.translate([SENTENCE])
    before_the_page(REGISTER_LATER)
    with serving(folder.parent) as address:
        page = PlayPage(browser, f"{address}play/")
        page.open(text="It is one o'clock.", model="float32" if is_chosen_before else "int8")
        page.wait(lambda: page.text_of("status").startswith("Probability"))
        browser.execute_script("registerNow()")
        wait_until_kept(page, folder, with_float32=is_chosen_before)
        browser.execute_script("document.querySelector('[value=float32]').click()")
        wait_until_kept(page, folder, with_float32=True)
    browser.get(f"{address}play/#{urlencode({'text': SENTENCE, 'model': 'float32'})}")
    page.wait_for_translation(expected.text)
    browser.get_log("browser")


@pytest.mark.parametrize("installing", slow_but(["skipWaiting()"], ["skipWaiting()", "{}"]))
def test_a_newer_page_is_kept_although_the_browser_has_older_files(
    browser, folder, tmp_path, installing
):
    shutil.copytree(folder, tmp_path / "play")
    with serving(tmp_path, max_age=86_400) as address:
        page = PlayPage(browser, f"{address}play/")
        page.open(model="float32", text="It is one o'clock.")
        wait_until_kept(page, folder, with_float32=True)
        newer = "Words on this newer page"
        for name, old, new in (
            ("index.html", "Words on this page", newer),
            ("service_worker.js", 'CACHE = "play-', 'CACHE = "play-newer-'),
            # Chromium now and then forgets to do what it says, and the page asks for it again.
            (
                "service_worker.js",
                '"install", () => skipWaiting()',
                f'"install", () => {installing}',
            ),
        ):
            path = tmp_path / "play" / name
            text = path.read_text("utf-8")
            assert old in text
            path.write_text(text.replace(old, new), encoding="utf-8")
        # Asked for again and again: a browser that is at it already does not look once more.
        names = """
            const done = arguments[0];
            navigator.serviceWorker.ready
              .then((registration) => registration.update())
              .catch(() => {})
              .then(() => caches.keys()).then((names) => done(names.join()));
        """
        page.wait(lambda: "play-newer-" in browser.execute_async_script(names))
        wait_until_kept(page, folder, with_float32=True)
        browser.refresh()
        page.wait(lambda: newer in page.find("words").text)
    browser.get_log("browser")


@pytest.mark.slow
def test_a_busy_server_is_asked_again_for_a_file_to_keep(browser, folder):
    with serving(folder.parent, refused_once=["/play/decoding_steps.txt"]) as address:
        page = PlayPage(browser, f"{address}play/")
        page.open()
        wait_until_kept(page, folder)
    browser.get_log("browser")


@pytest.mark.slow
def test_a_browser_without_room_for_files_translates(browser, folder, model):
    (expected,) = model.translate([SENTENCE])
    with serving(folder.parent) as address:
        browser.get(address)
        quota = {"origin": address.rstrip("/"), "quotaSize": 100_000}
        browser.execute_cdp_cmd("Storage.overrideQuotaForOrigin", quota)
        page = PlayPage(browser, f"{address}play/")
        page.open()
        kept = "return navigator.serviceWorker.controller !== null"
        page.wait(lambda: browser.execute_script(kept))
        page.find("source").send_keys(SENTENCE)
        page.wait_for_translation(expected.text)
    browser.get_log("browser")
