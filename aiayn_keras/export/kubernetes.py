"""The folder `kubernetes` of a kit: manifests, the image they run, and monitoring.

Alert rules for Prometheus and a dashboard for Grafana show the server's metrics.
"""

import hashlib
import json
import math
import re
import textwrap

from aiayn_keras.export.preparation import render
from aiayn_keras.export.server_files import NEWEST

FOLDER = "kubernetes"
FILES = (
    "Dockerfile",
    "kustomization.yaml",
    "deployment.yaml",
    "autoscaler.yaml",
    "batching.config",
    "prometheus_adapter.yaml",
    "service.yaml",
    "disruption_budget.yaml",
    "network_policy.yaml",
    "inference_service.yaml",
)
"""Names of its files; two of them only exist if the server batches requests."""

CORES = 2
"""Cores that a pod asks for, and threads that run its graphs.

Without a limit, the server would have a thread, and a batch in memory, for every core of its node.
"""

_PREFIX = "serving-"
_MAX_NAME = 63
_MAX_KSERVE_NAME = 40
"""KServe appends `-predictor`, and in host names the namespace."""
_MAX_TAG = 128

_HASH_DIGITS = 8

_MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30
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


def kubernetes_files(name, labels, loaded, flags, batching_config, memory):
    """Writes the texts of the folder.

    Args:
        name: Name under which the model is served.
        labels: Dictionary from a label to a version's number.
        loaded: List of the numbers of the versions that the server loads.
        flags: List of flags of the server in Docker.
        batching_config: Text of `batching.config`, or None if the server does not batch requests.
        memory: Memory limit of a pod, in bytes.

    Returns:
        Dictionary from a path in the kit to the text of the file, or to None for a file that must
        not be there.
    """
    batched = batching_config is not None
    object_name, tag = kubernetes_name(name), image_tag(labels, loaded)
    texts = {
        "Dockerfile": _dockerfile(name, tag, loaded, batched),
        "kustomization.yaml": _render("kustomization.yaml", object=object_name, tag=tag),
        "deployment.yaml": _deployment(name, flags, memory),
        "inference_service.yaml": _inference_service(name, tag, flags, memory),
        "autoscaler.yaml": _autoscaler(object_name, batched),
        "batching.config": None,
        "prometheus_adapter.yaml": None,
    }
    for file_name in ("service.yaml", "disruption_budget.yaml", "network_policy.yaml"):
        texts[file_name] = _render(file_name, object=object_name)
    if batched:
        texts["batching.config"] = f"num_batch_threads {{ value: {CORES} }}\n{batching_config}"
        texts["prometheus_adapter.yaml"] = _render("prometheus_adapter.yaml")
    return {f"{FOLDER}/{file_name}": text for file_name, text in texts.items()}


def kubernetes_name(name, max_length=_MAX_NAME):
    """The name of a model's objects and image: few enough lower-case letters, digits and `-`.

    A model's name that has anything else, or is too long, gets a hash at its end, so that no two
    models share an object.

    Example:
    >>> kubernetes_name("en-es")
    'serving-en-es'
    >>> kubernetes_name("tatoeba_en_es")
    'serving-tatoeba-en-es-3b3b4f3b'
    """
    full_name = f"{_PREFIX}{name}"
    if len(full_name) <= max_length and re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
        return full_name
    ending = _hash_of(name)
    similar = f"{_PREFIX}{re.sub('[^a-z0-9]+', '-', name.lower())}"
    return similar[: max_length - len(ending)].rstrip("-") + ending


def _hash_of(name):
    return f"-{hashlib.sha256(name.encode()).hexdigest()[:_HASH_DIGITS]}"


