"""Cases of servers that lie, drip, or send without end, made from a seed.

A `Case` says what a server does when a client asks, and what may come of it. REST is played in
steps on a socket; an answer of gRPC is bytes, or an error.
"""

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.serving import grpc_lies, rest_lies
from tests.serving.right_answers import METHODS, TEXTS


@dataclass
class Case:
    """One server and what a client asks of it.

    Attributes:
        group: Title of the kind of lie.
        name: Says the lie in a few words.
        protocol: `"rest"`, `"https"` or `"grpc"`.
        method: Method of the client.
        steps: What a socket is to do, see `lying_servers.play`.
        reply: Function of a gRPC context that gives the bytes of an answer.
        at_connect: Whether the steps begin before the request is read, on a port of its own.
        expected: `"answer"`, `"refusal"`, `"value error"` of the client itself, or None if an
            answer or a refusal is right.
        outputs: What the answer says, if a client that answers must say it, too.
        texts: The texts asked for; those of `right_answers` if None.
        options: Arguments of the client.
        call: Function of the client in place of the method.
        is_heavy: Whether it needs the machine for itself.
    """

    group: str
    name: str
    protocol: str = "rest"
    method: str = "translate"
    steps: list = field(default_factory=list)
    reply: Callable | None = None
    at_connect: bool = False
    expected: str | None = "refusal"
    outputs: dict | None = None
    texts: list | None = None
    options: dict = field(default_factory=dict)
    call: Callable | None = None
    is_heavy: bool = False


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


WRITTEN = (
    rest_lies.slow,
    rest_lies.endless,
    rest_lies.broken_http,
    rest_lies.wrong_json,
    rest_lies.wrong_outputs,
    rest_lies.right,
    grpc_lies.slow_and_broken,
    grpc_lies.endless,
    grpc_lies.wrong_tensors,
    grpc_lies.right,
    wrong_arguments,
)
"""Functions of nothing that give the arguments of cases."""

RANDOM = (
    rest_lies.random_outputs,
    grpc_lies.random_tensors,
    rest_lies.random_bytes,
    grpc_lies.random_bytes,
    rest_lies.random_pace,
    rest_lies.random_right,
)
"""Functions of a random generator and a method that give the arguments of a case."""


def make_cases(count, seed=0):
    """Makes cases: those written down, and as many random ones as are left to make.

    Args:
        count: Number of cases; a sample of those written down if there are more of them.
        seed: Of everything random.

    Returns:
        List of `count` cases.
    """
    rng = random.Random(seed)
    cases = [Case(**each) for each in itertools.chain(*(lies() for lies in WRITTEN))]
    rng.shuffle(cases)
    makers = itertools.cycle(RANDOM)
    methods = itertools.cycle(METHODS)
    while len(cases) < count:
        cases.append(Case(**next(makers)(rng, next(methods))))
    return cases[:count]
