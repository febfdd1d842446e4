"""Systems that are measured, each in its own process."""

import fnmatch
import importlib.util
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks.processes import Worker, WorkerError

BACKENDS = ("tensorflow", "jax", "torch")


class System(NamedTuple):
    """Everything that is needed to start a system.

    Attributes:
        loader: `module:function`, run in its process.
        precision: Its precision, such as `"bfloat16"`.
        packages: Required Python packages.
        backend: Keras backend, or None if Keras is not used.
        artifact: Name of a function of `benchmarks.speed.artifacts` that converts the model for it.
        is_ours: True if it runs this package, so that a different checkout can replace it.
        checkout: Folder of a different checkout of this package, or None.
        python: The interpreter, if it is a different one.
    """

    loader: str
    precision: str
    packages: tuple[str, ...] = ()
    backend: str | None = None
    artifact: str | None = None
    is_ours: bool = False
    checkout: str | None = None
    python: str | None = None

    def start(self, log):
        """The `Worker` of it.

        Raises:
            WorkerError: If a package is not installed.
        """
        for package in self.packages:
            if importlib.util.find_spec(package) is None:
                raise WorkerError(f"`{package}` is not installed")
        return Worker(log, self.backend, self.checkout, self.python)


def choose_systems(patterns, systems, checkout=None):
    """Systems whose names match a pattern, in the patterns' order.

    Args:
        patterns: Such as `"ours-*"`.
        systems: Dictionary of `System`.
        checkout: Folder of a different checkout of this package. Every system of ours is followed
            by the same system from that checkout, whose name ends in `@` and the folder's name.

    Returns:
        Dictionary of `System`.
    """
    chosen = {}
    for pattern in patterns:
        matches = fnmatch.filter(systems, pattern)
        if not matches:
            raise click.UsageError(
                f"No system matches {pattern!r}. There are: {', '.join(systems)}."
            )
        for name in matches:
            chosen[name] = systems[name]
            if checkout is not None and systems[name].is_ours:
                other = systems[name]._replace(checkout=str(checkout))
                chosen[name_in(checkout, name)] = other
    return chosen


def name_in(checkout, name):
    """Name of a system of ours in a different checkout."""
    return f"{name}@{Path(checkout).name}"


def _is_checkout(context, parameter, folder):
    if folder is None:
        return None
    if not (folder / "aiayn_keras" / "__init__.py").is_file():
        raise click.BadParameter(f"{folder} holds no folder `aiayn_keras`.")
    return folder.resolve()


def measuring_options(command):
    """The options that every comparison has."""
    for option in (
        click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="JSON."),
        click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True),
        click.option(
            "--against",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            callback=_is_checkout,
            help="A different checkout of this package, measured in turn.",
        ),
        click.option("--baseline", help="System with ratio 1. Default: the first one."),
        click.option(
            "--systems", "patterns", multiple=True, default=["*"], help="Pattern such as 'ours-*'."
        ),
    ):
        command = option(command)
    return command
