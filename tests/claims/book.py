"""Opens every page of the built book in Chromium, wide and as on a phone.

    python -m tests.claims.book                          # build/book/html, from `make book`
    python -m tests.claims.book --screenshots FOLDER     # and pictures of some pages

A page fails if the console shows an error, if it asks another machine for anything, if the page as
a whole scrolls sideways or is cut off, or if a picture is not drawn. Needs Chromium and its driver.
"""

import argparse
import sys
from pathlib import Path

from book.links import html_pages
from tests.browser import (
    headless_browser,
    prefer_scheme,
    requested_urls,
    save_picture,
    serving,
    set_width,
)

BUILT = Path(__file__).parents[2] / "build/book/html"
WIDTHS = {"wide": 1280, "phone": 390}  # pixels
PICTURES = {
    "home": "index.html",
    "lesson": "tutorials/03_attention_by_hand.html",
    "api": "api/aiayn_keras.layers.html",
    "play": "play.html",
}
SIDEWAYS = """
const page = document.documentElement;
return Math.max(page.scrollWidth, document.body.scrollWidth) - page.clientWidth;
"""
# What the theme cuts off at the edge, because nothing around it scrolls.
CUT_OFF = """
const scrolls = element => element !== document.body && element !== document.documentElement
  && ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
const inBox = element => element && (scrolls(element) || inBox(element.parentElement));
const article = document.querySelector("article") || document.body;
return [...article.querySelectorAll("*")].filter(element =>
    element.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    && element.getBoundingClientRect().width && !inBox(element))
  .map(element => `${element.tagName} ${element.textContent.trim().slice(0, 30)}`).slice(0, 3);
"""
BROKEN_PICTURES = """
return [...document.images].filter(image => image.loading !== "lazy")
  .filter(image => !(image.complete && image.naturalWidth)).map(image => image.src);
"""


def faults_of_page(browser, address, page):
    """List of what is wrong with a page, as texts."""
    requested_urls(browser)
    browser.get_log("browser")
    browser.get(f"{address}{page}")
    pixels = browser.execute_script(SIDEWAYS)
    faults = [f"scrolls sideways by {pixels} pixels"] if pixels > 0 else []
    faults += [f"cut off: {words}" for words in browser.execute_script(CUT_OFF)]
    faults += [f"no picture: {url}" for url in browser.execute_script(BROKEN_PICTURES)]
    # What the page wrote comes before the answers to these scripts, and may come after the load.
    faults += [entry["message"] for entry in browser.get_log("browser") if is_fault(entry)]
    return faults + [
        f"asks {url}"
        for url in requested_urls(browser)
        if not url.startswith((address, "data:", "about:", "blob:"))
    ]


def is_fault(entry):
    """Returns whether an entry of the console is an error."""
    return entry["level"] == "SEVERE"


def take_pictures(browser, address, folder):
    """Writes PNGs of some pages, wide and phone, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PICTURES.items():
        for size, width in WIDTHS.items():
            for scheme in ("light", "dark"):
                set_width(browser, width)
                prefer_scheme(browser, scheme)
                browser.get(f"{address}{page}")
                save_picture(browser, folder / f"{name}-{size}-{scheme}.png")


def main(arguments=None):
    """Prints a table of pages; the exit status is 1 if one has a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--book", type=Path, default=BUILT, help="Folder of the built book.")
    parser.add_argument("--screenshots", type=Path, help="Folder for pictures of some pages.")
    options = parser.parse_args(arguments)
    pages = [path.relative_to(options.book).as_posix() for path in html_pages(options.book)]
    if not pages:
        parser.error(f"No pages in {options.book}: run `make book` first.")
    faulty = 0
    print("| page | " + " | ".join(WIDTHS) + " |\n|---|" + "---|" * len(WIDTHS))
    with serving(options.book) as address, headless_browser() as browser:
        for page in pages:
            cells = []
            for width in WIDTHS.values():
                set_width(browser, width)
                cells.append("; ".join(faults_of_page(browser, address, page)) or "well")
            faulty += set(cells) != {"well"}
            print(f"| {page} | " + " | ".join(cells) + " |", flush=True)
        if options.screenshots:
            take_pictures(browser, address, options.screenshots)
    print(f"\n{len(pages)} pages, {faulty} with faults.")
    return int(faulty > 0)


if __name__ == "__main__":
    sys.exit(main())
