"""Answers of lying HTTP servers; see `lies.Case` for the fields of a case."""

import copy
import gzip
import json
import math
import zlib

from tests.serving.right_answers import METHODS, right_outputs

MEGABYTE = 1 << 20
FOREVER = 1 << 40
LONG = 60.0
"""Seconds, many more than the deadline."""


def http(body, *headers, status="200 OK", length=None):
    """Bytes of a response; without a length if it is False."""
    if length is not False:
        length = len(body) if length is None else length
        headers = (f"Content-Length: {length}", *headers)
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *headers))
    return head.encode("latin-1") + b"\r\n" + body


def chunked(body, size=7):
    """Bytes of a response in chunks."""
    pieces = (body[i : i + size] for i in range(0, len(body), size))
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return http(chunks + b"0\r\n\r\n", "Transfer-Encoding: chunked", length=False)


def body_of(outputs):
    return json.dumps({"outputs": outputs}).encode()


RIGHT = body_of(right_outputs("translate"))
ANSWER = http(RIGHT)
HEAD, _, _ = ANSWER.partition(b"\r\n\r\n")


def slow():
    """Answers that do not end in time, or begin."""
    pauses = (0.03, 0.1, 0.5, 1.0, 1.9)
    for pause in pauses:
        yield _slow(f"status line, a byte in {pause} s", ("drip", ANSWER, pause))
        head = [("send", b"HTTP/1.1 200 OK\r\n"), ("repeat", b"X-A: b\r\n", pause, FOREVER)]
        yield _slow(f"headers without end, one in {pause} s", *head)
        length = http(b"", length=10_000)
        yield _slow(
            f"body, a byte in {pause} s", ("send", length), ("repeat", b" ", pause, FOREVER)
        )
        head = ("send", http(b"", "Transfer-Encoding: chunked", length=False))
        yield _slow(f"chunks, one in {pause} s", head, ("repeat", b"1\r\n \r\n", pause, FOREVER))
        yield _slow(f"a chunk's size, a digit in {pause} s", head, ("repeat", b"0", pause, FOREVER))
        again = ("repeat", b"HTTP/1.1 100 Continue\r\n\r\n", pause, FOREVER)
        yield _slow(f"100 Continue in {pause} s", again)
    for size in (0, 1, 12, 17, len(HEAD), len(HEAD) + 4, len(ANSWER) - 1):
        yield _slow(f"silence after {size} bytes", ("send", ANSWER[:size]), ("wait", LONG))
    long_texts = ["a" * (4 * MEGABYTE)] * 3
    for scheme in ("rest", "https"):
        for name, *steps in (
            ("connection and silence", ("wait", LONG)),
            ("a byte before the request", ("drip", b"\x16\x03\x03\x40\x00" + bytes(999), 0.3)),
        ):
            yield {**_slow(f"{scheme}: {name}", *steps), "protocol": scheme, "at_connect": True}
    unread = _slow("a request that nobody reads", ("wait", LONG))
    yield {**unread, "at_connect": True, "texts": long_texts}
    for pause in (0.05, 0.5):
        step = ("receive", 1000, pause)
        yield {**_slow("a request read slowly", step), "at_connect": True, "texts": long_texts}


