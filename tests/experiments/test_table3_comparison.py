"""Rows are compared with the base over seeds, and the figure shows what was compared."""

import keras
import pytest
import scipy.stats

from experiments.table3.comparison import compare, dunnett_by_means, spread_of_seeds
from experiments.table3.figure import WIDEST, plot_differences
from experiments.table3.rows import ROWS
from experiments.table3.section import read, section
from tests.experiments.table3_files import write_made_up_result
from tests.helpers import assert_close

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="The sweep runs on TensorFlow."
)
BY_NAME = {row.name: row for row in ROWS}
BASE = (30.0, 31.0, 32.0)


def results(folder, **bleu):
    for name, values in bleu.items():
        for seed, value in enumerate(values, start=1):
            write_made_up_result(folder, BY_NAME[name], seed, value)
    return read(folder)


def compared(folder, **bleu):
    return {each.row.name: each for each in compare(results(folder, **bleu))}


def verdicts(row):
    return [row.verdict(claim) for claim in row.row.claims]


def test_means_deviations_and_differences_are_those_of_the_seeds(tmp_path):
    rows = compared(tmp_path, base=BASE, h1=(28.0, 29.0))
    base, h1 = rows["base"], rows["h1"]
    assert (base.bleu, base.deviation, base.difference) == (31.0, 1.0, 0.0)
    assert_close([h1.bleu, h1.deviation, h1.difference], [28.5, 0.5**0.5, -2.5])
    assert_close(h1.error, (0.5 / 2 + 1 / 3) ** 0.5)
    assert h1.paper_difference == -0.9
    assert h1.perplexity == 7.5


def test_the_test_of_one_row_is_students(tmp_path):
    row = (28.2, 29.9, 29.0)
    p_value = compared(tmp_path, base=BASE, h1=row)["h1"].p_value
    assert_close(p_value, scipy.stats.ttest_ind(row, BASE).pvalue, atol=1e-3)


def test_what_a_seed_does_to_all_rows_is_told_apart(tmp_path):
    # Less their means: -1 0 1 and -1 -1 2, of which all seeds share -1 -0.5 1.5; 0 ±0.5 is left.
    bleu = {"base": BASE, "h1": (30.0, 30.0, 33.0), "h2": (30.0, 31.0), "h8": (31.0, 31.0, 2.0)}
    rows = compare(results(tmp_path / "rows", **bleu))
    spread = spread_of_seeds(rows)
    assert_close([spread.pooled, spread.without_seeds], [(8 / 4) ** 0.5, (1 / 2) ** 0.5])
    assert (spread.best_seed, spread.times_best, spread.rows) == (3, 2, 2)
    assert spread_of_seeds(rows[:1]) is None


def test_a_row_with_one_failed_training_hides_all_others_where_means_decide(tmp_path):
    # h1 fails once, but not in the mean: -14, 7, 7 are most of the pooled variance.
    bleu = {"base": BASE, "h1": (14.0, 35.0, 35.0), "h2": (20.0, 21.0, 22.0)}
    rows = compare(results(tmp_path / "rows", **bleu))
    assert [each.p_value is None for each in rows] == [True, True, False]
    assert rows[2].p_value < 0.05
    deviation, seen = dunnett_by_means(rows)
    assert_close(deviation, (((14**2 + 7**2 + 7**2) + 2 + 2) / 6) ** 0.5)
    assert seen == []
    assert dunnett_by_means(rows[:1]) is None


def test_more_rows_make_the_test_stricter(tmp_path):
    row = (28.2, 29.9, 29.0)
    others = dict.fromkeys(("h2", "h8", "n2", "n6"), BASE)
    alone = compared(tmp_path / "alone", base=BASE, h1=row)["h1"].p_value
    assert compared(tmp_path / "all", base=BASE, h1=row, **others)["h1"].p_value > alone
    again = compared(tmp_path / "all", base=BASE, h1=row, **others)
    assert again == compared(tmp_path / "all", base=BASE, h1=row, **others)


