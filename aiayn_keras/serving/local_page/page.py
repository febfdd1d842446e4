"""The page as one HTML text, with the policy by which a browser runs its own parts alone."""

from dataclasses import asdict, dataclass
from importlib import resources
from typing import NamedTuple

from aiayn_keras.plotting.interactive_page import InlinePage, read_page
from aiayn_keras.serving.local_page.requests import MAX_CHARACTERS


@dataclass(frozen=True)
class PageFacts:
    """Facts about the model that the page shows.

    Attributes:
        name: The model's name.
        languages: Language codes of source and target, or None if they are not known.
        deploy: The command, or the file, that leads to a server for production.
        most_hypotheses: Number of translations that there are of a sentence.
        explores_any: Whether attention can be shown for any of these, or for the best one alone.
        shows_steps: Whether the search can be shown step by step.
        most_characters: Greatest length of a text.
    """

    name: str
    languages: tuple[str, str] | None
    deploy: str
    most_hypotheses: int
    explores_any: bool
    shows_steps: bool
    most_characters: int = MAX_CHARACTERS


class Page(NamedTuple):
    """The page, and its Content-Security-Policy."""

    html: str
    policy: str


def make_page(facts):
    """Makes the page of a model.

    Args:
        facts: `PageFacts`.

    Returns:
        `Page`.
    """
    page = InlinePage.read(resources.files("aiayn_keras.serving.local_page") / "page", "page")
    explorer, steps = read_page("explorer"), read_page("decoding_steps")
    # The frames of the explorer and of the steps inherit this policy, beside their own.
    policy = (
        f"default-src 'none'; connect-src 'self'; img-src data:; "
        f"script-src {page.script_source} {explorer.script_source} {steps.script_source}; "
        f"style-src {page.style_source} {explorer.style_source} {steps.style_source}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(page.filled(asdict(facts)), policy)