def endless():
    """Answers of great size, or that ask for great memory."""
    unsized = http(b"", length=False)
    in_chunks = http(b"", "Transfer-Encoding: chunked", length=False)
    headers = b"HTTP/1.1 200 OK\r\n"
    for name, start, unit in (
        ("body", unsized, b" " * MEGABYTE),
        ("body of 10**18", http(b"", length=10**18), b"[" * MEGABYTE),
        ("chunks", in_chunks, b"100000\r\n%b\r\n" % bytes(MEGABYTE)),
        ("one chunk", in_chunks + b"fffffffffffffff\r\n", bytes(MEGABYTE)),
        ("chunk of size -1", in_chunks + b"-1\r\n", bytes(MEGABYTE)),
        ("chunks of a byte", in_chunks, b"1\r\n \r\n" * 100_000),
        ("trailers", in_chunks + b"0\r\n", b"A: b\r\n" * 100_000),
        ("headers", headers, b"A: b\r\n" * 100_000),
        ("header line", headers + b"A: ", b"b" * MEGABYTE),
        ("status line", b"HTTP/1.1 200 ", b"b" * MEGABYTE),
        ("100 Continue", b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000),
        ("error page", http(b"", status="400 No", length=False), b"No " * 300_000),
    ):
        yield _heavy(f"{name} without end", ("send", start), ("repeat", unit, 0, FOREVER))
    yield from _bombs()
    size = 62 * MEGABYTE
    for unit in (b"[],", b"{},", b"[[]],", b'{"a":1},', b'"ab",', b"999,", b"1.5,", b"null,", b"["):
        start = ("send", unsized + b'{"outputs":{"score":[')
        end = ("send", b'0],"normalized_score":[0],"translation":["a"]}}')
        units = ("repeat", unit * 1000, 0, size // len(unit) // 1000)
        yield _heavy(f"62 MB of {unit.decode()}", start, units, end, ("close",))


def _bombs():
    zeros = zlib.compressobj(9, wbits=31)
    bomb = b"".join(zeros.compress(bytes(MEGABYTE)) for _ in range(200)) + zeros.flush()
    for encoding in ("gzip", "deflate", "x-gzip", "gzip, gzip", "br", "zstd"):
        answer = http(bomb, f"Content-Encoding: {encoding}")
        yield _heavy(f"bomb, encoded {encoding}", ("send", answer))
    yield _heavy("bomb, transferred as gzip", ("send", http(bomb, "Transfer-Encoding: gzip")))


def broken_http():
    """Connections and messages that break off or break the rules."""
    for size in (0, 1, 9, 12, 30, len(HEAD), len(ANSWER) - 1):
        for last in ("close", "reset"):
            yield _broken(f"{last} after {size} bytes", ("send", ANSWER[:size]), (last,))
    for length in (
        -1,
        0,
        1,
        len(RIGHT) - 1,
        len(RIGHT) + 1,
        10**18,
        "x",
        "1, 2",
        "0x10",
        "",
        "9" * 5000,
    ):
        expected = None if length in (-1, "x", "0x10", "") else "refusal"
        name = f"length {str(length)[:20]}"
        yield {**_broken(name, ("send", http(RIGHT, length=length))), "expected": expected}
    for name, data in (
        ("nonsense", b"\x00\xff\x01" * 100),
        ("lines", b"\r\n" * 1000),
        ("status 0", http(RIGHT, status="0 No")),
        ("status 99999", http(RIGHT, status="99999 No")),
        ("status -200", http(RIGHT, status="-200 No")),
        ("status x", http(RIGHT, status="x")),
        ("HTTP/0.9", RIGHT),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("SSH", b"SSH-2.0-OpenSSH_9.9\r\n"),
        ("chunk size x", http(b"x\r\n", "Transfer-Encoding: chunked", length=False)),
        ("chunk size -5", http(b"-5\r\n" + RIGHT, "Transfer-Encoding: chunked", length=False)),
        ("chunk without its end", chunked(RIGHT)[:-30]),
        ("encoded, but plain", http(RIGHT, "Content-Encoding: gzip")),
        ("encoded", http(gzip.compress(RIGHT), "Content-Encoding: gzip")),
    ):
        yield _broken(name, ("send", data))
    for status in (
        *range(201, 207),
        226,
        300,
        304,
        400,
        401,
        404,
        418,
        429,
        451,
        500,
        501,
        503,
        504,
        599,
        999,
    ):
        yield _broken(f"status {status}", ("send", http(RIGHT, status=f"{status} Yes")))
    for status in (301, 302, 303, 307, 308):
        for place in ("/", "http://127.0.0.1:1/", "file:///etc/passwd", "http://[::1"):
            answer = http(RIGHT, f"Location: {place}", status=f"{status} Elsewhere")
            yield _broken(f"status {status} to {place}", ("send", answer))
    for error in ("x" * MEGABYTE, "a\nb\x1b[31m\u202e", None, 3, ["x"], {"a": 1}, "\ud800"):
        body = json.dumps({"error": error}).encode()
        yield _broken(f"error {error!r:.20}", ("send", http(body, status="400 No")))
    for name, steps in (
        ("silence", [("close",)]),
        ("a reset", [("reset",)]),
        ("nonsense", [("send", b"\x15\x03\x01\x00\x02\x02\x28" * 9)]),
    ):
        for protocol in ("rest", "https"):
            case = _broken(f"{protocol}: {name} for a connection", *steps)
            yield {**case, "protocol": protocol, "at_connect": True}


def right():
    """Right answers, sent in ways that a client must understand."""
    for method in METHODS:
        body = body_of(right_outputs(method))
        for name, *steps in (
            ("at once", ("send", http(body))),
            ("in chunks", ("send", chunked(body))),
            ("until the end", ("send", http(body, length=False)), ("close",)),
            ("slowly, but in time", ("drip", http(body)[:60], 0.01), ("send", http(body)[60:])),
            ("after 100 Continue", ("send", b"HTTP/1.1 100 Continue\r\n\r\n" + http(body))),
            ("and more", ("send", http(body) + b"HTTP/1.1 200 OK\r\n\r\n")),
            ("with 20 headers", ("send", http(body, *(f"A{i}: {i}" for i in range(20))))),
        ):
            yield _right(method, name, *steps)


def random_bytes(rng, method):
    """A right answer with bytes changed, its status line and headers among them."""
    data = bytearray(rng.choice((http, chunked))(body_of(right_outputs(method))))
    for _ in range(rng.choice((1, 2, 8, 40))):
        place = rng.randrange(rng.choice((60, len(data))))
        data[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
    steps = [("send", bytes(data)), (rng.choice(("close", "reset")),)]
    fields = {"method": method, "steps": steps, "expected": None}
    return {"group": "REST: random bytes", "name": repr(bytes(data[:60])), **fields}


def random_pace(rng, method):
    """A right answer at a random pace that is too slow."""
    answer = rng.choice((http, chunked))(body_of(right_outputs(method)))
    size = rng.randrange(len(answer) - 60)
    pause = 10 ** rng.uniform(-1, 0.2)
    case = _slow(
        f"a byte in {pause:.2f} s", ("send", answer[:size]), ("drip", answer[size:], pause)
    )
    return {**case, "method": method}


def random_right(rng, method):
    """A right answer in chunks of any size, or in pieces with short pauses."""
    body = body_of(right_outputs(method))
    if rng.random() < 0.5:
        return _right(method, "in chunks", ("send", chunked(body, rng.randint(1, 300))))
    data, size = http(body), rng.randint(20, 200)
    pieces = [("send", data[i : i + size]) for i in range(0, len(data), size)]
    pauses = [("wait", rng.uniform(0, 0.03))] * len(pieces)
    steps = [step for pair in zip(pieces, pauses, strict=True) for step in pair]
    return _right(method, "in pieces", *steps)


def _slow(name, *steps):
    return {"group": "REST: slow", "name": name, "steps": list(steps)}


def _heavy(name, *steps):
    return {"group": "REST: too much", "name": name, "steps": list(steps), "is_heavy": True}


def _broken(name, *steps):
    return {"group": "REST: broken HTTP", "name": name, "steps": list(steps)}


def _right(method, name, *steps):
    fields = {"method": method, "steps": list(steps), "expected": "answer"}
    outputs = right_outputs(method)
    return {
        "group": "REST: right answers",
        "name": f"{method} {name}",
        "outputs": outputs,
        **fields,
    }


# ---- Bodies sent in complete and valid HTTP ----

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
