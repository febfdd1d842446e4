"""Files of any size, translated in parts into a folder: `translate --output`."""

import click

LOCAL = "local"

_OPTIONS = (
    click.option("--output", metavar="FOLDER|URL", help="Folder for the translations of files."),
    click.option(
        "--on-ray",
        is_flag=False,
        flag_value=LOCAL,
        metavar="[ADDRESS]",
        help="Translate on the Ray cluster at this address; on one of this machine without it.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1, max=100_000),
        help="With --output: processes that load the model. Default: one; with --on-ray, the "
        "cluster's cores.",
    ),
)


def output_options(command):
    """Gives a command the options of `translate_parts`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def translate_parts(model_folder, pattern, output, on_ray, workers, options):
    """Translates files into a folder, and says what is there.

    Args:
        model_folder: Path of a model folder.
        pattern: Pattern of the files, or `None`.
        output: Path or URL of the folder.
        on_ray: `None`, the address of a Ray cluster, or `LOCAL`.
        workers: Number of processes, or `None`.
        options: Dictionary of the search's options and of `batch_size`, which is not used: here
            batches have a number of tokens.
    """
    from aiayn_keras.scale import translate_files

    if pattern is None:
        raise click.UsageError("--output needs --input, the files.")
    options = {name: value for name, value in options.items() if name != "batch_size"}
    done = translate_files(
        model_folder,
        pattern,
        output,
        workers=workers,
        on_ray=on_ray is not None,
        ray_address=None if on_ray == LOCAL else on_ray,
        **options,
    )
    click.echo(f"{done.lines:,} lines are in {output}, {done.bad_lines:,} of them bad.")
