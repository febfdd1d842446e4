"""Arguments that a client must refuse before it sends anything; see `lies.Case`."""

import math

from tests.serving.right_answers import METHODS, TEXTS

NO_TEXTS = {
    "None": lambda: None,
    "a generator": lambda: (text for text in TEXTS),
    "a dictionary": lambda: dict.fromkeys(TEXTS, 1),
    "keys": lambda: dict.fromkeys(TEXTS).keys(),
    "a set": lambda: set(TEXTS),
    "a string": lambda: "Ja.",
    "bytes": lambda: b"Ja.",
    "a byte array": lambda: bytearray(b"Ja."),
    "a number": lambda: 3,
    "a range": lambda: range(3),
    "an object": object,
    "a None": lambda: ["Ja.", None],
    "a number in it": lambda: ["Ja.", 1],
    "bytes in it": lambda: [b"Ja."],
    "a list in it": lambda: [["Ja."]],
    "a surrogate": lambda: ["\ud800"],
}
OPTIONS = {
    "deadline": (math.nan, math.inf, -math.inf, 0, -1, "2", True, None, 1e300, [1], 2j),
    "batch_size": (2.5, 0, -1, True, math.nan, "8", None, 10**30, [1]),
    "version": (-1, 1.5, "1", True, math.nan, 10**30),
    "label": ("", 3, "\ud800", b"x", "..", ["x"]),
    "model": (None, "", 3, "..", "\ud800", b"x"),
    "address": (None, "", 3, b"x"),
}
URLS = (
    "ftp://x",
    "http://",
    "http://h:99999999",
    "127.0.0.1:1",
    "http://[::1",
    "http://a/?b",
    "http://a#b",
)


def wrong_arguments():
    """Texts of other types, and options that cannot be."""
    for protocol in ("rest", "grpc"):
        for i, (name, make) in enumerate(NO_TEXTS.items()):
            method = METHODS[i % len(METHODS)]
            yield _case(
                protocol, f"{method} of {name}", lambda c, m=method, f=make: _ask(c, m, f())
            )
        for name in ("signature", "text"):
            arguments = {"signature": "serving_default", "text": ["Ja."], name: None}
            yield _case(protocol, f"{name} None", lambda c, a=arguments: c.predict(**a))
        yield _case(protocol, "sources of another number", lambda c: c.score(["a"], ["b", "c"]))
        for name, values in OPTIONS.items():
            for value in values:
                if not (name in ("deadline", "version", "label") and value is None):
                    case = _case(protocol, f"{name}={value!r:.20}", lambda c: c.translate(["Ja."]))
                    yield {**case, "options": {name: value}}
    for url in URLS:
        case = _case("rest", f"url={url!r}", lambda c: c.translate(["Ja."]))
        yield {**case, "options": {"address": url}}


def _ask(client, method, texts):
    return client.score(texts, texts) if method == "score" else getattr(client, method)(texts)


def _case(protocol, name, call):
    fields = {"protocol": protocol, "call": call, "expected": "value error"}
    return {"group": "arguments", "name": f"{protocol}: {name}", **fields}