def test_a_row_that_did_not_train_is_not_tested_and_changes_no_other_test(tmp_path):
    row = (28.2, 29.9, 29.0)
    alone = compared(tmp_path / "alone", base=BASE, h1=row)["h1"].p_value
    rows = compared(tmp_path / "all", base=BASE, h1=row, n6=(12.0, 2.0, 9.0), n2=(12.0, 31.0, 30.0))
    assert rows["h1"].p_value == alone
    assert (rows["n6"].p_value, verdicts(rows["n6"])) == (None, ["did not train"])
    assert (rows["n2"].p_value, verdicts(rows["n2"])) == (None, ["1 of 3 did not train"])
    assert rows["n6"].deviation > 5


def test_one_seed_is_shown_and_not_tested(tmp_path):
    rows = compared(tmp_path, base=BASE, h1=(20.0,), n2=(20.0, 21.0))
    h1 = rows["h1"]
    assert (h1.difference, h1.deviation, h1.error, h1.p_value) == (-11.0, None, None, None)
    assert verdicts(h1) == ["too few seeds"]
    assert rows["n2"].p_value < 0.01


@pytest.mark.parametrize(
    ("name", "bleu", "verdict"),
    [
        ("h1", (20.0, 21.0, 22.0), "holds"),
        ("h1", (30.0, 31.0, 31.5), "not seen"),
        ("h1", (40.0, 41.0, 42.0), "does not hold"),
        ("f512", (40.0, 41.0, 42.0), "holds"),
        ("learned", (30.0, 31.0, 31.5), "no difference seen"),
        ("learned", (20.0, 21.0, 22.0), "does not hold"),
    ],
)
def test_verdicts_follow_from_sign_and_test(tmp_path, name, bleu, verdict):
    assert verdicts(compared(tmp_path, base=BASE, **{name: bleu})[name]) == [verdict]


def test_a_claim_on_perplexity_is_tested_by_perplexity(tmp_path):
    for name, perplexities in (("base", (7.4, 7.5, 7.6)), ("smoothing_00", (6.4, 6.5, 6.6))):
        for seed, perplexity in enumerate(perplexities, start=1):
            write_made_up_result(tmp_path, BY_NAME[name], seed, 31.0 + seed / 10, perplexity)
    row = compare(read(tmp_path))[1]
    assert_close(row.perplexity_difference, -1.0)
    assert row.perplexity_p_value < 0.01 < row.p_value
    assert verdicts(row) == ["not seen", "holds"]
    assert row.paper_perplexity_difference == -0.25


def test_the_section_has_a_row_for_each_row_and_says_what_is_missing(tmp_path):
    text = " ".join(section(results(tmp_path, base=BASE, h1=(28.0, 29.0)), "figure.png").split())
    assert "**Unfinished: 55 of 60 trainings are not done yet**" in text
    assert "so far 5 of 60 trainings, in 5.0 core-hours, on 2 × abacus" in text
    assert "| A | 1 head of 128 | 2 | 1,234,567 | 7.50 | 28.5 ± 0.7 | -2.5 |" in text
    assert "| -0.9, +0.37 (1 head of 512) | 29.5 | 57.0 |" in text
    assert "the signature of BLEU" in text
    assert "(figure.png)" in text


def test_without_the_base_there_is_no_table(tmp_path):
    assert section(results(tmp_path, h1=(28.0,)), "figure.png").startswith("Not run yet")


def test_the_figure_shows_every_difference_and_both_origins(tmp_path):
    every = compare(results(tmp_path, base=BASE, h1=(28.0, 29.0), no_residuals=(1.0, 2.0)))
    figure = plot_differences(every, tmp_path / "figure.png")
    (axes,) = figure.axes
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert labels == ["(A)  1 head of 128", "no residual connections"]
    (bars,) = axes.containers
    assert_close(bars.lines[0].get_xydata(), [[-2.5, 1.16]])
    points = {line.get_marker(): line.get_xydata() for line in axes.lines if len(line.get_xdata())}
    assert_close(points["D"], [[-0.9, 0.84]])
    assert_close(points["<"], [[-WIDEST, 0]])
    assert [text.get_text() for text in axes.texts] == ["-29.5"]
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {
        "ours, ± standard error", "the paper's one figure",
    }  # fmt: skip
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
