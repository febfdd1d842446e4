"""What each augmentation of `tatoeba_en_es` is worth, in small.

Run from the repository's root, with the development tools installed:

    python -m experiments.augmentation

A small model is trained on the text as it is. From there it is trained further several times, for
the same number of updates: with every augmentation of the recipe, without one of them at a time,
and with none. Each model is measured by `benchmarks.quality.typed` on validation text. Two hours
of two CPU cores; a row with a result is not repeated. Results are written to
`experiments/results/augmentation`; `python -m experiments.report` makes a page from them.
"""

import json
import os
import shutil
import time
from pathlib import Path

# All rows run on one backend, since they are compared.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import click
import yaml

from aiayn_keras_light.files import write_text
from benchmarks.report import markdown_table
from experiments.folders import folder_options
from experiments.machine import commit, processor, versions
from experiments.prose import paragraph

RESULTS = Path(__file__).parent / "results" / "augmentation"
COMMAND = "`python -m experiments.augmentation`"
RECIPE = "tatoeba_en_es"
SMALL = {
    "batches": {"tokens_per_batch": 4096},
    # `typed` measures BLEU, so the training never does.
    "training": {
        "average_checkpoints": 4,
        "bleu_every": 1_000_000,
        "precision": "bfloat16_products",
    },
    "augmentation": {"variants": 1},
}
START = {
    "tokenizer": {"vocabulary_size": 4000},
    "model": {"preset": "transformer_tiny", "num_layers": 3, "intermediate_dim": 512},
    "optimizer": {"peak_learning_rate": 0.003, "warmup_steps": 400},
    "training": {"updates": 1600, "checkpoint_every": 100},
}
FURTHER = {
    "optimizer": {"peak_learning_rate": 0.001, "warmup_steps": 100},
    "training": {"updates": 400, "checkpoint_every": 50},
}
"""What differs from the recipe: everywhere, in the first training, and in those after it."""
KINDS = {
    "joined": [("two sentences", "of chrF2 of each alone")],
    "lower_cased": [("lower case", "of clean chrF2")],
    "unpunctuated": [("no final mark", "of clean chrF2")],
    "upper_cased": [("capitals", "of clean chrF2")],
    "title_cased": [("title case", "of clean chrF2")],
    "typing_errors": [("a typing error", "of clean chrF2")],
    "numbers": [("numbers 0 to 9,999", "unchanged"), ("round amounts", "unchanged")],
    "names": [("titles with names", "right")],
    "copied": [("emoji", "kept"), ("foreign words inside", "kept")],
    "quoted": [("typographic quotes", "of chrF2 with typewriter quotes")],
    "shorthand": [("chat shorthand", "of clean chrF2")],
    "phrases": [("commonest words", "with linked words alone")],
}
"""The kinds of text that each augmentation is for, and what the figure is, see `typed.Figure`."""
ROWS = ("all", *(f"without {name}" for name in KINDS), "none")
SENTENCES, SEED = 400, 1


@click.command()
@folder_options("augmentation", RESULTS)
def main(folder, results):
    """Make every missing result of what each augmentation is worth."""
    from aiayn_keras.backend import run_one_operation_at_a_time
    from aiayn_keras.data import load_corpus
    from aiayn_keras.models import TransformerSeq2SeqLM
    from benchmarks.quality import typed

    run_one_operation_at_a_time()  # as every training does, before anything is computed
    corpus = load_corpus(RECIPE.replace("_", "-"))
    pairs, words = typed.choose_texts(corpus, corpus.validation, SENTENCES, SEED)
    start = _train(make_recipe(START, KINDS), folder / "start")
    for row in ROWS:
        path = results / f"{row.replace(' ', '_')}.json"
        if path.exists():
            continue
        begin = time.monotonic()
        recipe = make_recipe({**FURTHER, "model": {"initial": str(start)}}, left_out(row))
        trained = _train(recipe, folder / path.stem)
        figures = typed.measure(TransformerSeq2SeqLM.from_preset(str(trained)), pairs, words, SEED)
        result = {
            "row": row,
            "figures": [figure._asdict() for figure in figures],
            "seconds": round(time.monotonic() - begin),
            **{"commit": commit(), "versions": versions(), "machine": processor()},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(result, indent=1) + "\n")
        shutil.rmtree(trained)


