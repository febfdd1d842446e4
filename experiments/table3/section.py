"""The section of docs/reproduction.md on Table 3 on a small scale."""

import itertools
from pathlib import Path

from aiayn_keras.training import load_recipe
from benchmarks.report import markdown_table
from experiments.prose import paragraph
from experiments.table3.comparison import LEVEL, compare, dunnett_by_means, spread_of_seeds
from experiments.table3.results import core_hours_in_words, read_results
from experiments.table3.row_recipe import fingerprint
from experiments.table3.rows import BASE_RECIPE, PAPER_BASE, ROWS

SEEDS = 3
COMMAND = "python -m experiments.table3"
NOT_RUN = f"Not run yet: `{COMMAND}` makes it.\n"


def read(folder):
    """Reads the result files in a folder: a dictionary of lists of `Result` by row name."""
    return read_results(folder, {row.name: fingerprint(row, BASE_RECIPE) for row in ROWS})


def section(results, figure):
    """Markdown of the section.

    Args:
        results: Dictionary of lists of `Result` by row name.
        figure: Path of the figure, as written in the page.
    """
    if ROWS[0].name not in results:
        return NOT_RUN
    compared = compare(results)
    parts = [_introduction(results), _table(compared)]
    if len(compared) > 1:
        parts += [f"![Differences in BLEU from the base model]({figure})", _verdicts(compared)]
    return "\n\n".join(parts)


def _introduction(results):
    every = list(itertools.chain.from_iterable(results.values()))
    one, recipe = every[0], load_recipe(BASE_RECIPE)
    wanted = SEEDS * len(ROWS)
    so_far = "so far " if len(every) < wanted else ""
    unfinished = (
        f" **Unfinished: {wanted - len(every)} of {wanted} trainings are not done yet**, so rows "
        f"are missing, or have fewer than {SEEDS} seeds. The same command continues with those "
        "that have no file, after reporting how many hours they will take; then `python -m "
        "experiments.report` renews this page."
        if len(every) < wanted
        else ""
    )
    machines = " and ".join(f"{name}" for name in sorted({result.machine for result in every}))
    commits = ", ".join(sorted({f"`{result.commit[:12]}`" for result in every}))
    base = Path(BASE_RECIPE).relative_to(Path(__file__).parents[2]).as_posix()
    first = f"""The paper's Table 3 asks what each part is worth. Here the question is asked on
    a scale that two CPU cores can handle in hours, and with the spread over seeds, which the paper
    does not give. `{COMMAND}` produces every figure; the files are in
    [`experiments/results/table3`](../experiments/results/table3): {so_far}{len(every)} of
    {wanted} trainings, in {core_hours_in_words(every)}, on
    {machines} (TensorFlow {one.versions["tensorflow"]}, Keras {one.versions["keras"]}; commits
    {commits}).{unfinished}"""
    second = f"""Every row is the base model ([`{base}`](../{base})) with one change, trained on
    Multi30k English-German ([training.md](training.md) says where it is read from) for the same
    {one.updates:,} updates, or {one.target_tokens / 1e6:.1f}
    million target tokens. That is 1/{_share(recipe):.0f} of the training of
    `multi30k_en_de_tiny` below, so these models are compared early in their training, when
    regularization matters little. The paper trains for 100,000 updates on a corpus 150 times as
    large."""
    third = f"""Nothing was tuned, with one exception: for a different d_model, the peak learning
    rate is scaled by the inverse of its root, as in equation 3. This was added after two runs with
    the base model's peak, which were discarded. Dropout 0.1, label smoothing 0.1, beam
    {one.num_beams}, α {one.length_penalty} and the absence of checkpoint averaging follow the
    paper; the sizes and the peak learning rate are those of the recipe `multi30k_en_de_tiny`; and
    the number of updates was chosen, with a suitable batch and warm-up, so that a training takes a
    few minutes. **The validation text decides**; the test text is shown beside it. BLEU is
    sacreBLEU's `{one.bleu_signature}`, chrF is `{one.chrf_signature}`, and perplexity is per
    wordpiece."""
    return "\n\n".join(map(paragraph, (first, second, third)))


def _share(recipe):
    """Positions of the recipe `multi30k_en_de_tiny` for one of this recipe."""
    positions = [
        each.training.updates * each.batches.tokens_per_batch
        for each in (load_recipe("multi30k_en_de_tiny"), recipe)
    ]
    return positions[0] / positions[1]


def _table(compared):
    heads = [
        "", "what differs", "seeds", "parameters", "perplexity", "BLEU, validation", "difference",
        "p", "the paper's differences, BLEU and perplexity", "BLEU, test", "chrF, test",
    ]  # fmt: skip
    return markdown_table(heads, [_cells(each) for each in compared], "ll" + "r" * 9)


