"""The check of the projections on real devices runs on a CPU, too."""

import json

from click.testing import CliRunner

from benchmarks.accelerator import main

SMALL = ("--preset", "tiny", "--layers", "1", "--vocabulary-size", "64", "--tokens", "128")


def test_a_training_is_timed_on_whatever_is_here(tmp_path):
    output = tmp_path / "accelerator.json"
    words = (*SMALL, "--row", "64", "--steps", "2", "--precision", "float32", "--no-jit-compile")
    result = CliRunner().invoke(main, [*words, "--output", str(output)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "target tokens/s" in result.output
    record = json.loads(output.read_text("utf-8"))
    assert (record["devices"], record["tokens"]) == (1, 128)
    assert record["first_step_seconds"] > record["step_seconds"] > 0
    assert record["device"].lower() == "cpu"
    assert record["mfu"] is None
    # The model's products, by hand: D = 128, F = 256, V = 64, rows of 64 positions.
    attention = 4 * 128**2 + 2 * 128 * 64
    forward = 2 * 128 * (3 * attention + 2 * (2 * 128 * 256) + 128 * 64)
    expected = 3 * forward / record["step_seconds"] / 1e12
    assert abs(record["tflops"] / expected - 1) < 1e-6


def test_rows_must_fit():
    result = CliRunner().invoke(main, [*SMALL, "--row", "100"])
    assert result.exit_code == 2
    assert "--row" in result.output
