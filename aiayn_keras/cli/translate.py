"""`aiayn-keras translate`."""

import json
import sys
from pathlib import Path

import click

from aiayn_keras.cli.model_folder import MODEL_FOLDER, MODEL_FOLDER_TYPE, load_model
from aiayn_keras.cli.quiet_start import KerasCommand
from aiayn_keras.cli.search_arguments import BATCH_SIZE, search_options
from aiayn_keras.cli.standard_input import read_available_lines
from aiayn_keras.cli.translated_texts import translate_file, translate_texts


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@click.option(
    "--input",
    "input_file",
    type=click.Path(path_type=Path),
    help="File to translate. Default: lines from standard input.",
)
@click.option(
    "--prefixes",
    "prefix_file",
    type=click.Path(path_type=Path),
    help="File with the beginning of the translation of each line of --input.",
)
@click.option(
    "--ensemble",
    multiple=True,
    metavar="DIR",
    type=MODEL_FOLDER_TYPE,
    help="Another model of the same vocabulary, to search with both. May be repeated.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for each line: its hypotheses with score and wordpieces.",
)
@click.option(
    "--alignments", is_flag=True, help="With --json, print where each wordpiece looked, too."
)
@BATCH_SIZE
@search_options()
def translate(model_folder, input_file, prefix_file, ensemble, as_json, alignments, **options):
    """Translate lines with the model in DIR.

    There is one line of output for a line of input. With --n-best, it holds the best
    translations, separated by tabs.
    """
    if alignments and not as_json:
        raise click.UsageError("--alignments are printed with --json.")
    if prefix_file is not None and input_file is None:
        raise click.UsageError("--prefixes goes with --input.")
    write = _print_json if as_json else _print_texts
    options.update(return_alignments=alignments)
    if input_file is None:
        _translate_standard_input(model_folder, ensemble, write, options)
        return
    lines, options["prefixes"] = _read_input(input_file, prefix_file)
    model = load_model(model_folder, many_batches=len(lines) > options["batch_size"])
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    write(translate_file(model, lines, str(input_file), **options))


def _translate_standard_input(model_folder, ensemble, write, options):
    model = load_model(model_folder)
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    done = 0
    for lines in read_available_lines(sys.stdin.buffer):
        write(translate_texts(model, lines, "standard input", lines_before=done, **options))
        done += len(lines)


def _read_input(input_file, prefix_file):
    """Lines to translate, and the beginnings of their translations or None."""
    from aiayn_keras.data import read_lines

    lines = read_lines(input_file)
    if prefix_file is None:
        return lines, None
    prefixes = read_lines(prefix_file)
    if len(prefixes) != len(lines):
        raise ValueError(
            f"{prefix_file} must have as many lines as {input_file}. "
            f"Received: {len(prefixes)} and {len(lines)}."
        )
    return lines, prefixes


def _print_texts(translations):
    for translation in translations:
        click.echo("\t".join(each.text for each in translation.hypotheses))


def _print_json(translations):
    for translation in translations:
        hypotheses = [_as_dictionary(each) for each in translation.hypotheses]
        click.echo(json.dumps({"hypotheses": hypotheses}, ensure_ascii=False))


def _as_dictionary(hypothesis):
    fields = {"text": hypothesis.text, "score": hypothesis.score, "tokens": hypothesis.tokens}
    if hypothesis.alignment is not None:
        fields["alignment"] = [
            [round(weight, 4) for weight in row] for row in hypothesis.alignment.tolist()
        ]
    return fields
