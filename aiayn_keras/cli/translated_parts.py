"""Files of any number and size, translated in parts: `translate --output`."""

import click


def translate_parts(model_folder, pattern, output, ray, workers, options):
    """Translates files into a folder, and says what is there.

    Args:
        model_folder: Path of a model folder.
        pattern: Pattern of the files, or `None`.
        output: Path or URL of the folder.
        ray: Field of `Engine`.
        workers: Field of `Engine`; one process of this machine if not given.
        options: Dictionary of the search's options and of the default `batch_size`, which is not
            used: here batches have a number of tokens.
    """
    from aiayn_keras.scale.engines import Engine
    from aiayn_keras.scale.translation import translate_files

    if pattern is None:
        raise click.UsageError("--output needs --input, the files.")
    if options["num_return_sequences"] > 1:
        raise click.UsageError("With --output, a line is translated into one line.")
    if ray is None:
        workers = workers or 1
    options = {name: value for name, value in options.items() if name != "batch_size"}
    done = translate_files(model_folder, pattern, output, engine=Engine(workers, ray), **options)
    click.echo(f"{done.lines:,} lines are in {output}.")
    if done.bad_lines:
        click.echo(f"{done.bad_lines:,} lines are bad: see {output}/*.bad.jsonl.", err=True)
