"""The projections that a notebook reads are those of docs/devices.md."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "tutorials" / "data" / "tpu_projections.json").read_text("utf-8"))
ROWS = {  # of the first table of figures there
    ("base", "v5e:2x2"): "base, and projection and loss in chunks",
    ("base", "v6e:2x2"): "the same on `v6e:2x2`",
    ("base", "v5p:2x2x1"): "the same on `v5p:2x2x1`",
    ("big", "v5e:2x2"): "big on `v5e:2x2`, without chunks",
}


def row_of(title):
    """The numbers of a row of the table, in order."""
    text = (ROOT / "docs" / "devices.md").read_text("utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith(f"| {title} |"))
    return [float(number) for number in re.findall(r"[\d.]+", row.removeprefix(f"| {title} |"))]


@pytest.mark.parametrize("record", STORED["records"], ids=lambda r: r["preset"] + r["topology"])
def test_stored_projections_are_those_of_the_table(record):
    kinds = ("roofline", "compiler")
    row = row_of(ROWS[record["preset"], record["topology"]])
    assert row[:2] == [record["mfu_percent"][kind] for kind in kinds]
    assert row[2:4] == [record["step_ms"][kind] for kind in kinds]
    assert row[-3:] == [record[name] for name in ("peak_gb", "moved_gb", "all_reduce_mb")]


def test_the_texts_around_the_table_are_those_of_the_stored_file():
    text = (ROOT / "docs" / "devices.md").read_text("utf-8")
    assert STORED["compiler"] in text.replace("\n", " ")
    assert f"rows of {STORED['row']}" in text
    assert f"{STORED['tokens_per_chip']:,} tokens on each side per chip" in text
