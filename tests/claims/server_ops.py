"""Lists the ops of the servers named in a kit, as registered by their TensorFlow.

`python -m tests.claims.server_ops WHEELS` writes `aiayn_keras/export/server_ops.txt`. Each
line has the oldest server that supports an op and its attributes, which all newer servers do as
well. `--check` compares the file instead. WHEELS is a folder for these downloads (Python 3.11):

    pip download --no-deps -d WHEELS tensorflow-cpu==2.18.1
    pip download --no-deps -d WHEELS tensorflow-text==2.12.1

and so on for each entry of `SERVERS`, and tensorflow-cpu==2.12.0, which can load the library of
TensorFlow Text 2.12.1. Ops are read through TensorFlow's C interface, without Python.
"""

import json
import subprocess
import sys
from pathlib import Path

import click

from aiayn_keras.export import server_files
from aiayn_keras.export.server_files import OPS_FILE, SERVERS

FILE = Path(server_files.__file__).with_name(OPS_FILE)
HEADER = "# Written by tests/claims/server_ops.py: oldest server, op, attributes.\n"
READER = Path(__file__).with_name("registered_ops.py")
CORE_OF_TEXT = {"2.12.1": "2.12.0"}
"""The TensorFlow version for a version of TensorFlow Text, where they differ."""


def registered(wheels, *versions):
    """Returns the version of graphs and a dictionary of ops with their attributes."""
    from tensorflow.core.framework import op_def_pb2, versions_pb2

    output = subprocess.run(
        [sys.executable, str(READER), str(wheels), *versions],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    version, ops = map(bytes.fromhex, json.loads(output))
    ops = op_def_pb2.OpList.FromString(ops).op
    return versions_pb2.VersionDef.FromString(version).producer, {
        op.name: {attribute.name for attribute in op.attr} for op in ops
    }


def server_ops(wheels, server):
    """Returns the ops of a server, after comparing its version of graphs."""
    version, ops = registered(wheels, server.version)
    if version != server.graph_def_version:
        raise click.ClickException(f"{server}: its TensorFlow has graph version {version}.")
    ops.update(registered(wheels, CORE_OF_TEXT.get(server.text, server.text), server.text)[1])
    return {name: each for name, each in ops.items() if not name.startswith(("_", "Xla"))}


def describe(ops_of_servers):
    """Returns the text of the file.

    Args:
        ops_of_servers: For each of `SERVERS`, a dictionary of ops with their attributes as sets.
    """
    common = [ops_of_servers[-1]]  # of each server and all newer ones
    for ops in reversed(ops_of_servers[:-1]):
        newer = common[0]
        common.insert(0, {op: newer[op] & ops[op] for op in newer.keys() & ops.keys()})
    lines, older = [], {}
    for server, ops in zip(SERVERS, common, strict=True):
        for op, attributes in ops.items():
            new = sorted(attributes - older.get(op, set()))
            if new or op not in older:
                lines.append(f"{' '.join([server.version, op, *new])}\n")
        older = ops
    return HEADER + "".join(sorted(lines))


@click.command(help=__doc__)
@click.argument("wheels", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--check", is_flag=True, help="Compare the file instead of writing it.")
def main(wheels, check):
    text = describe([server_ops(wheels, server) for server in SERVERS])
    if not check:
        FILE.write_text(text, "utf-8")
    elif text != FILE.read_text("utf-8"):
        raise click.ClickException(f"{FILE} does not agree with the wheels.")
    print(f"{FILE}: {text.count(chr(10)) - 1} lines")


if __name__ == "__main__":
    main()
