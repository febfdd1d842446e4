"""Hostile files of tensors for the converters: pickles, archives, safetensors.

Each is a `HostileFile`, whose function writes it into a folder. The pickles that would run a
command would make the file `CANARY`.
"""

import io
import json
import os
import pickle
import struct
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CANARY = Path(tempfile.gettempdir()) / f"canary-{os.getpid()}"
COMMAND = f"touch {CANARY}"

GLOBAL_SYSTEM = b"cposix\nsystem\n"
RUN = GLOBAL_SYSTEM + b"X" + struct.pack("<I", len(COMMAND)) + COMMAND.encode() + b"\x85R"
PROTO = b"\x80\x02"
STORAGE = b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0%bX\3\0\0\0cpuK%ctQ"


@dataclass(frozen=True)
class HostileFile:
    """A file and the answer to it.

    Attributes:
        group: Kind of the file.
        name: Name of the thing that is wrong with it.
        write: Function of a folder that writes the file there and returns its path.
        message: Regular expression for the refusal; None if the file is harmless and read.
    """

    group: str
    name: str
    write: Callable[[Path], Path]
    message: str | None


def hostile_tensor_files():
    """Yields `HostileFile`s for `read_tensors`."""
    for name, content, message in _pickles():
        yield HostileFile("pickles", name, _writer(torch_zip(content)), message)
    for name, content, message in _tensors():
        content = PROTO + b"}X\1\0\0\0a" + content + b"s."
        yield HostileFile("tensors of torch", name, _writer(torch_zip(content)), message)
    for name, content, message in _archives():
        yield HostileFile("archives", name, _writer(content), message)
    for name, content, message in _old_files():
        yield HostileFile("old files of torch", name, _writer(content), message)
    for name, content, message in _safetensors():
        yield HostileFile("safetensors", name, _writer(content), message)


def _writer(content):
    def write(folder):
        path = folder / "model.bin"
        path.write_bytes(content)
        return path

    return write


class RunsCommand:
    """An object whose pickle runs a command where it is read."""

    def __reduce__(self):
        return os.system, (COMMAND,)


class SetsState:
    """An object whose pickle hands a state to a class's own function."""

    def __reduce__(self):
        import subprocess

        return subprocess.Popen, (COMMAND.split(),), {"a": 1}


