"""The converters refuse every hostile model in one line, in little memory, and nothing in it runs.

Two are harmless, and the right numbers are read: a field that safetensors ignores, and a mark that
TensorFlow ignores where the shape is known. Run from the repository's root, where `ctranslate2`,
PyTorch and `transformers` are installed, which write the models from which the hostile ones are
made:

    python -m tests.claims.hostile_conversions --list

Each file is converted in a forked process, whose memory and time, with those of the reader that it
starts, are limited. Prints a table, with `--list` every answer, and whether a pickle ran its
command. Exits with 1 if a case falls through.
"""

import functools
import sys
import tempfile
from pathlib import Path

import click

from tests.claims.forked_cases import Case, Limits, print_table, run_cases
from tests.claims.hostile_bundles import hostile_bundles
from tests.claims.hostile_models import hostile_checkpoints, hostile_engine_models
from tests.claims.hostile_tensors import CANARY, hostile_tensor_files

LIMITS = Limits(bytes=2 * 2**30, seconds=60.0)


def cases(folder):
    """Yields all cases.

    Args:
        folder: Path of an empty folder for the files.
    """
    from aiayn_keras.convert import (
        convert_ctranslate2,
        convert_fairseq,
        convert_marian,
        convert_opennmt_tf,
    )
    from aiayn_keras.convert.tensor_files import read_tensors
    from tests.claims.hostile_marian import hostile_marian_models  # needs PyTorch

    for number, file in enumerate(hostile_tensor_files()):
        place = folder / f"tensors-{number}"
        place.mkdir()
        run = functools.partial(read_tensors, file.write(place))
        expected = "answer" if file.message is None else "refusal"
        yield Case(file.group, file.name, run, expected, file.message or "")
    for group, make, convert in (
        ("CTranslate2", hostile_engine_models, lambda path: convert_ctranslate2(path)),
        ("fairseq", hostile_checkpoints, lambda paths: convert_fairseq(*paths)),
        ("Marian", hostile_marian_models, lambda path: convert_marian(path)),
        ("TensorFlow", hostile_bundles, lambda paths: convert_opennmt_tf(*paths, num_heads=3)),
    ):
        place = folder / group
        place.mkdir()
        for name, argument, message in make(place):
            expected = "either" if message is None else "refusal"
            run = functools.partial(convert, argument)
            yield Case(group, name, run, expected, message or "")


@click.command()
@click.option("--list", "is_list", is_flag=True, help="Print every answer.")
def main(is_list):
    """Give hostile models to the converters."""
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for result in run_cases(list(cases(Path(folder))), LIMITS):
            results.append(result)
            if is_list:
                answer = result.message.replace(folder, "")
                click.echo(f"{result.case.group}: {result.case.name}: {answer}")
    has_run = CANARY.exists()
    click.echo(f"Commands run by a file: {'some' if has_run else 'none'}.")
    sys.exit(print_table(results) > 0 or has_run)


if __name__ == "__main__":
    main()
