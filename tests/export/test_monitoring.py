"""Alert rules and dashboard of a kit, before Prometheus' own `promtool`."""

import itertools
import json
import re
import shutil
import subprocess

import pytest
import yaml

from aiayn_keras.export.kubernetes import DASHBOARD, RULES, grafana_dashboard, prometheus_rules

METRICS = {
    ":tensorflow:cc:saved_model:load_attempt_count",
    ":tensorflow:serving:batching_session:queuing_latency_count",
    ":tensorflow:serving:batching_session:queuing_latency_sum",
    ":tensorflow:serving:request_count",
    ":tensorflow:serving:request_latency_bucket",
    ":tensorflow:serving:runtime_latency_bucket",
}
"""Names in the source of TensorFlow Serving; `test_real_server.py` finds them in its page."""

NAME = "en.de"


def promtool(*arguments):
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian's package prometheus)")
    command = ["promtool", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_both_files_name_metrics_of_the_server_and_the_kit(noted_kit):
    texts = [(noted_kit / file).read_text("utf-8") for file in (RULES, DASHBOARD)]
    assert {name for text in texts for name in re.findall(r":tensorflow:[\w:]+", text)} == METRICS
    for text in texts:
        models = re.findall(r'model_name=\\?"([^"\\]*)\\?"', text)
        paths = re.findall(r'model_path=~\\?"([^"\\]*)\\?"', text)
        assert set(models) == {noted_kit.name}
        assert all(re.fullmatch(path, f"/models/{noted_kit.name}/3") for path in paths)
        assert not any(re.fullmatch(path, f"/models/x{noted_kit.name}/3") for path in paths)


def test_promtool_reads_the_rules(noted_kit):
    status, output = promtool("check", "rules", "--lint-fatal", noted_kit / RULES)
    assert status == 0, output
    assert "5 rules found" in output


@pytest.mark.parametrize(("old", "new"), [("sum by", "sum bye"), ("expr:", "exp:"), ("5m", "5 m")])
def test_promtool_refuses_broken_rules(tmp_path, old, new):
    text = prometheus_rules(NAME)
    assert old in text
    (tmp_path / RULES).write_text(text.replace(old, new), encoding="utf-8")
    assert promtool("check", "rules", tmp_path / RULES)[0] != 0


def series(name, values, **labels):
    labels = {"job": "t", "instance": "one", **labels}
    inner = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return {"series": f"{name}{{{inner}}}", "values": values}


def requests(status, each_minute, model=NAME):
    name = ":tensorflow:serving:request_count"
    return series(name, f"0+{each_minute}x60", model_name=model, status=status)


def loads(status, values="1x60", path=f"/models/{NAME}/1"):
    name = ":tensorflow:cc:saved_model:load_attempt_count"
    return series(name, values, model_path=path, status=status)


def latencies(slow_share):
    """Two buckets, with the share of 100 requests a minute that take longer than four seconds."""
    name, labels = ":tensorflow:serving:request_latency_bucket", {"API": "predict"}
    fast = round(100 * (1 - slow_share))
    return [
        series(name, f"0+{count}x60", model_name=NAME, entrypoint="REST", le=limit, **labels)
        for limit, count in (("100000", fast), ("4e+06", fast), ("8e+06", 100), ("+Inf", 100))
    ]


def queue(num_waiting):
    name = ":tensorflow:serving:batching_session:queuing_latency_sum"
    return series(name, f"0+{num_waiting * 60_000_000}x60", thread_pool_name="batch_threads")


WELL = [loads("success"), requests("OK", 600)]


@pytest.mark.parametrize(
    ("alert", "firing", "silent"),
    [
        (
            "TranslationServerGone",
            [[], [loads("success", path="/models/en-de/1")], [loads("success", "1x10")]],
            [WELL],
        ),
        (
            "TranslationErrors",
            [[*WELL, requests("INTERNAL", 20)], [requests("RESOURCE_EXHAUSTED", 1)]],
            [
                [*WELL, requests("INTERNAL", 6)],
                [*WELL, requests("INVALID_ARGUMENT", 600), requests("NOT_FOUND", 600)],
                [*WELL, requests("INTERNAL", 600, "another")],
            ],
        ),
        (
            "TranslationsSlow",
            [[*WELL, *latencies(0.06)]],
            [[*WELL, *latencies(0.04)], [*WELL, *latencies(0.0)]],
        ),
        (
            "TranslationsQueued",
            [[*WELL, queue(9)]],
            [[*WELL, queue(7)], [loads("success"), requests("OK", 600, "another"), queue(9)]],
        ),
        (
            "TranslationVersionFailed",
            [[*WELL, loads("fail", path=f"/models/{NAME}/2")], [loads("fail")]],
            [[*WELL, loads("fail")], [*WELL, loads("fail", path="/models/another/2")]],
        ),
    ],
)
def test_an_alert_fires_when_it_should(tmp_path, alert, firing, silent):
    (tmp_path / RULES).write_text(prometheus_rules(NAME), encoding="utf-8")
    for cases, is_firing in ((firing, True), (silent, False)):
        for inputs in cases:
            failed = alerts_at_the_end(tmp_path, inputs)
            assert (alert in failed) == is_firing, inputs


def alerts_at_the_end(folder, inputs):
    """The names of the alerts that fire after an hour."""
    names = [rule["alert"] for rule in yaml.safe_load(prometheus_rules(NAME))["groups"][0]["rules"]]
    tests = {
        "rule_files": [RULES],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": inputs,
                # Each is expected not to fire: what does is in the report.
                "alert_rule_test": [
                    {"eval_time": "59m", "alertname": name, "exp_alerts": []} for name in names
                ],
            }
        ],
    }
    (folder / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    status, output = promtool("test", "rules", folder / "tests.yaml")
    fired = re.findall(r"alertname: (\w+), time", output)
    assert bool(fired) == (status != 0), output
    return set(fired)


def panels(name=NAME):
    return json.loads(grafana_dashboard(name))["panels"]


def test_promtool_reads_the_queries_of_the_dashboard(tmp_path):
    queries = [target["expr"] for panel in panels() for target in panel["targets"]]
    assert all("$__rate_interval" in query or "rate(" not in query for query in queries)
    rules = [
        {"record": f"query:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(queries)
    ]
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    status, output = promtool("check", "rules", path)
    assert status == 0, output
    assert f"{len(queries)} rules found" in output


def test_panels_stand_beside_each_other():
    assert len({panel["id"] for panel in panels()}) == len(panels())
    cells = list(itertools.chain.from_iterable(cells_of(**p["gridPos"]) for p in panels()))
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) == 23


def cells_of(x, y, w, h):
    return itertools.product(range(x, x + w), range(y, y + h))


def test_the_data_source_is_the_readers_choice():
    (variable,) = json.loads(grafana_dashboard(NAME))["templating"]["list"]
    assert (variable["type"], variable["query"]) == ("datasource", "prometheus")
    for panel in panels():
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {
                "type": "prometheus",
                "uid": f"${{{variable['name']}}}",
            }


def test_each_model_has_a_dashboard_of_its_own():
    uids = {json.loads(grafana_dashboard(name))["uid"] for name in ("a", "b", "a" * 100)}
    assert len(uids) == 3
    assert all(len(uid) <= 40 for uid in uids)
