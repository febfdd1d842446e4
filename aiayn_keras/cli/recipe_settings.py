"""The option by which a command changes fields of a recipe."""

import click

SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.FIELD=VALUE",
    help="Replace a value of the recipe. May be repeated.",
)
