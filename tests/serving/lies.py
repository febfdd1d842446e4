"""Cases of servers that lie, drip, or send without end, made from a seed.

A `Case` says what a server does when a client asks, and what may come of it. REST is played in
steps on a socket; an answer of gRPC is bytes, or an error.
"""

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.serving import grpc_lies, json_lies, rest_lies, wrong_arguments
from tests.serving.right_answers import METHODS


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


WRITTEN = (
    rest_lies.slow,
    rest_lies.endless,
    rest_lies.broken_http,
    json_lies.wrong_json,
    json_lies.wrong_outputs,
    rest_lies.right,
    grpc_lies.slow_and_broken,
    grpc_lies.endless,
    grpc_lies.wrong_tensors,
    grpc_lies.right,
    wrong_arguments.wrong_arguments,
)
"""Functions of nothing that give the arguments of cases."""

RANDOM = (
    json_lies.random_outputs,
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
