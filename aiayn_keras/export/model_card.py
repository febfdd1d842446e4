"""The README of a kit: what the model is, how it was made, how it is run and asked."""

_SIGNATURES = """\
| signature | inputs | outputs |
|---|---|---|
| `serving_default` | `text` string (B,) | `translation` string (B,), `score`, `normalized_score` \
float (B,) |
| `translate_nbest` | `text` string (B,) | `translations` string (B, N), `scores`, \
`normalized_scores` float (B, N) |
| `align` | `text` string (B,) | `translation` string (B,), `score` float (B,), `source_tokens` \
string (B, S), `target_tokens` string (B, T), `alignment` float (B, T, S) |
| `score` | `source`, `target` string (B,) | `log_probability`, `normalized_score` float (B,) |
| `generate_ids` | `token_ids` int32 (B, S), `pieces </s>`, padded with 0 | `token_ids` int32 \
(B, L), `score` float (B,) |

Scores are log-probabilities in nats, normalized ones divided by the length penalty. N hypotheses
are best first. `alignment` is the attention of each wordpiece of the translation, and of its end,
to each of the source's; padding is `""` and 0. Text without words has the empty translation and
score 0. Rows are answered in order, and what a row's answer is does not depend on the others."""


_ON_RUNNING = """\
The label `canary` is the newest version. `stable` moves only by hand: change its number in
`models.config`, which the server reads every minute. Versions without a label are not loaded. A
request that names neither label nor version gets the newest version. Metrics for Prometheus are at
`:8501/monitoring/prometheus/metrics`. Each request uses one core
(`--tensorflow_intra_op_parallelism`), which serves most requests a second; without the flag a large
model answers a single client sooner. On loading, the server runs the requests of
`assets.extra/tf_serving_warmup_requests`. `sha256sum --check SHA256SUMS` in a version's folder says
whether it is whole."""


def model_card(name, versions, labels, flags):
    """The text of a kit's README.

    Args:
        name: What the model is served by.
        versions: Dictionary from a version's number to what `export_saved_model` notes.
        labels: Dictionary from a label to a version's number.
        flags: List of flags of the server.

    Returns:
        Markdown.
    """
    newest = versions[max(versions)]
    return (
        "\n\n".join(
            [
                f"# {name}",
                "A Transformer for TensorFlow Serving: text in, text out.",
                _table(["fact", "value"], newest["card"].items()),
                "## Versions",
                _versions(versions, labels),
                _long_text(newest["options"]),
                "## Run",
                "In the folder that holds this file, `docker compose up`, or",
                _shell(_docker_run(name, flags)),
                _ON_RUNNING,
                "## Ask",
                _shell(_requests(name)),
                _SIGNATURES,
                _batching(flags),
            ]
        )
        + "\n"
    )


def _versions(versions, labels):
    rows = []
    for version, facts in versions.items():
        options = facts["options"]
        of_version = [label for label, number in labels.items() if number == version]
        rows.append(
            [
                version,
                ", ".join(of_version),
                facts["precision"],
                options["num_beams"],
                options["length_penalty"],
                options["num_return_sequences"],
                options["max_length"] or "source + 50",
                f"{options['max_input_length']}, then {options['long_text']}",
                facts["tensorflow"],
            ]
        )
    heads = ["version", "label", "precision", "beams", "α", "n-best", "longest translation"]
    return _table([*heads, "longest text", "TensorFlow"], rows)


def _long_text(options):
    limit = options["max_input_length"]
    if options["long_text"] == "truncate":
        return (
            f"Lengths are in wordpieces. Of a text with more than {limit} the first {limit} are "
            "translated."
        )
    return (
        f"Lengths are in wordpieces. A request with a text of more than {limit} is refused with "
        "INVALID_ARGUMENT (HTTP 400), which names the rows."
    )


def _docker_run(name, flags):
    lines = [
        "docker run --rm -p 127.0.0.1:8500:8500 -p 127.0.0.1:8501:8501",
        f'    -v "$PWD:/models/{name}:ro" tensorflow/serving',
        *(f"    {flag}" for flag in flags),
    ]
    return " \\\n".join(lines)


def _requests(name):
    url = f"http://127.0.0.1:8501/v1/models/{name}"
    return f"""\
aiayn-keras request http://127.0.0.1:8501 {name} < sentences.txt
curl -d '{{"inputs": {{"text": ["Good morning."]}}}}' \\
    {url}:predict
curl -d '{{"signature_name": "translate_nbest", "inputs": {{"text": ["Good morning."]}}}}' \\
    {url}/labels/stable:predict"""


def _batching(flags):
    if "--enable_batching=true" in flags:
        return (
            "The server makes batches of requests that come together (`batching.config`), and "
            "refuses requests of more than 64 rows. With it, requests to `generate_ids` that come "
            "together must be equally wide."
        )
    return (
        "The server is run without batching: a request that is refused for a long text would take "
        "along those it is batched with."
    )


def _shell(commands):
    return f"```shell\n{commands}\n```"


def _table(heads, rows):
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in (heads, *rows)]
    cells.insert(1, ["---"] * len(heads))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
