"""`aiayn-keras translate`: standard input, a file, a document, a conversation or a job."""

from pathlib import Path

import click

from aiayn_keras_cli.conversation import Conversation, is_conversation
from aiayn_keras_cli.documents import (
    DOCUMENT_FORMAT,
    check_document_options,
    check_table,
    choose_documents,
    translate_documents,
    translate_plain,
)
from aiayn_keras_cli.line_translator import open_line_translator
from aiayn_keras_cli.options import (
    BATCH_SIZE,
    ENGINE,
    MODEL_FOLDER,
    MODEL_FOLDER_TYPE,
    PLACEABLES,
    LocalPath,
    asked_checkpoint,
    check_n_best,
    chosen_checkpoint,
    is_given,
    load_model,
    number_are,
    pool_options,
    quiet_pool,
    report_engine,
    say_checkpoint,
    search_options,
)
from aiayn_keras_cli.running import KerasCommand, start_keras
from aiayn_keras_cli.streams import (
    DOCUMENT,
    check_standard_output,
    open_standard_input,
    read_available_lines,
    read_document,
)

_MAX_LINES = 1_000
"""Number of lines of a file that are translated, sorted by length, before they are printed."""


@click.command(cls=KerasCommand, may_need_no_keras=True)
@MODEL_FOLDER
@click.option(
    "--input",
    "input_file",
    help="File to translate; with --output, a pattern of files, such as 's3://corpus/*.gz'. "
    "Default: lines from standard input.",
)
@click.option("--output", metavar="FOLDER|URL", help="Folder for the translations of files.")
@DOCUMENT_FORMAT
@pool_options
@click.option(
    "--prefixes",
    "prefix_file",
    type=LocalPath(),
    help="File with the beginning of the translation of each line of --input.",
)
@click.option(
    "--ensemble",
    multiple=True,
    metavar="DIR",
    type=MODEL_FOLDER_TYPE,
    help="Another model to search with, whose vocabulary must be the same. May be repeated.",
)
@DOCUMENT
@click.option(
    "--long-text",
    type=click.Choice(["split", "cut", "error"]),
    default="split",
    show_default=True,
    help="Split a line that is too long for the model into sentences, cut it, or stop there with "
    "an error.",
)
@PLACEABLES
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for each line: source, and hypotheses with scores and wordpieces.",
)
@click.option(
    "--alignments",
    is_flag=True,
    help="With --json, also print the source's wordpieces, and the attention from each wordpiece "
    "of a translation to them.",
)
@BATCH_SIZE
@ENGINE
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
    document_format,
    columns,
    **options,
):
    """Translate lines or documents with the model in DIR.

    Each line of input gives one line of output; with --n-best, the best translations, separated by
    tabs. Placeables (URLs, {name} and the like) are translated like other words with --constraint,
    --prefixes and --alignments; documents keep them.

    With --document, the output is the input with its sentences translated; with --json too, an
    object for each sentence. Files of subtitles, HTML, Markdown, gettext, Word, CSV, TSV and JSON
    are recognized as documents by their endings: their texts are translated, and everything else
    stays. With --output, they also keep their folders.

    On a terminal, without --input, --document and --json, the command is a conversation: type a
    text to read its translation, and :help for more.

    With --output, any number of files of lines, of any size, plain, .gz or .parquet, are translated
    in parts by processes of this machine or, with --on-ray, of a cluster. To resume a job that was
    stopped, run the same command again.
    """
    if options["constraint"] is not None and not is_given("long_text"):
        options["long_text"] = "error"  # parts would each keep it
    about_pieces = (options["constraint"], prefix_file, alignments or None)
    if about_pieces != (None, None, None) and options["placeables"] == "keep":
        if is_given("placeables"):
            raise click.UsageError(
                "--placeables keep cannot be combined with --constraint, --prefixes or "
                "--alignments, which are about the wordpieces of the texts."
            )
        options["placeables"] = "translate"
    check_n_best(options["num_return_sequences"], options["num_beams"])
    if alignments and not as_json:
        raise click.UsageError("--alignments needs --json.")
    if prefix_file is not None and input_file is None:
        raise click.UsageError("--prefixes needs --input.")
    if input_file == "-":
        raise click.UsageError("--input - is not a file: omit --input to read standard input.")
    check_table(input_file, document_format, columns)
    chosen = choose_documents(input_file, output, document, document_format)
    document = document or document_format == "text"
    if chosen is None and columns:
        _check_column(input_file, output, columns)
        options["column"] = columns[0]
    if (output is not None or chosen is not None) and (prefix_file or as_json):
        raise click.UsageError(
            "--output and documents with a format only give translations: omit --prefixes and "
            "--json."
        )
    if chosen is not None:
        check_document_options(output, ray, workers, options)
        options["ensemble"] = ensemble
        translate_documents(model_folder, chosen, output, document_format, columns, options)
        return
    if output is not None:
        if ensemble:
            raise click.UsageError("--output translates lines with one model: omit --ensemble.")
        if is_given("batch_size"):
            raise click.UsageError(
                "With --output, batches are limited by their tokens: omit --batch-size."
            )
        _run_job(model_folder, input_file, output, ray, workers, options)
        return
    if ray is not None or workers is not None:
        raise click.UsageError("--on-ray and --workers need --output.")
    check_standard_output()
    input_file = None if input_file is None else Path(input_file)
    long_text = options.pop("long_text")
    write = _print_json if as_json else _print_texts
    options.update(return_alignments=alignments)
    if document:
        if options["placeables"] == "translate" and not as_json and is_given("placeables"):
            raise click.UsageError("--document keeps placeables, unless with --json.")
        if is_given("long_text"):
            raise click.UsageError("--document always splits long sentences: omit --long-text.")
        if prefix_file is not None:
            raise click.UsageError("--prefixes cannot be combined with --document.")
        if options["num_return_sequences"] > 1 and not as_json:
            raise click.UsageError(
                "--document can be combined with --n-best only if --json is given."
            )
        _translate_document(input_file, model_folder, ensemble, as_json, options)
    elif input_file is None and not as_json and is_conversation():
        start_keras()
        models = [load_model(folder) for folder in (model_folder, *ensemble)]
        report_engine(models[0], models[1:], **options)
        Conversation(models[0], ensemble=models[1:], **options).run()
    elif input_file is None:
        options["long_text"] = long_text
        _translate_standard_input(model_folder, ensemble, write, options)
    else:
        options["long_text"] = long_text
        files = [input_file] if prefix_file is None else [input_file, prefix_file]
        _translate_files(files, model_folder, ensemble, write, options)


