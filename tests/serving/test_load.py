"""The load benchmark counts correctly, and the model server serves many clients."""

import threading
import time

import pytest

from benchmarks.speed.serving_load import list_systems, load_table, plot_load
from benchmarks.speed.serving_systems import measure, summarize


def test_latencies_and_throughput_belong_to_the_system():
    threads = set()

    def translate(texts):
        threads.add(threading.get_ident())
        time.sleep(0.02 * len(texts))

    measured = measure(translate, ["a", "b", "c"], batch_size=2, num_clients=3, seconds=0.5)
    row = summarize("sleeper", 2, 3, measured)
    assert len(threads) == 3
    assert 40 <= row["p50"] <= row["p95"] <= row["p99"]
    assert row["sentences_per_second"] == pytest.approx(
        2 * len(measured["latencies"]) / measured["seconds"]
    )
    assert row["sentences_per_second"] < 3 * 2 / 0.04 * 1.01


def test_an_error_does_not_count_as_speed():
    def translate(texts):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        measure(translate, ["a"], batch_size=1, num_clients=2, seconds=0.1)


def test_the_table_and_the_plot_hold_every_system():
    rows = [
        summarize(system, batch, clients, {"latencies": [0.1, 0.3], "seconds": 0.5})
        for system in ("REST", "CTranslate2")
        for batch in (1, 64)
        for clients in (1, 8)
    ]
    assert "| CTranslate2 | 64 | 8 | 200 | 290 | 298 | 256 | 2 |" in load_table(rows)
    panels = plot_load(rows).axes
    assert [len(axes.get_lines()) for axes in panels] == [4, 2, 4, 2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rest", "grpc"])
def test_eight_clients_get_their_own_answers(server, kind):
    from aiayn_keras.serving import GrpcClient, RestClient

    pytest.importorskip("tensorflow_serving")
    client = (
        RestClient(f"http://127.0.0.1:{server.rest_port}", "small")
        if kind == "rest"
        else GrpcClient(f"127.0.0.1:{server.grpc_port}", "small")
    )
    texts = ["Half past three.", "She knows that.", "The old bus.", "Ja.", "", "Good."]
    expected = [client.translate([text])[0].text for text in texts]

    def translate(batch):
        answer = [each.text for each in client.translate(batch)]
        assert answer == [expected[texts.index(text)] for text in batch]

    measured = measure(translate, texts, batch_size=4, num_clients=8, seconds=0.5)
    assert len(measured["latencies"]) >= 8
    client.close()


def test_each_kit_is_measured_with_each_system_that_serves_one(tmp_path):
    systems = ["gRPC", "batching", "CTranslate2"]
    (tmp_path / "models").mkdir()
    kits = [("old", tmp_path / "models"), ("new", tmp_path)]
    found = list_systems(systems, kits, tmp_path)
    assert list(found) == [
        "CTranslate2",
        "gRPC, old",
        "batching, old",
        "gRPC, new",
        "batching, new",
    ]
    system, folder = found["batching, old"]
    assert (system, (folder / "kit").resolve()) == ("batching", tmp_path / "models")
    assert list_systems(systems, [], tmp_path).keys() == set(systems)
