"""A kit's alert rules for Prometheus, and its dashboard for Grafana, over the server's metrics."""

import hashlib
import json

from aiayn_keras.export.preparation import render

RULES, DASHBOARD = "prometheus_rules.yaml", "grafana_dashboard.json"
"""Names of the files."""

_PANELS = (
    (
        "Requests a second",
        "By status. INVALID_ARGUMENT and NOT_FOUND are wrong requests.",
        "reqps",
        {"sum by (status) (rate(:tensorflow:serving:request_count{MODEL}[WINDOW]))": "{{status}}"},
    ),
    (
        "Latency",
        "From the request to the answer, with the wait for a batch, REST and gRPC. Buckets grow by "
        "a factor of 1.8, so a quantile is rough.",
        "s",
        {
            f"histogram_quantile({share}, sum by (le) "
            "(rate(:tensorflow:serving:request_latency_bucket{MODEL}[WINDOW]))) / 1e6": legend
            for share, legend in ((0.5, "median"), (0.95, "95 %"), (0.99, "99 %"))
        },
    ),
    (
        "Time in the graph",
        "Without reading and writing JSON or protocol buffers; with batching, it has the wait too.",
        "s",
        {
            "histogram_quantile(0.95, sum by (le) "
            "(rate(:tensorflow:serving:runtime_latency_bucket{MODEL}[WINDOW]))) / 1e6": "95 %"
        },
    ),
    (
        "Requests that wait for a batch",
        "Mean number at each server; the autoscaler aims at 4, and a server of two cores is full "
        "at about 11. Nothing if the server does not batch requests.",
        "short",
        {
            "sum by (instance) (rate(:tensorflow:serving:batching_session:queuing_latency_sum"
            "[WINDOW])) / 1e6 and on (instance) :tensorflow:serving:request_count{MODEL}": (
                "{{instance}}"
            )
        },
    ),
    (
        "Wait for a batch",
        "Mean for each request.",
        "s",
        {
            "sum by (instance) (rate(:tensorflow:serving:batching_session:queuing_latency_sum"
            "[WINDOW])) / sum by (instance) (rate(:tensorflow:serving:batching_session:"
            "queuing_latency_count[WINDOW])) / 1e6 "
            "and on (instance) :tensorflow:serving:request_count{MODEL}": "{{instance}}"
        },
    ),
    (
        "Attempts to load a version",
        "A version with `fail` and without `success` is in the state END.",
        "short",
        {
            "sum by (instance, model_path, status) "
            "(:tensorflow:cc:saved_model:load_attempt_count{PATH})": (
                "{{model_path}} {{status}} {{instance}}"
            )
        },
    ),
)
"""Title, description, unit, and legends by queries, in which MODEL, PATH and WINDOW stand for a
kit's labels and Grafana's window of time."""

_DATA_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 12, 8
_COLUMNS = 24 // _WIDTH


def prometheus_rules(name):
    """Writes the alert rules of a model.

    Args:
        name: Name under which it is served.

    Returns:
        YAML.
    """
    return render(RULES, name=name, pattern=name_pattern(name))


def grafana_dashboard(name):
    """Writes the dashboard of a model.

    Args:
        name: Name under which it is served.

    Returns:
        JSON, to be imported or provisioned; it asks for a data source.
    """
    dashboard = {
        "uid": f"translation-{hashlib.sha256(name.encode()).hexdigest()[:12]}",
        "title": f"Translation: {name}",
        "tags": ["tensorflow-serving"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Data source",
                    "type": "datasource",
                    "query": "prometheus",
                }
            ]
        },
        "panels": [_panel(number, name, *panel) for number, panel in enumerate(_PANELS)],
    }
    return json.dumps(dashboard, indent=2) + "\n"


def _panel(number, name, title, description, unit, legends):
    row, column = divmod(number, _COLUMNS)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": _DATA_SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _DATA_SOURCE,
                "expr": _query(template, name),
                "legendFormat": legend,
            }
            for index, (template, legend) in enumerate(legends.items())
        ],
    }


def _query(template, name):
    values = {
        "{MODEL}": f'{{model_name="{name}"}}',
        "{PATH}": f'{{model_path=~"/models/{name_pattern(name)}/.*"}}',
        "[WINDOW]": "[$__rate_interval]",
    }
    for word, value in values.items():
        template = template.replace(word, value)
    return template


def name_pattern(name):
    """Writes a regular expression for a model's name, whose only special character is the dot.

    Example:
    >>> name_pattern("en-de.v2")
    'en-de[.]v2'
    """
    return name.replace(".", "[.]")
