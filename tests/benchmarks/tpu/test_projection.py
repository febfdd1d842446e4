"""A very small model is compiled for TPUs where `libtpu` is installed."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SMALL = ("--preset", "tiny", "--layers", "1", "--vocabulary-size", "64")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="needs `libtpu`: make tpu-environment"
)


def project(*words):
    command = [sys.executable, "-m", "benchmarks.tpu", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_training_step_compiles_for_two_copies_of_two_chips(tmp_path):
    words = ("train", *SMALL, "--model-parallel", "2", "--tokens", "64", "--row", "16")
    printed = project(*words, "--output", str(tmp_path))
    assert "never run on a TPU" in printed
    (path,) = tmp_path.glob("*.json")
    record = json.loads(path.read_text("utf-8"))
    assert record["host_callbacks"] == 0
    assert 0.5 < record["model_flops"] / record["matrix_flops"] <= 1.01
    assert record["collectives"]["all-reduce"]["count"]
    assert project("report", str(tmp_path)) in printed


def test_a_search_compiles_without_calls_to_the_host(tmp_path):
    words = ("search", *SMALL, "--topology", "v5e:1x1", "--batch", "2")
    project(*words, "--source", "8", "--target", "12", "--output", str(tmp_path))
    (path,) = tmp_path.glob("*.json")
    record = json.loads(path.read_text("utf-8"))
    assert "refusal" not in record
    assert record["host_callbacks"] == 0
