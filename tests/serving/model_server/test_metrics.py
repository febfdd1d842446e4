"""The page for Prometheus has the server's names and format."""

import shutil
import subprocess

import pytest

from aiayn_keras.serving.model_server.metrics import QUEUE_MICROSECONDS, REQUESTS, Metrics


def test_counters_and_buckets_add_up():
    metrics = Metrics()
    for _ in range(3):
        metrics.count(REQUESTS, model_name="small", status="OK")
    metrics.count(REQUESTS, model_name='a "b"\\', status="OK")
    for micros in (5, 10, 11, 1e12):
        metrics.observe(QUEUE_MICROSECONDS, micros / 1e6, thread_pool_name="t")
    lines = metrics.page().splitlines()
    assert f"# TYPE {REQUESTS} counter" in lines
    assert f'{REQUESTS}{{model_name="small",status="OK"}} 3' in lines
    assert f'{REQUESTS}{{model_name="a \\"b\\"\\\\",status="OK"}} 1' in lines
    buckets = [line for line in lines if line.startswith(f"{QUEUE_MICROSECONDS}_bucket")]
    counts = [(line.split('le="')[1].split('"')[0], line.split()[-1]) for line in buckets]
    assert counts[:3] == [("10", "2"), ("18", "3"), ("32.4", "3")]
    assert counts[21] == ("2.29468e+06", "3")  # as the real server writes it
    assert counts[-1] == ("+Inf", "4")
    assert f'{QUEUE_MICROSECONDS}_count{{thread_pool_name="t"}} 4' in lines


def test_promtool_reads_the_page():
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    metrics = Metrics()
    metrics.count(REQUESTS, model_name="small", status="OK")
    metrics.observe(QUEUE_MICROSECONDS, 1.0, thread_pool_name="t")
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=metrics.page(), capture_output=True, text=True
    )
    assert "error while linting" not in checked.stderr, checked.stderr


def test_a_library_reads_the_page():
    parser = pytest.importorskip("prometheus_client.parser")
    metrics = Metrics()
    metrics.count(REQUESTS, model_name="small", status="OK")
    metrics.observe(QUEUE_MICROSECONDS, 2.0, thread_pool_name="t")
    families = {each.name: each for each in parser.text_string_to_metric_families(metrics.page())}
    assert families[QUEUE_MICROSECONDS].type == "histogram"
    (sample,) = families[REQUESTS].samples
    assert (sample.labels, sample.value) == ({"model_name": "small", "status": "OK"}, 1.0)
