"""The files of the page, which `aiayn-keras serve` serves and the book copies.

They are in `serving/play_page`; those of its folder `onnx` run a model in the browser, and only the
book needs them.
"""

import json
from dataclasses import asdict, dataclass
from importlib import resources
from string import Template

from aiayn_keras.plotting.interactive_page import read_page, read_style
from aiayn_keras.serving.local_page import requests

VIEWS = ("attention", "search", "next", "own", "change", "folder")
"""Names of the page's views, in the order of their tabs."""

FRAMES = ("explorer", "decoding_steps")
"""Pages of `plotting/pages` that the page shows in frames, with the data of a sentence."""

_DATA = "@data@"
"""Placeholder for the data of a page in a frame, see `play_page/frame.js`."""


@dataclass(frozen=True)
class PageFacts:
    """Facts about the model that the page shows.

    Attributes:
        engine: What answers the page: `"python"`, or `"onnx"`, a worker in the browser.
        name: The model's name; None for the book's, which has a title of its own.
        languages: Language codes of source and target, or None if unknown.
        deploy: The command or file that leads to a production server, if any.
        views: Names of the views that have something to show, some of `VIEWS`.
        explores_any: Whether attention can be shown for all translations of a sentence, or only for
            the best one.
        takes_documents: Whether files can be translated.
        num_beams: Number of beams that the page begins with; None if it cannot be changed.
        length_penalty: Exponent α that it begins with; None if it cannot be changed.
        max_characters: Maximum length of a text.
        max_explored: Maximum characters of a sentence, and of a translation, that is looked into.
        max_watched: Maximum characters of a sentence whose search is shown.
        max_document_bytes: Maximum size of a file.
    """

    engine: str
    name: str | None
    languages: tuple[str, str] | None
    deploy: str | None
    views: tuple[str, ...]
    explores_any: bool = True
    takes_documents: bool = False
    num_beams: int | None = None
    length_penalty: float | None = None
    max_characters: int = requests.MAX_CHARACTERS
    max_explored: int = requests.MAX_EXPLORED
    max_watched: int = requests.MAX_WATCHED
    max_document_bytes: int = requests.MAX_DOCUMENT_BYTES


def page_files(facts):
    """Makes the files that both engines need.

    Args:
        facts: `PageFacts`.

    Returns:
        Dictionary from file names to texts, and the Content-Security-Policy that the page states.
    """
    texts = {path.name: path.read_text("utf-8") for path in _folder().iterdir() if path.is_file()}
    pages = [read_page(name) for name in FRAMES]
    for name, page in zip(FRAMES, pages, strict=True):
        texts[f"{name}.txt"] = page.filled(_DATA, policy=_frame_policy(page))
    texts["shared.css"] = read_style()
    policy = _policy(pages, facts.engine)
    # Only "<" could begin a comment or a tag that ends the script element.
    data = json.dumps(asdict(facts)).replace("<", r"\u003c")
    texts["index.html"] = Template(texts["index.html"]).substitute(policy=policy, facts=data)
    return texts, policy


def onnx_files():
    """Reads the files of the engine in the browser, a dictionary from paths to texts."""
    folder = _folder() / "onnx"
    return {f"onnx/{path.name}": path.read_text("utf-8") for path in folder.iterdir()}


def _folder():
    return resources.files("aiayn_keras.serving") / "play_page"


def _policy(pages, engine):
    """Policy of the page; its frames inherit it in addition to their own."""
    scripts = " ".join(page.script_source for page in pages)
    styles = " ".join(page.style_source for page in pages)
    own, worker = "'self'", ""
    if engine == "onnx":
        own, worker = "'self' 'wasm-unsafe-eval'", "worker-src 'self'; "
    return (
        f"default-src 'none'; connect-src 'self'; img-src data:; {worker}frame-src 'self'; "
        f"script-src {own} {scripts}; style-src 'self' {styles}; "
        "base-uri 'none'; form-action 'none'"
    )


def _frame_policy(page):
    return (
        f"default-src 'none'; img-src data:; script-src {page.script_source}; "
        f"style-src {page.style_source}; base-uri 'none'; form-action 'none'"
    )
