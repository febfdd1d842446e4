"""Options of a sweep of trainings: the folders for what is under way, and for the results.

A file of its own, since it is all that the sweeps share and it imports nothing else.
"""

from pathlib import Path

import click


def folder_options(name, results):
    """Gives a command the options `--runs` and `--results`, received as `folder` and `results`.

    Args:
        name: Name of the sweep.
        results: `pathlib.Path` of the default folder of results, in this repository.
    """
    path = click.Path(file_okay=False, path_type=Path)
    place = results.relative_to(Path(__file__).parents[1]).as_posix()
    return lambda command: click.option(
        "--runs",
        "folder",
        type=path,
        default=Path("runs") / name,
        show_default=True,
        help="Folder for trainings that are under way.",
    )(
        click.option(
            "--results",
            type=path,
            default=results,
            help=f"Folder for the result files. Default: {place}.",
        )(command)
    )
