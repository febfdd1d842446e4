"""The page to type into translates as `translate` does, and asks nobody else.

Run from the repository's root after `make book`, with a file of sentences in the model's source
language, one a line (of several columns the first is taken):

    python -m tests.claims.play_page --source FILE [--sentences 300] [--axe axe.min.js]

Opens the built page in headless Chromium, and the page of `aiayn-keras serve`. For the built page's
models of 32 and 8 bits and for the served one, prints how many of a random sample of sentences have
other pieces or another translation than `translate` with the package's own search, the largest
difference between log-probabilities, and the time of a translation; then the bytes of the first
view and of the model; and, given the file `axe.min.js` of the npm package axe-core, what it says of
every view of both pages. Exits with 1 if pieces differ, a translation in 32 bits or of the served
page differs, more than two in a hundred in 8 bits do, anything was asked of another host, or
axe-core finds a violation.
"""

import dataclasses
import random
import sys
from pathlib import Path

import click

from aiayn_keras.serving.local_page import FolderTranslator
from aiayn_keras.serving.local_page.page import VIEWS
from book.live import SENTENCE, load_model
from book.sources import ROOT
from tests.browser import headless_browser, prefer_scheme, serving, set_width
from tests.play_in_browser import PlayPage
from tests.serving.page_server import FACTS, PageServer

BUILT = ROOT / "build/book/html"
SERVED = "served"
"""Name of the model of the page of `aiayn-keras serve`."""
ALLOWED = {"float32": 0.0, "int8": 0.02, SERVED: 0.0}
"""Share of translations that may differ, by model."""
RUN_AXE = """
const done = arguments[0];
axe.run(document, { iframes: false })
  .then(({ violations }) => done(violations.map(({ id }) => id)));
"""
BYTES = """
return [...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")]
  .reduce((sum, entry) => sum + entry.encodedBodySize, 0);
"""


def compare(page, name, sentences, expected, pieces):
    """Compares one of the page's models; returns the share of other translations, and a line."""
    page.ask("load", format=name)
    others = other_pieces = 0
    difference, times = 0.0, []
    for sentence, translation, ids in zip(sentences, expected, pieces, strict=True):
        found = page.ask("translate", text=sentence, numBeams=4, alpha=0.6)
        times.append(found["milliseconds"])
        read = found["sentences"]
        other_pieces += [i for each in read for i in ids_of(each)[:-1]] != list(ids)
        if found["text"] != translation.text:
            others += 1
        else:
            score = sum(each["results"][0]["logProb"] for each in read if each["results"])
            difference = max(difference, abs(score - translation.score))
    times.sort()
    line = (
        f"| {name} | {others} of {len(sentences)} | {other_pieces} | {difference:.1e} "
        f"| {times[len(times) // 2]:.0f} | {times[int(0.95 * len(times))]:.0f} |"
    )
    return others / len(sentences), other_pieces, line


def ids_of(sentence):
    """Ids of the pieces that the encoder reads."""
    return [each["id"] for each in sentence["pieces"]]


def check_access(page, axe, views):
    """Lists `(scheme, width, view, rule)` for every violation that axe-core finds."""
    found = []
    for scheme in ("light", "dark"):
        prefer_scheme(page.browser, scheme)
        for width in (1280, 360):
            set_width(page.browser, width)
            page.open(text=SENTENCE)
            page.wait(lambda: page.frames("explorer"))
            page.find("start-tour").click()
            page.browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
            for view in views:
                page.browser.execute_script(f"document.getElementById('tab-{view}').click()")
                page.wait(page.find(f"view-{view}").is_displayed)
                rules = page.browser.execute_async_script(RUN_AXE)
                found += [(scheme, width, view, rule) for rule in rules]
    return found


@click.command(help=__doc__)
@click.option("--source", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--sentences", "count", default=300, show_default=True)
@click.option("--axe", type=click.Path(exists=True, path_type=Path))
def main(source, count, axe):
    lines = source.read_text("utf-8").splitlines()
    sentences = random.Random(0).sample([line.split("\t")[0] for line in lines], count)
    model = load_model()
    tokenizer = model.preprocessor.tokenizer
    wholes = model.translate(sentences, engine="keras"), tokenizer(sentences)
    documents = model.translate_documents(sentences, engine="keras")  # as the served page does
    pieces = [[i for ids in tokenizer(list(each.sources)) for i in ids] for each in documents]
    faults = 0
    translator = FolderTranslator(model, engine="keras")
    facts = dataclasses.replace(FACTS, languages=("en", "es"))
    with (
        serving(BUILT) as address,
        PageServer(translator, facts) as server,
        headless_browser() as browser,
    ):
        page, served = PlayPage(browser, f"{address}play/"), PlayPage(browser, server.url)
        page.open()
        page.wait(lambda: page.browser.execute_script("return document.readyState") == "complete")
        first = browser.execute_script(BYTES)
        print("| model | other translations | other pieces | score | median ms | 95 % ms |")
        print("|---|---|---|---|---|---|")
        elsewhere = []
        for shown, name, expected in (
            (page, "float32", wholes),
            (page, "int8", wholes),
            (served, SERVED, (documents, pieces)),
        ):
            shown.open()
            share, other_pieces, line = compare(shown, name, sentences, *expected)
            faults += share > ALLOWED[name] or other_pieces > 0
            print(line, flush=True)
            elsewhere += shown.requests_elsewhere()
        model_bytes = sum(path.stat().st_size for path in (BUILT / "play/model/int8").rglob("*.*"))
        runtime = sum(path.stat().st_size for path in (BUILT / "play/ort").iterdir())
        print(f"First view: {first / 1e3:.0f} kB; model of 8 bits: {model_bytes / 1e6:.1f} MB")
        print(f"ONNX Runtime Web: {runtime / 1e6:.1f} MB, uncompressed.")
        if axe is not None:
            for shown, views in ((page, VIEWS), (served, translator.views)):
                violations = check_access(shown, axe.read_text("utf-8"), views)
                print(f"axe-core: {len(violations)} violations {violations}")
                faults += bool(violations)
        print(f"Requests to other hosts: {elsewhere}")
    return sys.exit(int(faults > 0 or bool(elsewhere)))


if __name__ == "__main__":
    main()
