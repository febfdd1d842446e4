"""`aiayn-keras translate`."""

import json
from pathlib import Path

import click

from aiayn_keras.cli.document_text import DOCUMENT, document_windows
from aiayn_keras.cli.engine_options import engine_options
from aiayn_keras.cli.interactive import Conversation, is_conversation
from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, MODEL_FOLDER_TYPE, load_model
from aiayn_keras.cli.search_arguments import BATCH_SIZE, is_given, search_options
from aiayn_keras.cli.standard_input import open_standard_input, read_available_lines
from aiayn_keras.cli.standard_output import check_standard_output
from aiayn_keras.cli.translated_parts import translate_parts
from aiayn_keras.cli.translated_texts import translate_texts
from aiayn_keras.text_fields import without_breaks
from aiayn_keras.windows import windows


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@click.option(
    "--input",
    "input_file",
    help="File to translate; with --output, a pattern of files, such as 's3://corpus/*.gz'. "
    "Default: lines from standard input.",
)
@click.option("--output", metavar="FOLDER|URL", help="Folder for the translations of files.")
@engine_options
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
@DOCUMENT
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for each line: source, and hypotheses with scores and wordpieces.",
)
@click.option(
    "--alignments", is_flag=True, help="With --json, print where each wordpiece looked, too."
)
@BATCH_SIZE
@search_options()
def translate(
    model_folder,
    input_file,
    output,
    prefix_file,
    ensemble,
    document,
    as_json,
    alignments,
    ray,
    workers,
    **options,
):
    """Translate lines with the model in DIR.

    There is one line of output for a line of input. With --n-best, it holds the best
    translations, separated by tabs. With --document, the output is the input with its sentences
    translated; with --json too, an object for each sentence. On a terminal, without --input,
    --document and --json, it is a conversation: type a text, read its translation, and :help
    tells more.

    With --output, files of any number and size, plain, .gz or .parquet, are translated in parts
    by processes of this machine or, with --on-ray, of a cluster. A job that was stopped goes on.
    """
    if alignments and not as_json:
        raise click.UsageError("--alignments are printed with --json.")
    if prefix_file is not None and input_file is None:
        raise click.UsageError("--prefixes goes with --input.")
    if output is not None:
        if prefix_file or ensemble or document or as_json:
            raise click.UsageError(
                "--output is for lines and one model: leave out --prefixes, --ensemble, "
                "--document and --json."
            )
        if is_given("batch_size"):
            raise click.UsageError(
                "With --output, batches have a number of tokens: leave out --batch-size."
            )
        translate_parts(model_folder, input_file, output, ray, workers, options)
        return
    if ray is not None or workers is not None:
        raise click.UsageError("--on-ray and --workers go with --output.")
    check_standard_output()
    input_file = None if input_file is None else Path(input_file)
    write = _print_json if as_json else _print_texts
    options.update(return_alignments=alignments)
    if document:
        if prefix_file is not None:
            raise click.UsageError("--prefixes are of lines, not of a --document.")
        if options["num_return_sequences"] > 1 and not as_json:
            raise click.UsageError("--n-best of a --document is printed with --json.")
        _translate_document(input_file, model_folder, ensemble, as_json, options)
    elif input_file is None and not as_json and is_conversation():
        models = [load_model(folder) for folder in (model_folder, *ensemble)]
        Conversation(models[0], ensemble=models[1:], **options).run()
    elif input_file is None:
        _translate_standard_input(model_folder, ensemble, write, options)
    else:
        files = [input_file] if prefix_file is None else [input_file, prefix_file]
        _translate_files(files, model_folder, ensemble, write, options)


def _translate_standard_input(model_folder, ensemble, write, options):
    stream = open_standard_input()
    model = load_model(model_folder)
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    done = 0
    for lines in read_available_lines(stream):
        write(lines, translate_texts(model, lines, ["standard input"], done, **options))
        done += len(lines)


def _translate_files(files, model_folder, ensemble, write, options):
    """Translates a file, of which only a window is in memory, with or without prefixes."""
    from aiayn_keras.data import stream_lines
    from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress

    count = _count_lines(*files)
    model = load_model(model_folder, many_batches=count > options["batch_size"])
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    rows, done = zip(*map(stream_lines, files), strict=True), 0
    with open_progress(SECONDS_BETWEEN_LINES, total=count, unit=" sentences") as bar:
        for window in windows(rows):
            lines, *prefixes = map(list, zip(*window, strict=True))
            translations = translate_texts(
                *(model, lines, files, done),
                prefixes=prefixes[0] if prefixes else None,
                progress=bar.update,
                **options,
            )
            with bar.external_write_mode():
                write(lines, translations)
            done += len(lines)


def _translate_document(input_file, model_folder, ensemble, as_json, options):
    from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress

    if input_file is not None:
        _count_lines(input_file)  # so that nothing is translated of a file that is damaged
    texts = document_windows(input_file)
    model = load_model(model_folder)
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    with open_progress(SECONDS_BETWEEN_LINES, unit=" sentences") as bar:
        for text in texts:
            (document,) = model.translate_documents([text], progress=bar.update, **options)
            with bar.external_write_mode():
                if as_json:
                    _print_json(document.sources, document.translations)
                else:
                    click.echo(document.text, nl=False)


def _count_lines(input_file, prefix_file=None):
    """The number of lines of a file that can be read to its end, and of its prefixes."""
    from aiayn_keras.data import stream_lines

    count = sum(1 for _ in stream_lines(input_file))
    if prefix_file is not None:
        prefixes = sum(1 for _ in stream_lines(prefix_file))
        if prefixes != count:
            raise ValueError(
                f"{prefix_file} must have as many lines as {input_file}. "
                f"Received: {prefixes} and {count}."
            )
    return count


def _print_texts(_sources, translations):
    for translation in translations:
        click.echo("\t".join(without_breaks(each.text) for each in translation.hypotheses))


def _print_json(sources, translations):
    for source, translation in zip(sources, translations, strict=True):
        hypotheses = [_as_dictionary(each) for each in translation.hypotheses]
        fields = {"source": source, "hypotheses": hypotheses}
        click.echo(json.dumps(fields, ensure_ascii=False))


def _as_dictionary(hypothesis):
    names = ("text", "score", "normalized_score", "tokens")
    fields = {name: getattr(hypothesis, name) for name in names}
    if hypothesis.alignment is not None:
        fields["alignment"] = [
            [round(weight, 4) for weight in row] for row in hypothesis.alignment.tolist()
        ]
    return fields