def translate_lines(model, texts, names, lines_before=0, **options):
    """Translates lines; an error for one that cannot be translated names its file and line.

    Args:
        model: A `TransformerSeq2SeqLM`.
        texts: List of strings.
        names: List of the names of the file of texts and, with prefixes, of the file of prefixes.
        lines_before: Number of lines before them in the files.
        **options: Of `TransformerSeq2SeqLM.translate`.

    Returns:
        List of `Translation`, one for each text.

    Raises:
        ValueError: For a text or prefix that cannot be used, or a text without a translation that
            keeps the constraint.
    """
    from aiayn_keras_light.text_batches import TextError, TextTooLongError
    from aiayn_keras_light.translating import NoTranslationError

    try:
        return model.translate(texts, **options)
    except TextError as error:
        name, line = names[error.argument == "prefixes"], lines_before + error.index + 1
        message = f"{name}, line {line}: {error.reason}"
        if isinstance(error, TextTooLongError) and options.get("long_text") == "error":
            message += " --long-text split or cut translates such lines, --document whole texts."
        raise ValueError(message) from error
    except NoTranslationError as error:
        line = lines_before + error.rows[0] + 1
        raise ValueError(
            f"{names[0]}, line {line}: no translation keeps the constraint within --min-length, "
            "--max-length and the model's positions, and begins with the prefix if there is one."
        ) from error


def _check_column(pattern, output, columns):
    """Refuses columns of anything but the files of a job that are Parquet."""
    if output is None or not (pattern or "").endswith(".parquet"):
        raise click.UsageError(
            "--columns is for tables: give --input with a .csv or .tsv; or, with --output, with "
            ".parquet."
        )
    if len(columns) > 1:
        raise click.UsageError(
            f"--columns names the one column of Parquet that holds the lines. Received: "
            f"{','.join(columns)}."
        )


