"""The page to type into, made of the small model."""

from pathlib import Path

import pytest

from aiayn_keras.models import TransformerSeq2SeqLM
from book import play
from tests.browser import headless_browser, serving, set_width
from tests.play_in_browser import PlayPage

SAVED = Path(__file__).parents[2] / "saved_models"


@pytest.fixture(scope="package")
def package():
    found = play.PACKAGES / f"{play.RUNTIME.replace('@', '-')}.tgz"
    if not found.is_file():
        pytest.skip("ONNX Runtime Web is not there: `python -m book.play` downloads it.")
    return play.runtime_package()


@pytest.fixture(scope="package")
def model():
    return TransformerSeq2SeqLM.from_preset(str(SAVED / "demo_en_de_keras"))


@pytest.fixture(scope="package")
def folder(package, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "play"
    for path, content in play.play_files(model, package).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def browser():
    with headless_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(folder):
    with serving(folder.parent) as address:
        yield f"{address}play/"


@pytest.fixture
def page(browser, address):
    set_width(browser, 1280)
    page = PlayPage(browser, address)
    yield page
    assert page.requests_elsewhere() == []
    assert [each["message"] for each in browser.get_log("browser") if each["level"] != "INFO"] == []


@pytest.fixture
def before_the_page(browser):
    """Returns a function that runs a script before those of every page that is opened."""
    names = []

    def run(source):
        script = browser.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument", {"source": source}
        )
        names.append(script)

    yield run
    for name in names:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", name)