def _cells(each):
    is_base = each.p_value is None and each.row is ROWS[0]
    tests = [result.test for result in each.results]
    mean = {
        name: sum(getattr(test, name) for test in tests) / len(tests) for name in ("bleu", "chrf")
    }
    return [
        each.row.group,
        each.row.label,
        str(len(each.results)),
        f"{each.results[0].parameters:,}",
        f"{each.perplexity:.2f}",
        f"{each.bleu:.1f}" + (f" ± {each.deviation:.1f}" if each.deviation is not None else ""),
        "" if is_base else f"{each.difference:+.1f}",
        each.failures if each.num_failed else _p(each.p_value),
        _paper(each, is_base),
        f"{mean['bleu']:.1f}",
        f"{mean['chrf']:.1f}",
    ]


def _p(value):
    if value is None:
        return ""
    return "< 0.01" if value < 0.01 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _paper(each, is_base):
    paper = each.row.paper
    if is_base:
        return f"{paper.bleu} BLEU, perplexity {paper.perplexity}"
    if paper is None:
        return ""
    differences = f"{each.paper_difference:+.1f}, {each.paper_perplexity_difference:+.2f}"
    return f"{differences} ({paper.label})"


def _claim_cells(each, claim):
    difference, p_value = each.tested(claim.figure)
    is_bleu = claim.figure == "bleu"
    amount = f"{difference:+.1f} BLEU" if is_bleu else f"{difference:+.2f} perplexity"
    return [claim.text, each.row.label, amount, _p(p_value), each.verdict(claim)]


def _changed_afterwards(compared):
    """A paragraph on the decisions made after results were known."""
    by_means, spread = dunnett_by_means(compared), spread_of_seeds(compared)
    matters = ""
    if by_means is not None and spread is not None:
        deviation, seen = by_means
        matters = f""" Under the first rule, the standard deviation within a row would be
        {deviation:.2f} BLEU instead of {spread.pooled:.2f}, and a difference in BLEU would be seen
        only for {", ".join(seen) or "no row"}."""
    return paragraph(f"""**Changed after results were seen.** Dunnett's test and the paper's
    claims were chosen before the first training, the rest later. The rule on models that did not
    train was added once there were such models. At first a row was excluded if its mean was below
    half the base's. Then one of three trainings of 6+6 layers failed while the row's mean stayed
    above; since then a single failed training excludes its row.{matters} Three more changes came
    when 52 of 60 trainings were done. The claim about label smoothing was split into one on BLEU
    and one on perplexity. 6+6 layers are tested on perplexity and no longer on BLEU, since the
    paper's own deeper row has the lower BLEU. And 2+2 layers are compared with the paper's 4+4
    (-0.5), the nearest factor, instead of its 2+2 (-2.1).""")


def _verdicts(compared):
    rows = [_claim_cells(each, claim) for each in compared for claim in each.row.claims]
    heads = ["the paper says", "row", "difference", "p", "at this size"]
    text = f"""± is the standard deviation over seeds. p comes from Dunnett's test, which compares
    every row's BLEU with the base model's over seeds, with one pooled variance and corrected for
    all rows together. It is used instead of sacreBLEU's paired bootstrap, which compares two
    trained models, because the question is what a new training would give. A difference counts as
    seen if p < {LEVEL}; with {SEEDS} seeds only large differences are seen, so "not seen" and "no
    difference seen" do not prove that the rows are equal. Where the paper makes a claim about
    perplexity, it is tested in the same way. A training with less than half the base's BLEU *did
    not train* within this budget: its row is not tested and is excluded from the pooled variance,
    which assumes that all rows have the same spread. The paper's figures are for newstest2013 (base
    {PAPER_BASE.bleu}), one per row; each row stands beside the paper's row with the same factor, or
    the nearest."""
    parts = [
        paragraph(text),
        _changed_afterwards(compared),
        markdown_table(heads, rows, "llrrl"),
        *_seen_afterwards(compared),
    ]
    return "\n\n".join(parts)


def _seen_afterwards(compared):
    """Paragraphs on differences that were looked for only after the results were known."""
    parts, spread = [], spread_of_seeds(compared)
    different = ", ".join(
        f"{each.row.label} {each.perplexity_difference:+.2f}"
        for each in compared
        if each.perplexity_p_value is not None and each.perplexity_p_value < LEVEL
    )
    if different:
        text = f"""**Seen afterwards.** Only label smoothing and 6+6 layers have a claim on
        perplexity. Perplexity varies less over seeds than BLEU, and with it more rows
        differ from the base with p < {LEVEL}: {different}."""
        parts.append(paragraph(text))
    if spread is not None:
        text = f"""All rows share their seeds, and therefore the order of their batches and, where
        shapes are equal, their initial weights, so a seed that is good for one row is good for
        others: seed {spread.best_seed} is the best in {spread.times_best} of the {spread.rows} rows
        that trained with every seed. The standard deviation of BLEU within a row is
        {spread.pooled:.2f}, or {spread.without_seeds:.2f} without the effect that a seed has on all
        rows. Dunnett's test assumes independent trainings, so it is conservative here; a comparison
        seed by seed would see smaller differences. The test was chosen beforehand and is kept."""
        parts.append(paragraph(text))
    return parts
