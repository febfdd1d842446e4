"""Scores of a trained parser beside baselines, and drawn trees (paper 6.3).

Run from the repository's root, where `aiayn_keras` is installed, with the model folder of a
training on trees:

    AIAYN_KERAS_DATA=DIR aiayn-keras train craft_parsing_small --output runs/craft_parsing
    AIAYN_KERAS_DATA=DIR python -m experiments.parsing runs/craft_parsing --output runs/parsing

Parses the test sentences as the recipe's `evaluation` says, freely and (`balanced`) with the
constraint that only trees of the sentence can be written, and writes into the new folder:
`scores.json`, `scores.md`, the linearized trees of each search (`free.txt`, `balanced.txt`), and
pictures of five sentences. A free output that is not a tree counts as a sentence without
constituents; `free, repaired` reads a tree from it as `repair_linearized` does. The baselines are
right-branching trees and a probabilistic context-free grammar (`pcfg`), both from the same training
trees; run alone, they need only `recipe.yaml` from the model folder.
"""

import dataclasses
import json
import logging
import random
import time
from pathlib import Path

import click

BASELINES = "right-branching", "pcfg"
SEARCHES = {"free": {"constraint": None}, "balanced": {"constraint": "brackets"}}
PICTURES, PICTURE_WORDS = 5, range(8, 19)
SEED = 1


def read_trees_of(section):
    """Reads the training, validation and test trees named by a recipe's `CorpusSection`."""
    from aiayn_keras.data import Treebank, load_craft
    from aiayn_keras.parsing import read_trees

    if section.name == "craft-parsing":
        return load_craft()
    if section.name is not None or section.tree_leaves is None:
        raise click.ClickException("The recipe's corpus holds no trees: see `corpus.tree_leaves`.")
    paths = section.train, section.validation, section.test or section.validation
    return Treebank(*(read_trees(*path) for path in paths))


def search_options(evaluation, search):
    """The `SearchOptions` of a recipe's section, with what makes one of the `SEARCHES`."""
    return dataclasses.replace(evaluation.search_options(), **SEARCHES[search])


def parse_with_model(model, evaluation, sentences, search):
    """Linearized trees of sentences, lists of words, and the seconds that they took.

    A sentence for which the search finds no tree has an empty text.
    """
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress
    from aiayn_keras_light.translating import NoTranslationError

    options = dataclasses.asdict(search_options(evaluation, search))
    sources = [" ".join(words) for words in sentences]
    start = time.perf_counter()
    with open_progress(SECONDS_BETWEEN_LINES, total=len(sources), unit=" sentences") as bar:
        try:
            found = model.translate(sources, progress=bar.update, **options)
        except NoTranslationError as error:
            found = error.translations
    return ["" if each is None else each.text for each in found], time.perf_counter() - start


def parse_with_baseline(baseline, train, sentences):
    """The name and settings of a baseline, its trees, and the seconds that they took."""
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress
    from experiments.parsing.pcfg import Pcfg
    from experiments.parsing.right_branching import RightBranching

    if baseline == "pcfg":
        grammar = Pcfg(train)
        name, parse = "PCFG", lambda words: grammar.parse(words)[0]
    else:
        branching = RightBranching(train)
        name, parse = f"right-branching ({branching.label})", branching.parse
    start = time.perf_counter()
    options = {"iterable": sentences, "unit": " sentences", "desc": f"{name} "}
    with open_progress(SECONDS_BETWEEN_LINES, **options) as bar:
        trees = [parse(words) for words in bar]
    return name, trees, time.perf_counter() - start


def draw(references, trees, names, folder):
    """Draws randomly chosen sentences that are short enough for a page."""
    from aiayn_keras.parsing.drawing import plot_tree_pair
    from aiayn_keras.parsing.scores import score_trees

    fitting = [
        (reference, tree)
        for reference, tree in zip(references, trees, strict=True)
        if tree is not None and len(reference.words()) in PICTURE_WORDS
    ]
    chosen = random.Random(SEED).sample(fitting, min(PICTURES, len(fitting)))
    for number, (reference, tree) in enumerate(chosen, start=1):
        f1 = score_trees([tree], [reference]).f1
        path = folder / f"tree_{number}.png"
        plot_tree_pair(reference, tree, path=path, title=f"F1 {f1:.0f}", names=names)


@click.command()
@click.argument("model_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder to make.")
@click.option("--split", type=click.Choice(["validation", "test"]), default="test")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Maximum number of sentences, evenly spaced."
)
@click.option(
    "--parser",
    "parsers",
    type=click.Choice([*BASELINES, *SEARCHES]),
    multiple=True,
    default=[*BASELINES, *SEARCHES],
    help="One of them; all unless given.",
)
@click.option("--set", "settings", multiple=True, help="Another field: evaluation.num_beams=21.")
def main(model_folder, output, split, limit, parsers, settings):
    """Score the parser in MODEL_FOLDER."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    from aiayn_keras import TransformerSeq2SeqLM
    from aiayn_keras.parsing.scores import read_outputs
    from aiayn_keras.training import load_recipe
    from aiayn_keras_light.files import new_folder, write_text
    from experiments.parsing.report import provenance, rows_of, table

    recipe = load_recipe(model_folder / "recipe.yaml", settings)
    bank = read_trees_of(recipe.corpus)
    references = getattr(bank, split)
    references = references[:: -(-len(references) // (limit or len(references)))]
    sentences = [tree.words() for tree in references]
    searches = [name for name in SEARCHES if name in parsers]
    for search in searches:  # before any work, to refuse options that cannot be combined
        search_options(recipe.evaluation, search)
    model = TransformerSeq2SeqLM.from_preset(str(model_folder)) if searches else None
    rows, seconds = [], {}
    with new_folder(output) as folder:
        for baseline in BASELINES:
            if baseline in parsers:
                name, trees, seconds[baseline] = parse_with_baseline(
                    baseline, bank.train, sentences
                )
                rows += rows_of(name, trees, references)
        for search in searches:
            texts, seconds[search] = parse_with_model(model, recipe.evaluation, sentences, search)
            write_text(folder / f"{search}.txt", "".join(f"{text}\n" for text in texts))
            trees = read_outputs(texts, references)
            rows += rows_of(search, trees, references)
            if None in trees:
                trees = read_outputs(texts, references, repair=True)
                rows += rows_of(f"{search}, repaired", trees, references)
        if searches:
            draw(references, trees, ("reference", model_folder.name), folder)
        results = {
            **provenance(),
            "model": model_folder.name if searches else None,
            "recipe": recipe.model_dump(mode="json", exclude_none=True),
            "split": split,
            "seconds": seconds,
            "rows": rows,
        }
        write_text(folder / "scores.json", json.dumps(results, indent=1) + "\n")
        write_text(folder / "scores.md", table(rows) + "\n")
    click.echo(table(rows))
    click.echo(f"\nWritten: {output}")


if __name__ == "__main__":
    main()
