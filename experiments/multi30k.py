"""The section of docs/reproduction.md on Multi30k."""

import statistics
from pathlib import Path

from benchmarks.report import markdown_table
from experiments.prose import paragraph
from experiments.table3.results import core_hours_in_words, read_results
from experiments.table3.row_recipe import fingerprint
from experiments.table3.rows import ROWS

SEEDS = 3
RECIPE = Path("aiayn_keras/training/recipes/multi30k_en_de_tiny.yaml")
COMMAND = f"""python -m experiments.table3 --base {RECIPE} --row base --runs runs/multi30k
--results experiments/results/multi30k"""


def read(folder):
    """Reads the result files in a folder: a list of `Result` in the order of their seeds."""
    row = ROWS[0]
    recipe = Path(__file__).parents[1] / RECIPE
    return read_results(folder, {row.name: fingerprint(row, recipe)}).get(row.name, [])


def section(german, french, results):
    """Markdown of the section.

    Args:
        german: Command and BLEU of the training in docs/benchmarks.md, as strings.
        french: The same for English to French.
        results: List of `Result` for English to German, one per seed.
    """
    rows = [
        ["English to German", german[0], german[1], "41.02"],
        ["English to French", french[0], french[1], "61.80"],
    ]
    heads = ["", "command", "test 2016", "Wu et al. 2021"]
    text = """The figures of [benchmarks.md](benchmarks.md), from one training each with an earlier
    version: 8,000 updates, mean of the last 10 checkpoints, beam 5 and α 1 on lower-cased,
    tokenized text (sacreBLEU `tok:none`). Sizes, beam and α are those of
    [Wu et al. 2021](https://aclanthology.org/2021.acl-long.480), not chosen here; their toolkit
    divides scores by |y|^α, ours by the paper's ((5 + |y|) / 6)^α."""
    parts = [markdown_table(heads, rows, "llrr"), paragraph(text), _seeds(results)]
    return "\n\n".join(parts)


def _seeds(results):
    if not results:
        return paragraph(
            f"English to German over {SEEDS} seeds: not run yet, `{COMMAND}` makes it."
        )
    missing = "" if len(results) >= SEEDS else f", **of {SEEDS} wanted**"
    one = results[0]
    text = f"""English to German again, with {len(results)} seed{"s" * (len(results) > 1)} for the
    initial weights, the order of batches and dropout{missing}: `{COMMAND}`, in
    {core_hours_in_words(results)}, on {one.machine}; BLEU is sacreBLEU's
    `{one.bleu_signature}`, chrF `{one.chrf_signature}`. The recipe's own seed is 1."""
    rows = [
        [f"`base-{result.seed}.json`", *(f"{figure:.2f}" for figure in _figures(result))]
        for result in results
    ]
    if len(results) > 1:
        columns = list(zip(*map(_figures, results), strict=True))
        rows.append(["mean ± standard deviation", *map(_mean, columns)])
    heads = ["", "perplexity, validation", "BLEU, validation", "BLEU, test 2016", "chrF, test 2016"]
    return f"{paragraph(text)}\n\n{markdown_table(heads, rows, 'lrrrr')}"


def _figures(result):
    validation, test = result.validation, result.test
    return validation.perplexity, validation.bleu, test.bleu, test.chrf


def _mean(figures):
    return f"{statistics.mean(figures):.2f} ± {statistics.stdev(figures):.2f}"