def image_tag(labels, loaded):
    """The tag of an image, which says what is in it: labels, and versions without one.

    Example:
    >>> image_tag({"stable": 1, "canary": 3}, [1, 3])
    'stable-1-canary-3'
    >>> image_tag({"stable": 1, "canary": 1}, [1, 2])
    'stable-1-canary-1-and-2'
    """
    others = [f"and-{version}" for version in loaded if version not in labels.values()]
    tag = "-".join([*(f"{label}-{version}" for label, version in labels.items()), *others])
    return tag if len(tag) <= _MAX_TAG else tag[: _MAX_TAG - len(_hash_of(tag))] + _hash_of(tag)


def pod_flags(flags):
    """Adds to the flags of a server that its graphs run on `CORES` threads."""
    return [*flags, f"--tensorflow_inter_op_parallelism={CORES}"]


def in_mebibytes(size, unit):
    """A number of bytes as mebibytes with a unit, rounded down.

    Example:
    >>> in_mebibytes(3 << 30, "Mi")
    '3072Mi'
    """
    return f"{size // _MEBIBYTE}{unit}"


def memory_limit(notes, weight_bytes):
    """Memory limit of a pod whose cores each search a full batch of texts of maximum length.

    A process of TensorFlow takes 1 GiB, and each graph, warmed up, 0.75 GiB. The memory of a search
    grows with the beams, the length and the width of the model, but the size of the weights grows
    with the square of the width, so it has an exponent below 1. The numbers are fitted to the
    measurements in docs/serving.md.

    Args:
        notes: List of the `VersionNotes` of the versions that are loaded.
        weight_bytes: List of the sizes of their files of weights.

    Returns:
        Bytes, a multiple of 256 MiB.
    """
    weights = sum(
        size * (2 if each.weights == "float16" else 1)
        for each, size in zip(notes, weight_bytes, strict=True)
    )
    positions = max(each.options["num_beams"] * _longest(each.options) for each in notes)
    search = 0.3 * (weights / _MEBIBYTE) ** (2 / 3) * positions / (4 * 305)
    return math.ceil((1 + 0.75 * len(notes) + search) * 4) * (GIBIBYTE // 4)


def _longest(options):
    """Maximum number of wordpieces in a translation."""
    return options["max_length"] or options["max_input_length"] + options["extra_length"]


def _dockerfile(name, tag, loaded, batched):
    configs = ["models.config", "monitoring.config"]
    copies = [f"COPY --chmod=755 {number} /models/{name}/{number}" for number in loaded]
    return _render(
        "Dockerfile",
        name=name,
        object=kubernetes_name(name),
        tag=tag,
        image=NEWEST.image,
        configs=" ".join([*configs, f"{FOLDER}/batching.config"] if batched else configs),
        versions="\n".join(copies),
    )


def _deployment(name, flags, memory):
    object_name = kubernetes_name(name)
    pod = _pod(name, "serving", object_name, flags, memory)
    return _render("deployment.yaml", object=object_name, pod=textwrap.indent(pod, " " * 6))


def _inference_service(name, tag, flags, memory):
    image = f"{kubernetes_name(name)}:{tag}"
    return _render(
        "inference_service.yaml",
        short_object=kubernetes_name(name, _MAX_KSERVE_NAME),
        # KServe knows the container that answers by this name.
        pod=textwrap.indent(_pod(name, "kserve-container", image, flags, memory), " " * 4),
    )


def _pod(name, container, image, flags, memory):
    """The specification of a pod, not indented, without the last line's end."""
    return _render(
        "pod.yaml",
        name=name,
        container=container,
        image=image,
        flags="\n".join(f'      - "{flag}"' for flag in pod_flags(flags)),
        cores=CORES,
        half_memory=in_mebibytes(memory // 2, "Mi"),
        memory=in_mebibytes(memory, "Mi"),
    ).rstrip()


def _autoscaler(object_name, batched):
    metric = _render("metric_of_queue.yaml" if batched else "metric_of_cpu.yaml")
    return _render("autoscaler.yaml", object=object_name, metric=metric.rstrip())


def _render(file_name, **values):
    return render(f"{FOLDER}/{file_name}", **values)


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
