"""Who does the work of a command: processes of this machine, or a Ray cluster."""

import click

THIS_MACHINE = "local"

_OPTIONS = (
    click.option(
        "--on-ray",
        "ray",
        is_flag=False,
        flag_value=THIS_MACHINE,
        metavar="[ADDRESS]",
        help="Work on the Ray cluster at this address; without one, on a cluster of this machine.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1, max=100_000),
        help="Number of processes, or of workers of the cluster. Default: one for each core; to "
        "translate on this machine, one.",
    ),
)


def engine_options(command):
    """Gives a command the options `ray` and `workers`, the fields of an `Engine`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
