"""Options of commands whose work is done by processes of this machine, or by a Ray cluster."""

import click

_OPTIONS = (
    click.option(
        "--on-ray",
        "ray",
        is_flag=False,
        flag_value="local",
        metavar="[ADDRESS]",
        help="Work on a Ray cluster: its address, or `auto` on one of its machines. Without an "
        "address, or with `local`, on a cluster of this machine, as the last option.",
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
