"""Pages to play with, made by the package and shown by the book in a frame."""

from collections.abc import Callable
from dataclasses import dataclass

from book import play
from book.sources import ROOT

MODEL = ROOT / "saved_models/tatoeba_en_es_keras"
SENTENCE = "The old man bought a red car last week."
FOLDER = "live"
"""Folder of the pages in the built book."""


@dataclass(frozen=True)
class LivePage:
    """A page in a frame.

    Attributes:
        file: Name of its HTML file.
        title: Heading in the book.
        text: Markdown above the frame.
        make: Function from a model to an object with `page`, an HTML text, and `height` in
            pixels, such as an `AttentionExplorer`.
    """

    file: str
    title: str
    text: str
    make: Callable


def _explorer(model):
    from aiayn_keras.plotting import attention_explorer

    translation = model.translate([SENTENCE])[0]
    return attention_explorer(model.attention_maps(SENTENCE, translation.text))


def _steps(model):
    from aiayn_keras.plotting import decoding_steps

    return decoding_steps(model.record_search(SENTENCE))


LIVE_PAGES = (
    LivePage(
        "attention_explorer.html",
        "Attention",
        "Each layer and head looks in its own way. Choose the kind of attention, the layer and the "
        "head, then point at a word, tap it, or reach it with the Tab key. The model is the "
        "English-Spanish one that ships. Lessons "
        "[00](tutorials/00_a_translation_in_five_lines.ipynb) and "
        "[05](tutorials/05_many_heads.ipynb) explain what you see.",
        _explorer,
    ),
    LivePage(
        "decoding_steps.html",
        "A search, step by step",
        "Beam search writes the same sentence. Step through it: which beams live, finish and die, "
        "where each looks, and what the cache holds. Change the number of beams, α, and the root "
        "under the scores. Lessons [08](tutorials/08_choosing_the_words.ipynb), "
        "[03](tutorials/03_attention_by_hand.ipynb) and "
        "[09](tutorials/09_not_computing_twice.ipynb) explain what you see.",
        _steps,
    ),
)


TYPE = f"""<p><a class="sd-btn sd-btn-primary" href="{play.FOLDER}/index.html">
Type a sentence of your own</a></p>

The model runs in your browser: see its pieces, its attention and its search, write on piece by
piece, let it judge your own translation, and switch parts of it off.
"""
LEFT_OUT = (
    "The page on which you type a sentence of your own is not in this copy of the book: it was "
    "built without npm, which brings ONNX Runtime Web.\n"
)


def load_model():
    """The model that the pages show."""
    from aiayn_keras import TransformerSeq2SeqLM

    return TransformerSeq2SeqLM.from_preset(str(MODEL))


def live_files(model, has_play):
    """Texts by file: the book's page, and the pages that it shows in frames.

    Args:
        model: A `TransformerSeq2SeqLM`.
        has_play: Whether the book has the page to type into.
    """
    files, parts = {}, ["# Play\n", TYPE if has_play else LEFT_OUT]
    for live in LIVE_PAGES:
        made = live.make(model)
        files[f"extra/{FOLDER}/{live.file}"] = made.page
        parts.append(
            f"## {live.title}\n\n{live.text}\n\n```{{raw}} html\n{_frame(live, made)}\n```\n"
        )
    return {"play.md": "\n".join(parts), **files}


def _frame(live, made):
    return (
        f'<p><a href="{FOLDER}/{live.file}">Open it as a page of its own</a></p>\n'
        f'<iframe class="live" title="{live.title}" sandbox="allow-scripts" loading="lazy" '
        f'src="{FOLDER}/{live.file}" height="{made.height}"></iframe>'
    )
