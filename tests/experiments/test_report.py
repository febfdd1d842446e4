"""The page docs/reproduction.md is what its command makes of the result files."""

import json
import re
from pathlib import Path

import keras
import pytest

from experiments import multi30k, report, wmt14
from experiments.table3.rows import ROWS
from tests.experiments.table3_files import write_made_up_result

pytestmark = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="The page is the same on all."
)


@pytest.fixture(scope="module")
def page():
    return report.page()


def test_the_page_is_made_of_the_result_files(page):
    assert report.PAGE.read_text("utf-8") == page, "run `python -m experiments.report`"


def test_every_link_leads_to_a_file(page):
    links = [link for link in re.findall(r"\]\(([^)]+)\)", page) if "://" not in link]
    assert len(links) > 4
    assert [link for link in links if not (report.DOCS / link).exists()] == []


def test_the_figures_of_multi30k_are_those_of_the_benchmarks(page):
    assert report.benchmark("Multi30k en-de, test 2016") == (
        "`aiayn-keras train multi30k_en_de_tiny`", "41.06",
    )  # fmt: skip
    assert "| English to French | `aiayn-keras train multi30k_en_fr_tiny` | 61.80 | 61.80 |" in page


def test_multi30k_over_seeds_has_mean_and_spread(tmp_path):
    cells = ("`aiayn-keras train some`", "41.06")
    assert "not run yet" in multi30k.section(cells, cells, multi30k.read(tmp_path))
    base = Path(__file__).parents[2] / multi30k.RECIPE
    for seed, bleu, resumed_from in ((2, 41.0, 50), (1, 40.0, 0)):
        fields = {"cpu_seconds": 1800.0, "resumed_from": resumed_from}
        write_made_up_result(tmp_path, ROWS[0], seed, bleu, base=base, **fields)
    text = multi30k.section(cells, cells, multi30k.read(tmp_path))
    words = " ".join(text.split())
    assert "with 2 seeds for the initial weights" in words
    assert "**of 3 wanted**" in words
    assert "1.0 core-hours (not counting processes that were killed, in 1 resumed run)" in words
    assert "| `base-1.json` | 7.50 | 40.00 | 41.00 | 80.00 |" in text
    assert "| 7.50 ± 0.00 | 40.50 ± 0.71 | 41.50 ± 0.71 | 81.00 ± 1.41 |" in text


def test_hours_follow_from_the_papers_operations():
    # The paper trained for 12 hours and 3.5 days on 8 P100 (5.2).
    paper = "8 NVIDIA P100, the paper's"
    assert wmt14.hours("base", paper) == pytest.approx(12, rel=0.01)
    assert wmt14.hours("big", paper) == pytest.approx(3.5 * 24, rel=0.01)
    assert wmt14.hours("base", "1 NVIDIA H100") == pytest.approx(3.3e18 / 0.3 / 989e12 / 3600)


def test_cards_are_those_of_the_recipes_and_say_that_they_were_not_run(page):
    card = page[page.index("recipe cards") :]
    assert "**Not run**" in card
    assert "| updates | 100,000 | 300,000 |" in card
    assert "| mean of last checkpoints | 5 | 20 |" in card


def test_curves_of_the_search_have_a_row_for_each_beam(page):
    rows = json.loads(report.SEARCH.read_text("utf-8"))["rows"]
    best = max(row["bleu"] for row in rows if row["num_beams"] == 4)
    (line,) = (line for line in page.splitlines() if line.startswith("| 4 | "))
    assert f"{best:.2f}" in line


def test_parsing_is_shown_when_it_has_results(tmp_path):
    assert report.parsing(tmp_path) == report.PARSING_NOT_RUN
    row = {
        "parser": "balanced", "words": "≤ 40", "f1": 71.25, "precision": 72.0, "recall": 70.5,
        "exact_match": 12.0, "well_formed": 100.0, "sentences": 1234,
    }  # fmt: skip
    recipe = {"corpus": {}, "evaluation": {"num_beams": 4, "length_penalty": 0.3}}
    about = {"commit": "abc", "machine": "2 × abacus", "model": "small", "split": "test"}
    result = {**about, "recipe": recipe, "seconds": {}, "rows": [row]}
    (tmp_path / "some.json").write_text(json.dumps(result), "utf-8")
    text = report.parsing(tmp_path)
    assert "| balanced | ≤ 40 | 71.2 | 72.0 | 70.5 | 12.0 | 100.0 | 1,234 |" in text
    assert "beam 4, α 0.3" in text
    assert "not comparable" in text
    worse = {**row, "parser": "free", "f1": 60.0}
    baseline = {**result, "model": None, "rows": [worse]}
    (tmp_path / "a.json").write_text(json.dumps(baseline), "utf-8")
    text = report.parsing(tmp_path)
    assert text.index("| free |") < text.index("| balanced |")
    assert "`a.json`" in text
    assert text.count("beam 4") == 1
