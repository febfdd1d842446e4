"""Exports of a SavedModel, killed at random moments: a server never finds half a version.

    python -m tests.claims.export_kills --kills 20

exports the small model of the repository again and again into the folder of one kit, where a
server would look for versions, and kills each export at a random moment; one more runs to its end.
Every version there must be whole by its SHA256SUMS, every other file of the kit must be that of an
undisturbed kit with as many versions, or with one more, and the last version must translate.
"""

import math
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from aiayn_keras_light.files import WRITING
from tests.claims.kills import run_or_kill

MODELS = Path(__file__).parents[2] / "saved_models"
NAME = "demo"
COMMAND = [
    *(sys.executable, "-m", "aiayn_keras_cli", "export", "saved-model"),
    *(str(MODELS / "demo_en_de_keras"), "--name", NAME, "--output"),
]


class UndisturbedKits:
    """The files of kits with one version, two and so on, made when they are asked for.

    Attributes:
        seconds: Time of the first export.
    """

    def __init__(self, folder, log):
        self._folder, self._log, self._files = folder, log, [{}]
        start = time.perf_counter()
        self.files(1)
        self.seconds = time.perf_counter() - start

    def files(self, versions):
        """The `kit_files` of a kit with that many versions."""
        while len(self._files) <= versions:
            run_or_kill([*COMMAND, str(self._folder)], self._log, math.inf, lambda: False)
            self._files.append(kit_files(self._folder / NAME))
        return self._files[versions]


def kit_files(kit):
    """Bytes of a kit's files outside its versions and temporary folders, by path."""
    paths = {path.relative_to(kit): path for path in kit.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in paths.items()
        if not (name.parts[0].isdecimal() or name.parts[0].startswith(WRITING))
    }


def versions_of(kit):
    """The folders of the versions that a server would load."""
    versions = [path for path in kit.glob("*") if path.name.isdecimal()]
    return sorted(versions, key=lambda path: int(path.name))


def damage_of(version):
    """Lists the faults of a version by its SHA256SUMS."""
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    run = subprocess.run(check, cwd=version, capture_output=True, text=True)
    if run.returncode:
        return run.stdout + run.stderr
    listed = (version / "SHA256SUMS").read_text("utf-8").splitlines()
    there = [path for path in version.rglob("*") if path.is_file()]
    return "" if len(there) == len(listed) + 1 else "a file is not listed"


@click.command()
@click.option("--kills", type=click.IntRange(min=0), default=20, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of the moments.")
def main(kills, seed):
    """Kill exports at random moments."""
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        log, kit = folder / "log", folder / "disturbed" / NAME
        undisturbed = UndisturbedKits(folder / "undisturbed", log)
        faults = []
        for kill in range(1, kills + 2):
            end = moments.uniform(0, 1.1 * undisturbed.seconds) if kill <= kills else math.inf
            is_done = run_or_kill([*COMMAND, str(kit.parent)], log, end, lambda: False)
            versions, left = versions_of(kit), len(list(kit.parent.rglob(f"{WRITING}*")))
            found = [f"{path}: {text}" for path in versions if (text := damage_of(path))]
            count = len(versions)
            wanted = [
                undisturbed.files(number) for number in ([count] if is_done else [count, count + 1])
            ]
            found += [
                f"{path} is of no undisturbed kit"
                for path, content in kit_files(kit).items()
                if content not in [files.get(path) for files in wanted]
            ]
            if is_done and kit_files(kit).keys() != wanted[0].keys():
                found.append("files are missing")
            faults += found
            state = "ended" if is_done else f"killed after {end:.1f} s"
            whole = f"{count} whole versions, {left} left-over folders"
            click.echo("; ".join([f"export {kill} {state}: {whole}", *found]))
        translate = [sys.executable, str(MODELS / "translate.py"), str(versions[-1])]
        text = "The girl is happy.\n"
        run = subprocess.run(translate, input=text, capture_output=True, text=True, check=True)
        click.echo(f"version {versions[-1].name} translates: {run.stdout.strip()}")
        click.echo(f"faults: {faults or 'none'}")
        sys.exit(bool(faults))


if __name__ == "__main__":
    main()
