"""Right answers to three texts, and what a client's result must be to be right."""

import copy
import math

TEXTS = ["The bus.", "", "Green ☃"]

SIGNATURES = {
    "translate": "serving_default",
    "translate_nbest": "translate_nbest",
    "align": "align",
    "score": "score",
}
METHODS = tuple(SIGNATURES)

_OUTPUTS = {
    "translate": {
        "translation": ["Der Bus.", "", "Grün ☃"],
        "score": [-1.5, 0.0, -2.25],
        "normalized_score": [-0.5, 0.0, -0.75],
    },
    "translate_nbest": {
        "translations": [["Der Bus.", "Bus."], ["", ""], ["Grün ☃", "Grün"]],
        "scores": [[-1.5, -3.0], [0.0, 0.0], [-2.25, -4.5]],
        "normalized_scores": [[-0.5, -1.0], [0.0, 0.0], [-0.75, -1.5]],
    },
    "align": {
        "translation": ["Der Bus.", "", "Grün ☃"],
        "score": [-1.5, 0.0, -2.25],
        "source_tokens": [
            ["▁The", "▁bus", ".", "</s>"],
            ["</s>", "", "", ""],
            ["▁Gre", "en", "▁☃", "</s>"],
        ],
        "target_tokens": [["▁Der", "▁Bus", "</s>"], ["", "", ""], ["▁Grün", "</s>", ""]],
        "alignment": [
            [[0.5, 0.25, 0.125, 0.125], [0.25, 0.5, 0.125, 0.125], [0.0, 0.0, 0.5, 0.5]],
            [[0.0] * 4] * 3,
            [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75], [0.0] * 4],
        ],
    },
    "score": {
        "log_probability": [-1.5, -0.125, -2.25],
        "normalized_score": [-0.5, -0.125, -0.75],
    },
}


def right_outputs(method):
    """A copy of the right outputs, in nested lists."""
    return copy.deepcopy(_OUTPUTS[method])


def ask(client, method, texts=TEXTS):
    """Calls a method of a client, and gives the result in plain lists and tuples."""
    if method == "score":
        return client.score(texts, texts)
    answer = getattr(client, method)(texts)
    if method == "translate":
        return [(each.text, each.score, each.normalized_score) for each in answer]
    if method == "translate_nbest":
        return [[(h.text, h.score, h.normalized_score) for h in row] for row in answer]
    return [
        (a.text, a.score, list(a.source_tokens), list(a.target_tokens), a.weights.tolist())
        for a in answer
    ]


def plain_reading(method, outputs):
    """The result that says what the outputs say; None if they say nothing sensible."""
    try:
        if method == "score":
            return list(outputs["log_probability"])
        if method == "align":
            rows = zip(*(outputs[name] for name in _OUTPUTS["align"]), strict=True)
            return [_plain_alignment(*row) for row in rows]
        rows = zip(*(outputs[name] for name in _OUTPUTS[method]), strict=True)
        if method == "translate":
            return [tuple(row) for row in rows]
        return [[tuple(each) for each in zip(*row, strict=True)] for row in rows]
    except (TypeError, KeyError, ValueError, IndexError):
        return None


def _plain_alignment(text, score, source, target, weights):
    source = [token for token in source if token]
    target = [token for token in target if token]
    return text, score, source, target, [row[: len(source)] for row in weights[: len(target)]]


def is_well_formed(method, result):
    """Returns whether a result has a row for every text, of finite numbers and Unicode strings."""
    if len(result) != len(TEXTS) or not _has_good_leaves(result):
        return False
    if method == "translate_nbest":
        return len({len(row) for row in result}) == 1 and len(result[0]) > 0
    if method == "align":
        return all(
            len(weights) == len(target) and all(len(row) == len(source) for row in weights)
            for *_, source, target, weights in result
        )
    return True


def _has_good_leaves(value):
    if isinstance(value, list | tuple):
        return all(map(_has_good_leaves, value))
    if isinstance(value, str):
        return value == value.encode("utf-8", "replace").decode("utf-8")
    return isinstance(value, float) and math.isfinite(value)


def are_close(one, other):
    """Returns whether plain results are the same, in single precision."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(are_close, one, other))
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    try:
        return math.isclose(one, other, rel_tol=1e-6)
    except (TypeError, OverflowError):
        return False