def _pickles():
    """Pickles in an archive that is right: name, bytes and message."""
    no_tensors = "not hold a dictionary of tensors"
    damaged = "damaged, or was not written by `torch.save`: "
    too_much = "takes more than 1,536 MB of memory"
    yield "a command", pickle.dumps(RunsCommand()), no_tensors
    yield "a command as a weight", pickle.dumps({"a": RunsCommand()}, 2), "`a` is not a tensor"
    yield "a command in protocol 5", pickle.dumps({"a": RunsCommand()}, 5), "`a` is not a tensor"
    yield "a command as a key", PROTO + b"}" + RUN + b"K\1s.", "entry .* is not a tensor"
    yield "a process with a state", pickle.dumps(SetsState()), no_tensors
    yield "a command, thrown away", PROTO + RUN + b"0}.", no_tensors
    yield "INST", b"(S'" + COMMAND.encode() + b"'\nios\nsystem\n.", no_tensors
    yield "OBJ", b"(" + GLOBAL_SYSTEM + b"S'" + COMMAND.encode() + b"'\no.", no_tensors
    yield "NEWOBJ", PROTO + RUN[:-1] + b"\x81.", no_tensors
    yield "an extension", PROTO + b"\x82\1.", damaged + "unregistered extension"
    yield "a name in text", PROTO + b"P0\n.", "to something that is not a whole storage"
    chain = b"cbuiltins\ngetattr\n(cos\nos\nX\6\0\0\0systemtRX\1\0\0\0a\x85R."
    yield "a function of a function", PROTO + chain, "object is not callable"
    called = PROTO + RUN + b"(tR."
    yield "a call of an answer", called, "object is not callable"
    yield "a list in itself", PROTO + b"]q\0h\0a.", no_tensors
    yield "a dictionary in itself", PROTO + b"}q\0X\1\0\0\0ah\0s.", "`a` is not a tensor"
    yield "a deep tuple", PROTO + b")" + b"\x85" * 250_000 + b".", no_tensors
    yield "deep marks", PROTO + b"(" * 250_000 + b".", damaged + "unexpected MARK"
    yield "many lists", PROTO + b"(" + b"]" * 250_000 + b"l.", no_tensors
    yield "too many operations", PROTO + b"N0" * 200_000 + b"N.", no_tensors
    bomb = b"".join(b"h%bh%b\x86q%b0" % (bytes([i]), bytes([i]), bytes([i + 1])) for i in range(99))
    yield (
        "a key of 2^99 parts",
        PROTO + b")q\0" + b"0" + bomb + b"}h\x63K\1s.",
        "takes more than 10 seconds",
    )
    yield (
        "a key of 1,000 bits",
        PROTO + b"}\x8a\x7d" + b"\x7f" * 125 + b"K\1s.",
        "`int` is not a tensor",
    )
    yield "a text of 2^60 bytes", PROTO + b"\x8d" + struct.pack("<Q", 1 << 60) + b"a.", damaged
    yield "bytes of 2^60", b"\x80\4\x8e" + struct.pack("<Q", 1 << 60) + b"a.", too_much
    yield "a number of 2 GB", PROTO + b"\x8b\xff\xff\xff\x7f" + b"a.", damaged
    yield "a million digits", b"I" + b"9" * 10**6 + b"\n.", damaged
    yield "a memory of 2^32", PROTO + b"]r\xff\xff\xff\xff.", too_much
    yield "an unknown memory", PROTO + b"h\7.", damaged + "Memo value not found"
    long_name = b"X" + struct.pack("<I", 10**6) + b"a" * 10**6
    yield "a name of 2 MB", PROTO + long_name * 2 + b"\x93.", no_tensors
    yield "an unknown operation", PROTO + b"\xff.", damaged + "invalid load key"
    yield "a cut pickle", PROTO + b"}X\5\0\0\0ab", damaged + "pickle data was truncated"
    yield "no pickle", b"", damaged + "Ran out of input"
    yield "nothing on the stack", PROTO + b"R.", damaged
    yield "half an item", PROTO + b"}(K\1u.", damaged
    yield "text that is no UTF-8", PROTO + b"X\2\0\0\0\xff\xff.", damaged + ".*utf"


