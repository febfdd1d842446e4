"""transformers.js translates in a browser, offline, by what `export onnx` writes.

Run from the repository's root, with a folder of JavaScript packages and a file of sentences in the
model's source language, one a line:

    npm install --ignore-scripts --prefix FOLDER @huggingface/transformers
    python -m tests.claims.transformers_js MODEL --packages FOLDER --source FILE \
        [--sentences 20] [--screenshot FILE.png]

Exports the model in float32 and int8, serves page, packages and exports on the loopback interface,
and runs the page in headless Chromium, which gets no other host. Prints for both how many sentences
become the ids of our tokenizer, how many translations, one by one and in a padded batch, equal
those of `translate` with one beam, and sentences per second. (In a batch transformers.js goes on
behind the end of translations that are done; what is there is cut off.) Exits with 1 if an id, or a
translation in float32, differs, or anything was asked of another host.
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import click

from tests.browser import headless_browser, requested_urls, serving, set_width

PAGE = Path(__file__).with_suffix(".html")
SECONDS = 600


def run_page(folder, name, texts, positions, screenshot=None):
    """Returns the result of the page's function `run`, and the URLs of other hosts."""
    with serving(folder) as address, headless_browser() as browser:
        host = urlsplit(address).netloc
        browser.set_script_timeout(SECONDS)
        set_width(browser, 1000)
        browser.get(f"http://{host}/page.html")
        answer = browser.execute_async_script(
            """
            const [name, texts, positions, done] = arguments;
            const begin = () => window.ready
                ? window.run(name, texts, positions).then(done, (error) => done(String(error)))
                : setTimeout(begin, 50);
            begin();
            """,
            name,
            texts,
            positions,
        )
        if isinstance(answer, str):
            raise RuntimeError(f"{answer} {browser.get_log('browser')}")
        if screenshot is not None:
            take_screenshot(browser, screenshot)
        others = {
            url
            for url in requested_urls(browser)
            if urlsplit(url).scheme.startswith("http") and urlsplit(url).netloc != host
        }
    return answer, sorted(others)


def take_screenshot(browser, path):
    """Writes a picture of the whole page."""
    height = browser.execute_script("return document.documentElement.scrollHeight")
    metrics = {"width": 1000, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.save_screenshot(str(path))


@click.command()
@click.argument("model_folder", metavar="MODEL", type=click.Path(exists=True, path_type=Path))
@click.option("--packages", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--source", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--sentences", type=int, default=20, show_default=True)
@click.option("--screenshot", type=click.Path(path_type=Path))
def main(model_folder, packages, source, sentences, screenshot):
    from aiayn_keras import TransformerSeq2SeqLM

    lines = source.read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line.strip()][:sentences]
    model = TransformerSeq2SeqLM.from_preset(str(model_folder))
    tokenizer, positions = model.preprocessor.tokenizer, model.backbone.max_sequence_length
    ids = [[*tokenizer(text), *tokenizer.source_ids] for text in texts]
    wanted = [
        each.text
        for each in model.translate(texts, num_beams=1, length_penalty=0.0, engine="keras")
    ]
    failed = not texts
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "page.html").write_bytes(PAGE.read_bytes())
        (folder / "node_modules").symlink_to((packages / "node_modules").resolve())
        for weights in ("float32", "int8"):
            name = f"{model_folder.resolve().name}_{weights}"
            model.export(folder / "models" / name, format="onnx", weights=weights)
            picture = screenshot if weights == "float32" else None
            answer, others = run_page(folder, name, texts, positions, picture)
            equal = [
                sum(a == b for a, b in zip(found, expected, strict=True))
                for found, expected in (
                    (answer["ids"], ids),
                    (answer["translations"], wanted),
                    (answer["together"], wanted),
                )
            ]
            print(
                f"{weights}: of {len(texts)} sentences {equal[0]} with our ids, {equal[1]} with "
                f"our translation, {equal[2]} in one batch; "
                f"{len(texts) / answer['seconds']:.1f} sentences/s; other hosts: {others or 'none'}"
            )
            failed |= bool(others) or equal[0] < len(texts)
            failed |= weights == "float32" and min(equal) < len(texts)
    return failed


if __name__ == "__main__":
    sys.exit(main(standalone_mode=False))