def _run_job(model_folder, pattern, output, ray, workers, options):
    """Translates files of any number and size in parts, and reports the result."""
    start_keras()
    from aiayn_keras.scale.translation import checkpoint_of_job, translate_files
    from aiayn_keras.training.training_state import find_checkpoint

    if pattern is None:
        raise click.UsageError("--output needs --input, the files.")
    if options["num_return_sequences"] > 1:
        raise click.UsageError("--output cannot be combined with --n-best.")
    checkpoint = chosen_checkpoint(model_folder)
    if asked_checkpoint() is None:  # a job that was stopped goes on with the checkpoint it had
        checkpoint = checkpoint_of_job(output) or checkpoint
    if checkpoint is not None:
        found = find_checkpoint(model_folder, checkpoint)
        say_checkpoint(model_folder, found)
        options["checkpoint"] = found.updates
    if ray is None:
        workers = workers or 1
    del options["batch_size"]
    done = translate_files(
        *(model_folder, pattern, output),
        pool=quiet_pool(workers, ray),
        engine=options.pop("engine"),
        **options,
    )
    click.echo(f"{number_are(done.lines, 'line')} in {output}.")
    if done.bad_lines:
        bad = number_are(done.bad_lines, "line")
        click.echo(f"{bad} without a translation: see {output}/*.bad.jsonl.", err=True)


def _translate_standard_input(model_folder, ensemble, write, options):
    stream = open_standard_input()
    model, options = open_line_translator(model_folder, ensemble, options)
    done = 0
    for lines in read_available_lines(stream):
        write(lines, translate_lines(model, lines, ["standard input"], done, **options))
        done += len(lines)


def _translate_files(files, model_folder, ensemble, write, options):
    """Translates a file, with or without prefixes, a chunk of it at a time."""
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress
    from aiayn_keras_light.text_files import chunk_rows, stream_lines

    count = _count_lines(*files)
    if len(files) > 1:  # prefixes are for our own search
        start_keras()
    many_batches = count > options["batch_size"]
    model, options = open_line_translator(model_folder, ensemble, options, many_batches)
    rows, done = zip(*map(stream_lines, files), strict=True), 0
    with open_progress(SECONDS_BETWEEN_LINES, total=count, unit=" sentences") as bar:
        for chunk in chunk_rows(rows, max_rows=_MAX_LINES):
            lines, *prefixes = map(list, zip(*chunk, strict=True))
            if prefixes:
                options["prefixes"] = prefixes[0]
            translations = translate_lines(
                *(model, lines, files, done), progress=bar.update, **options
            )
            with bar.external_write_mode():
                write(lines, translations)
            done += len(lines)


def _translate_document(input_file, model_folder, ensemble, as_json, options):
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress

    if input_file is not None:
        _count_lines(input_file)  # so that a damaged file is refused before any of it is printed
    texts = read_document(input_file)
    start_keras()
    model = load_model(model_folder)
    options["ensemble"] = [load_model(folder) for folder in ensemble]
    report_engine(model, **options)
    with open_progress(SECONDS_BETWEEN_LINES, unit=" sentences") as bar:
        options["progress"] = bar.update
        for text in texts:
            if as_json:
                (document,) = model.translate_documents([text], **options)
                with bar.external_write_mode():
                    _print_json(document.sources, document.translations)
            else:
                translated = translate_plain(model, text, options)
                with bar.external_write_mode():
                    click.echo(translated, nl=False)


def _count_lines(input_file, prefix_file=None):
    """Reads a file, and its prefixes, to the end, and returns the number of lines."""
    from aiayn_keras_light.text_files import stream_lines

    count = sum(1 for _ in stream_lines(input_file))
    if prefix_file is not None:
        prefixes = sum(1 for _ in stream_lines(prefix_file))
        if prefixes != count:
            raise ValueError(
                f"{prefix_file} must have the same number of lines as {input_file}. "
                f"Received: {prefixes} and {count}."
            )
    return count


def _print_texts(_sources, translations):
    from aiayn_keras_light.text_files import without_breaks

    for translation in translations:
        click.echo("\t".join(without_breaks(each.text) for each in translation.hypotheses))


def _print_json(sources, translations):
    from aiayn_keras_light.text_files import as_json_line

    for source, translation in zip(sources, translations, strict=True):
        hypotheses = [_as_dictionary(each) for each in translation.hypotheses]
        fields = {"source": source}
        if translation.source_tokens is not None:
            fields["source_tokens"] = translation.source_tokens
        fields["hypotheses"] = hypotheses
        click.echo(as_json_line(fields))


def _as_dictionary(hypothesis):
    names = ("text", "score", "normalized_score", "tokens")
    fields = {name: getattr(hypothesis, name) for name in names}
    if hypothesis.alignment is not None:
        fields["alignment"] = [
            [round(weight, 4) for weight in row] for row in hypothesis.alignment.tolist()
        ]
    return fields