def _tensor(offset=b"K\0", shape=b"K\2\x85", strides=b"K\1\x85", key=b"0", count=b"\2"):
    storage = STORAGE % (key, count)
    if len(key) != 1:
        storage = storage.replace(b"X\1\0\0\0" + key, b"X" + struct.pack("<I", len(key)) + key)
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n("
    return rebuild + storage + offset + shape + strides + b"\x89NtR"


def _tensors():
    """Tensors that cannot be: name, operations and message."""
    million = b"J" + struct.pack("<i", 10**6)
    huge = million * 2 + b"\x86"
    yield "10^12 numbers", _tensor(shape=huge, strides=b"K\0K\0\x86"), "not within its storage"
    yield "behind the end", _tensor(offset=b"K\1"), "not within its storage"
    yield "an offset of 10^6", _tensor(offset=million), "not within its storage"
    yield "a stride of 10^6", _tensor(strides=million + b"\x85"), "not within its storage"
    yield "a negative offset", _tensor(offset=b"J\xff\xff\xff\xff"), "in an unknown way"
    yield "a negative stride", _tensor(strides=b"J\xff\xff\xff\xff\x85"), "in an unknown way"
    yield "a negative shape", _tensor(shape=b"J\xff\xff\xff\xff\x85"), "in an unknown way"
    yield "a shape of text", _tensor(shape=b"X\1\0\0\0a\x85"), "in an unknown way"
    yield "two axes, one stride", _tensor(shape=b"K\1K\1\x86"), "2 axes and 1 strides"
    nine = b"(" + b"K\1" * 9 + b"t"
    yield "nine axes", _tensor(shape=nine, strides=nine), "9 axes"
    yield "a path as storage", _tensor(key=b"../../../etc/passwd"), "passwd in it is missing"
    yield "another length", _tensor(count=b"\3"), "has 8 bytes, expected 12"
    unknown = _tensor().replace(b"FloatStorage", b"QInt8Storage")
    yield "unknown numbers", unknown, "unknown type, torch.QInt8Storage"
    run = _tensor().replace(b"ctorch\nFloatStorage\n", RUN)
    yield "a command as type", run, "a storage of an unknown type"
    yield (
        "no storage",
        _tensor().replace(b"storage", b"modules"),
        "something that is not a whole storage",
    )
    parameter = b"ctorch._utils\n_rebuild_parameter\nK\1\x85R"
    yield "a parameter of a number", parameter, "`a` is not a tensor"


def torch_zip(pickled, members=(), storage=bytes(8), root="archive"):
    """Bytes of an archive like `torch.save`'s, with pairs of a name or `ZipInfo` and bytes more."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{root}/data.pkl", pickled)
        archive.writestr(f"{root}/data/0", storage)
        archive.writestr(f"{root}/version", b"3\n")
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def _archives():
    """Archives around a pickle that is right: name, bytes and message."""
    damaged = "damaged, or was not written by `torch.save`: "
    good = PROTO + b"}X\1\0\0\0a" + _tensor() + b"s."
    whole = torch_zip(good)
    for name in ("../canary", "archive/../../canary", "/canary", "archive\\..\\canary"):
        yield f"a file {name}", torch_zip(good, [(name, b"")]), "outside its archive"
    link = zipfile.ZipInfo("archive/data/1")
    link.external_attr = 0o120777 << 16
    yield "a link", torch_zip(good, [(link, b"/etc/passwd")]), "is a link"
    bomb = zipfile.ZipInfo("archive/data/1")
    bomb.compress_type = zipfile.ZIP_DEFLATED
    yield "a bomb", torch_zip(good, [(bomb, bytes(1 << 24))]), "is compressed"
    yield "another root", torch_zip(good, [("b/data.pkl", good)]), "no `data.pkl`"
    yield "TorchScript", torch_zip(good, [("archive/constants.pkl", b"")]), "TorchScript"
    yield "big-endian", torch_zip(good, [("archive/byteorder", b"big")]), "big-endian"
    yield "another program's", torch_zip(good).replace(b"data.pkl", b"data.txt"), "no `data.pkl`"
    twice = torch_zip(good, [("archive/data/1", b"12345678")])
    yield "a file twice", twice.replace(b"archive/data/1", b"archive/data/0"), "have the same name"
    yield "a changed byte", whole.replace(bytes(8), b"\1" + bytes(7), 1), "damaged"
    encrypted = bytearray(whole)
    encrypted[encrypted.index(b"PK\1\2") + 8] |= 1
    yield "encrypted", bytes(encrypted), "is encrypted"
    yield "cut off", whole[:-30], "cut off"
    yield "only the start", whole[:4], "cut off"
    yield "something behind", whole + b"x", "something follows its end"
    end = bytearray(whole)
    end[-10:-6] = struct.pack("<I", 1 << 30)
    yield "a list of 1 GB", bytes(end), damaged
    shared = (
        PROTO
        + b"}("
        + b"".join(
            b"X\4\0\0\0%04d" % i
            + _tensor(shape=b"M\0\x40\x85", count=b"\0").replace(b"K\0tQ", b"M\0\x40tQ")
            for i in range(400)
        )
        + b"u."
    )
    yield (
        "400 names of one",
        torch_zip(shared, storage=bytes(4 << 14)),
        "would take 26,214,400 bytes, more than 16 times",
    )


def _old_files():
    """Files from before PyTorch 1.6: name, bytes and message."""
    magic = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
    system = pickle.dumps({"little_endian": True}, 2)
    tensor = _tensor().replace(b"K\2tQ", b"K\2NtQ")
    good = PROTO + b"}X\1\0\0\0a" + tensor + b"s."
    keys, data = pickle.dumps(["0"], 2), struct.pack("<Qff", 2, 1, 2)
    start = magic + pickle.dumps(1001, 2) + system
    yield "a command", pickle.dumps(RunsCommand(), 2), "not from `torch.save`"
    yield "another pickle", pickle.dumps({"a": 1}, 2), "not from `torch.save`"
    yield "another version", magic + pickle.dumps(7, 2) + system + good, "its version is unknown"
    big = pickle.dumps({"little_endian": False}, 2)
    yield "big-endian", magic + pickle.dumps(1001, 2) + big + good, "big-endian"
    yield (
        "a command inside",
        start + PROTO + RUN + b"." + pickle.dumps([], 2),
        "not hold a dictionary of|PyTorch refuses it",
    )
    yield "no storages", start + good + pickle.dumps([], 2), "not that of its tensors"
    yield "storages twice", start + good + pickle.dumps(["0", "0"], 2) + data, "not that of its"
    yield (
        "storages of numbers",
        start + good + pickle.dumps([0], 2) + data,
        "not that of its tensors|damaged",
    )
    yield (
        "a storage that is longer",
        start + good + keys + struct.pack("<Qff", 3, 1, 2),
        "PyTorch refuses it",
    )
    yield "a storage cut off", start + good + keys + data[:-1], "PyTorch refuses it"
    yield "nothing behind", start, "damaged.*Ran out of input"
    view = good.replace(b"K\2NtQ", b"K\2(X\1\0\0\0bK\0K\1ttQ")
    yield "a view of a storage", start + view + keys + data, "not a whole storage"


def safetensors(header, data=b""):
    """Bytes of a file with a header, a dictionary or bytes."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data


def _entry(start=0, end=8, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def _safetensors():
    """Headers that lie: name, bytes and message."""
    data = bytes(8)
    yield "a header of 2^63 bytes", struct.pack("<Q", 1 << 63) + b"{}" + data, "header too large"
    yield "a header behind the end", struct.pack("<Q", 99) + b'{"a": 1}', "invalid header length"
    yield "no JSON", safetensors(b"{not json}", data), "invalid JSON in header"
    yield "a list", safetensors(b"{[]", data), "invalid JSON in header"
    yield "a deep header", safetensors(b'{"a":' + b"[" * 10**6, data), "recursion limit exceeded"
    yield "no UTF-8", safetensors(b'{"\xff": 1}', data), "invalid UTF-8 in header"
    yield (
        "overlapping",
        safetensors({"a": _entry(), "b": _entry(4, 12)}, bytes(12)),
        "invalid offset.*`b`",
    )
    yield "the same bytes", safetensors({"a": _entry(), "b": _entry()}, data), "invalid offset"
    yield (
        "a hole",
        safetensors({"a": _entry(), "b": _entry(12, 20)}, bytes(20)),
        "invalid offset.*`b`",
    )
    yield "not from 0 on", safetensors({"a": _entry(4, 12)}, bytes(12)), "invalid offset.*`a`"
    yield "behind the end", safetensors({"a": _entry()}, bytes(7)), "file not fully covered"
    yield "bytes of nobody", safetensors({"a": _entry()}, bytes(9)), "file not fully covered"
    yield (
        "too few bytes",
        safetensors({"a": _entry(shape=(3,))}, data),
        "invalid shape, data type, or offset",
    )
    yield (
        "2^80 numbers",
        safetensors({"a": _entry(shape=(2**40, 2**40))}, data),
        "overflow computing buffer size",
    )
    yield "a negative shape", safetensors({"a": _entry(shape=(-2,))}, data), "integer `-2`"
    yield "a shape of text", safetensors({"a": _entry(shape=("2",))}, data), "invalid type: string"
    yield "nine axes", safetensors({"a": _entry(shape=(1,) * 9)}, data), "invalid shape"
    yield (
        "unknown numbers",
        safetensors({"a": _entry(dtype="F8_E4M3")}, data),
        "invalid shape, data type",
    )
    yield "backwards", safetensors({"a": _entry(8, 0)}, data), "invalid offset"
    yield (
        "three offsets",
        safetensors({"a": {**_entry(), "data_offsets": [0, 4, 8]}}, data),
        "invalid length 3",
    )
    yield "an unknown field", safetensors({"a": {**_entry(), "code": "x"}}, data), None
    yield "remarks of numbers", safetensors({"__metadata__": {"a": 1}}, data), "expected a string"
    twice = b'{"a":%b,"a":%b}' % tuple(json.dumps(_entry(i, i + 8)).encode() for i in (0, 8))
    yield "a name twice", safetensors(twice, bytes(16)), "invalid offset"
