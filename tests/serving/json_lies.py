"""Bodies that lying servers send in whole and proper HTTP; see `lies.Case`."""

import copy
import math

from tests.serving.rest_lies import RIGHT, body_of, http
from tests.serving.right_answers import METHODS, right_outputs

HOSTILE_VALUES = (
    None, True, False, [], {}, "", "x", "a\nb", "\ud800", 0, 3, -1e308, math.nan, math.inf,
    -math.inf, 10**400, -(10**30), [[]], {"a": 1}, [None], [math.nan], ["x"], [[1.0]], [-1.0] * 3,
)  # fmt: skip


def wrong_json():
    """Bodies that are no answer at all."""
    deep = b'{"outputs":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for name, body in (
        ("nothing", b""),
        ("a page", b"<html>Welcome</html>"),
        ("deep lists", b"[" * 100_000),
        ("deep outputs", deep),
        ("deep objects", b'{"outputs":' + b'{"a":' * 100_000),
        ("UTF-16", RIGHT.decode().encode("utf-16")),
        ("UTF-32", RIGHT.decode().encode("utf-32")),
        ("a mark before it", b"\xef\xbb\xbf" + RIGHT),
        ("bad UTF-8", RIGHT.replace(b"Bus", b"\xff\xfe")),
        ("a surrogate in UTF-8", RIGHT.replace(b"Bus", b"\xed\xa0\x80")),
        ("two values", RIGHT + RIGHT),
        ("a comma at the end", RIGHT[:-1] + b",}"),
        ("half of it", RIGHT[: len(RIGHT) // 2]),
        ("a comment", b"/* */" + RIGHT),
        ("5,000 digits", RIGHT.replace(b"-1.5", b"1" * 5000)),
        ("4,000 digits", RIGHT.replace(b"-1.5", b"1" * 4000)),
        ("1e999", RIGHT.replace(b"-1.5", b"1e999")),
        ("NaN", RIGHT.replace(b"-1.5", b"NaN")),
        ("predictions", RIGHT.replace(b"outputs", b"predictions")),
        ("outputs twice", RIGHT[:-1] + b', "outputs": []}'),
        *((f"{text}", text.encode()) for text in ("null", "3", '"x"', "[]", "{}", "NaN", "true")),
        *((f"outputs: {value!r}", body_of(value)) for value in (None, 3, "x", [], {}, [[]], True)),
    ):
        yield {"group": "REST: no JSON of ours", "name": name, "steps": [("send", http(body))]}


def wrong_outputs():
    """Right answers with one output changed for another."""
    for method in METHODS:
        for name in right_outputs(method):
            for change in (_fewer, _more, _none, _null, _missing, _scalar, _in_list, _ragged):
                outputs = right_outputs(method)
                change(outputs, name)
                yield {
                    "group": "REST: other outputs",
                    "name": f"{method}, {name}: {change.__name__[1:]}",
                    "method": method,
                    "steps": [("send", http(body_of(outputs)))],
                }


def _fewer(outputs, name):
    outputs[name].pop()


def _more(outputs, name):
    outputs[name].append(outputs[name][0])


def _none(outputs, name):
    outputs[name] = []


def _null(outputs, name):
    outputs[name][1] = None


def _missing(outputs, name):
    del outputs[name]


def _scalar(outputs, name):
    outputs[name] = 7


def _in_list(outputs, name):
    outputs[name] = [outputs[name]]


def _ragged(outputs, name):
    row = outputs[name][0]
    outputs[name][0] = [*row, row[0]] if isinstance(row, list) else [row]


def random_outputs(rng, method):
    """A right answer, changed anywhere."""
    outputs = right_outputs(method)
    for _ in range(rng.choice((1, 1, 2, 5))):
        _change(rng, outputs)
    steps = [("send", http(body_of(outputs)))]
    fields = {"method": method, "steps": steps, "outputs": outputs, "expected": None}
    return {"group": "REST: random outputs", "name": repr(outputs)[:80], **fields}


def _change(rng, node):
    """Changes an element somewhere below a list or a dictionary."""
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        if not keys:
            return
        key = rng.choice(list(keys))
        if not isinstance(node[key], list | dict) or rng.random() < 0.4:
            break
        node = node[key]
    action = rng.randrange(5)
    if action == 0:
        del node[key]
    elif action == 1 and isinstance(node, list):
        node.insert(key, copy.deepcopy(node[key]))
    elif action == 2:
        node[key] = [node[key]]
    else:
        node[key] = copy.deepcopy(rng.choice(HOSTILE_VALUES))