def left_out(row):
    """Names of the augmentations that a row of `ROWS` leaves out."""
    return [name for name in KINDS if row in ("none", f"without {name}")]


def make_recipe(changes, off):
    """Makes the `Recipe` of a training.

    Args:
        changes: What differs from the recipe beside `SMALL`: a dictionary of sections.
        off: Names of the augmentations to leave out.
    """
    from aiayn_keras.training import load_recipe
    from aiayn_keras.training.recipe import Recipe

    fields = yaml.safe_load(load_recipe(RECIPE).to_yaml())
    fields["model"] = {}
    if "initial" in changes["model"]:
        fields["tokenizer"] = {}  # the vocabulary is that of the model
    for sections in (SMALL, changes, {"augmentation": dict.fromkeys(off, 0.0)}):
        for name, values in sections.items():
            fields[name] |= values
    return Recipe.model_validate(fields)


def _train(recipe, folder):
    """Trains, unless it is done, and returns the folder."""
    from aiayn_keras.training import train

    if not (folder / "evaluation.json").is_file():
        train(recipe, folder)
    return folder


def read(folder):
    """Reads the result files in a folder: a dictionary by row, in the order of `ROWS`."""
    paths = {row: folder / f"{row.replace(' ', '_')}.json" for row in ROWS}
    return {
        row: json.loads(path.read_text("utf-8")) for row, path in paths.items() if path.exists()
    }


def section(results):
    """Markdown of the results from `read`; rows without a result are listed at the end."""
    missing = [row for row in ROWS if row not in results]
    open_rows = f"Not measured yet: {', '.join(missing)}. {COMMAND} does it." if missing else ""
    if "all" in missing:
        return paragraph(open_rows)
    figures = {
        row: {(each["kind"], each["meaning"]): each["value"] for each in result["figures"]}
        for row, result in results.items()
    }
    rows = [
        [
            f"`{name}`" if number == 0 else "",
            f"{kind}, {meaning}",
            *(
                f"{figures[row][kind, meaning]:.2f}" if row in figures else ""
                for row in ("all", f"without {name}", "none")
            ),
        ]
        for name, kinds in KINDS.items()
        for number, (kind, meaning) in enumerate(kinds)
        if f"without {name}" in figures
    ]
    heads = ["augmentation", "text and figure", "with all", "without it", "with none"]
    bleu = [f"{row} {figures[row]['clean text', 'BLEU']:.1f}" for row in ROWS if row in figures]
    seconds = sum(result["seconds"] for result in results.values())
    parts = (
        f"""The recipe `{RECIPE}` makes other kinds of text from its training pairs. To see what
        each augmentation is worth, a small model (3+3 layers, d_model 128, 4,000 tokens) was
        trained for {START["training"]["updates"]:,} updates of 4,096 tokens without any, and from
        there for {FURTHER["training"]["updates"]} more with all, without one at a time, and with
        none: {COMMAND}. The figures are those of `benchmarks.quality.typed` on {SENTENCES}
        validation sentences. Each figure is of one training with one seed, so differences of 0.01
        or 0.02 say nothing. Where a figure is near 0 even with all augmentations, this training was
        too short to learn what it measures.""",
        f"""BLEU on clean text: {", ".join(bleu)}. These {len(results)} trainings, which continue
        the first one, and their measurements took {seconds / 3600:.1f} hours on
        {results["all"]["machine"]}, at {results["all"]["commit"][:12]}. {open_rows}""",
    )
    first, last = map(paragraph, parts)
    return f"{first}\n\n{markdown_table(heads, rows, 'llrrr')}\n\n{last}"


if __name__ == "__main__":
    main()
