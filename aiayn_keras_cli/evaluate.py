"""`aiayn-keras evaluate`, `score` and `compare`: translations by models or files."""

import functools
import json
import unicodedata

import click

from aiayn_keras_cli.options import (
    BATCH_SIZE,
    CHECKPOINT,
    ENGINE,
    MODEL_FOLDER,
    LocalPath,
    asked_checkpoint,
    has_checkpoints,
    is_usable_unfinished,
    load_model,
    report_engine,
    require_model_folder,
    search_options,
    with_search_defaults,
)
from aiayn_keras_cli.running import KerasCommand, one_line
from aiayn_keras_cli.streams import check_standard_output
from aiayn_keras_cli.translate import translate_lines

_SOURCE = click.option(
    "--source", type=LocalPath(), required=True, help="File of texts, one per line."
)
_REFERENCES = click.option(
    "--reference",
    "reference_files",
    type=LocalPath(),
    required=True,
    multiple=True,
    help="File of their reference translations, line by line. May be repeated, for several "
    "references of each text.",
)
_BLEU_TOKENIZER = click.option(
    "--tokenize",
    "bleu_tokenizer",
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenizer; none for text that is tokenized already.",
)


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_SOURCE
@_REFERENCES
@click.option(
    "--metric",
    "metrics",
    type=click.Choice(["bleu", "chrf", "ter"]),
    multiple=True,
    default=["bleu", "chrf"],
    show_default=True,
    help="Score to print. May be repeated.",
)
@_BLEU_TOKENIZER
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@BATCH_SIZE
@ENGINE
@search_options("num_return_sequences")
def evaluate(
    model_folder, source, reference_files, metrics, bleu_tokenizer, lowercase, as_json, **options
):
    """Translate a file and print its BLEU, chrF or TER.

    The model in DIR translates. The scores come with sacreBLEU's signatures.
    """
    from aiayn_keras.data import read_parallel
    from aiayn_keras.training.translation_scores import (
        corpus_bleu,
        corpus_chrf,
        corpus_ter,
        try_bleu_tokenizer,
        warn_of_empty_references,
        warn_of_missing_spaces,
    )
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress

    check_standard_output()
    try_bleu_tokenizer(bleu_tokenizer)
    pairs, *others = [read_parallel(source, reference) for reference in reference_files]
    tokenizer = bleu_tokenizer if "bleu" in metrics else None
    warn_of_missing_spaces(pairs.targets, tokenizer, "ter" in metrics)
    references = [list(each.targets) for each in (pairs, *others)]
    warn_of_empty_references(references)
    model = load_model(model_folder, many_batches=len(pairs) > options["batch_size"])
    engine = report_engine(model, [], **options)
    with open_progress(SECONDS_BETWEEN_LINES, total=len(pairs), unit=" sentences") as bar:
        translations = translate_lines(
            model, pairs.sources, [str(source)], progress=bar.update, **options
        )
    texts = [translation.text for translation in translations]
    scores = {}
    for metric in dict.fromkeys(metrics):
        if metric == "bleu":
            scores[metric] = corpus_bleu(texts, references, bleu_tokenizer, lowercase)
        else:
            compute = corpus_chrf if metric == "chrf" else corpus_ter
            scores[metric] = compute(texts, references, lowercase)
    if as_json:
        click.echo(json.dumps({**_as_figures(scores), "sentences": len(pairs), "engine": engine}))
    else:
        click.echo("\n".join(map(str, scores.values())))


def _as_figures(scores):
    figures = {}
    for metric, score in scores.items():
        figures[metric] = score.score
        if metric == "bleu":
            figures |= {"details": score.details, "signature": score.signature}
        else:
            figures[f"{metric}_signature"] = score.signature
    return figures


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_SOURCE
@click.option(
    "--target",
    type=LocalPath(),
    required=True,
    help="File of their translations, line by line.",
)
@click.option(
    "--per-token",
    is_flag=True,
    help="Print the log-probability of every wordpiece, and of the end token last.",
)
@BATCH_SIZE
def score(model_folder, source, target, per_token, batch_size):
    """Print log-probabilities of given translations.

    The model in DIR scores them. The numbers are in nats, one line per translation.
    """
    from aiayn_keras.data import read_parallel
    from aiayn_keras.models import TextTooLongError

    check_standard_output()
    pairs = read_parallel(source, target)
    model = load_model(model_folder)
    try:
        scores = model.score(
            list(pairs.sources), list(pairs.targets), per_token=True, batch_size=batch_size
        )
    except TextTooLongError as error:
        name = source if error.argument == "sources" else target
        raise ValueError(f"{name}, line {error.index + 1}: {error.reason}") from error
    for log_probs in scores:
        numbers = log_probs if per_token else [log_probs.sum()]
        click.echo(" ".join(f"{number:.4f}" for number in numbers))


@click.command(cls=KerasCommand)
@click.argument("systems", metavar="A B...", nargs=-1, required=True, type=LocalPath(exists=True))
@click.option(
    "--source",
    type=LocalPath(),
    help="File of texts, one per line. Models and kits translate it.",
)
@_REFERENCES
@click.option(
    "--lines",
    "max_lines",
    type=click.IntRange(min=0, max=100_000),
    default=10,
    show_default=True,
    help="Number of lines to show, of those that differ most.",
)
@_BLEU_TOKENIZER
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--page", type=LocalPath(dir_okay=False), help="Write an HTML page, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--trust",
    is_flag=True,
    help="Load kits even if their graphs may do more than translate. A kit is a program that runs "
    "with your rights.",
)
@CHECKPOINT
@BATCH_SIZE
@search_options("num_return_sequences")
def compare(
    systems,
    source,
    reference_files,
    max_lines,
    bleu_tokenizer,
    lowercase,
    page,
    as_json,
    trust,
    **options,
):
    """Compare models, serving kits or translations.

    A, B and so on are model folders, trainings, folders of serving kits, or text files of
    translations, one per line. The command prints BLEU, chrF2 and TER by sacreBLEU, its paired
    bootstrap against the first, lengths, the number of lines with different numbers, and the lines
    that differ most. --checkpoint applies to all trainings among them.
    """
    from aiayn_keras.training.comparison import as_plain, compare_translations
    from aiayn_keras.training.translation_scores import try_bleu_tokenizer

    check_standard_output()
    readers = _find_readers(systems, source, trust, options)
    files = [*reference_files, *([] if source is None else [source])]
    if page is not None:
        _check_page(page, [*files, *systems])
    try_bleu_tokenizer(bleu_tokenizer)
    texts = {file: _read_composed(file) for file in files}
    translations = {  # files first: they are refused before a model works for minutes
        path: _read_composed(path) for path in systems if path not in readers
    }
    _check_lengths({**texts, **translations}, reference_files[0])
    for path, read in readers.items():
        translations[path] = read(texts[source])
    comparison = compare_translations(
        {str(path): translations[path] for path in systems},
        [texts[file] for file in reference_files],
        None if source is None else texts[source],
        max_lines=max_lines,
        tokenizer=bleu_tokenizer,
        lowercase=lowercase,
    )
    plain = as_plain(comparison)
    if page is not None:
        _write_page(page, plain)
    click.echo(json.dumps(plain, ensure_ascii=False) if as_json else _as_text(plain))


def _read_composed(path):
    """The lines of a file in NFC, as models write: é is one letter, however the file writes it."""
    from aiayn_keras_light.text_files import read_lines

    return [unicodedata.normalize("NFC", line) for line in read_lines(path)]


# ---- Systems ----


def _find_readers(systems, source, trust, options):
    """Functions of the sources that translate them, by the paths of models and kits."""
    if len(systems) < 2:
        raise click.UsageError("Give at least two models, kits or files to compare.")
    if len(set(systems)) < len(systems):
        raise click.UsageError("Give each model, kit or file once.")
    if asked_checkpoint() is not None and not any(map(has_checkpoints, systems)):
        raise click.UsageError("--checkpoint is for trainings, but none of these is a training.")
    readers = {}
    for path in systems:
        if not path.is_dir():
            continue
        if source is None:
            raise click.UsageError(f"{path} is a folder: give its model a text, with --source.")
        readers[path] = functools.partial(*_translator_of(path, source, trust, options))
    return readers


def _translator_of(path, source, trust, options):
    """A function and its first arguments, for a folder."""
    from aiayn_keras.serving.local_page.kit_translator import find_version

    version = find_version(path)
    if version is not None:
        return _translate_with_kit, version, trust
    if not is_usable_unfinished(path):
        try:
            require_model_folder(path)
        except FileNotFoundError as error:
            kit = "It is not a serving kit either: no version has a saved_model.pb."
            raise FileNotFoundError(f"{error} {kit}") from error
    return _translate_with_model, path, source, options


def _translate_with_kit(version, trust, sources):
    from aiayn_keras.serving.local_page.kit_translator import KitTranslator

    translator = KitTranslator(version, trust)
    with _progress(version, sources) as bar:
        try:
            return translator.translate_lines(sources, bar.update)
        except ValueError as error:
            raise ValueError(f"{version}: {error}") from error


def _translate_with_model(path, source, options, sources):
    options = with_search_defaults(path, options)
    model = load_model(path, many_batches=len(sources) > options["batch_size"])
    long_text = "split" if options["constraint"] is None else "error"
    with _progress(path, sources) as bar:
        found = translate_lines(
            *(model, sources, [str(source)]), progress=bar.update, long_text=long_text, **options
        )
    return [translation.text for translation in found]


def _progress(path, sources):
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress

    return open_progress(
        SECONDS_BETWEEN_LINES, total=len(sources), unit=" sentences", desc=f"{path} "
    )


def _check_lengths(texts, reference):
    wanted = len(texts[reference])
    if not wanted:
        raise ValueError(f"{reference} is empty: give a file with reference translations.")
    for path, lines in texts.items():
        if len(lines) != wanted:
            raise ValueError(
                f"{path} has {len(lines):,} lines, and {reference} has {wanted:,}: all files must "
                "have the same number of lines, line by line about the same text."
            )


# ---- Output ----


def _check_page(page, compared):
    if page.suffix not in (".html", ".htm"):
        raise click.UsageError(f"--page must end in .html. Received: {page}.")
    if page.resolve() in {path.resolve() for path in compared}:
        raise click.UsageError(f"--page: {page} is being compared. Choose a different name.")


def _write_page(page, plain):
    from aiayn_keras.plotting.comparison import comparison_page
    from aiayn_keras_light.files import write_text

    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, comparison_page(plain))


def _as_text(plain):
    names = [_letter(place) for place in range(len(plain["systems"]))]
    lines = [
        f"{name}  {one_line(each['name'])}"
        for name, each in zip(names, plain["systems"], strict=True)
    ]
    lines += ["", *_table(plain, names), ""]
    lines += [f"{metric}: {signature}" for metric, signature in plain["signatures"].items()]
    lines += [
        "± is half of the 95 % confidence interval; p is that of the paired bootstrap against A "
        "(* below 0.05). Lower TER is better.",
        "",
        f"{plain['different']:,} of {plain['lines']:,} lines have different translations."
        + (" Those that differ most by chrF2:" if plain["most_different"] else ""),
    ]
    for each in plain["most_different"]:
        lines += ["", *_differing(each, names)]
    return "\n".join(lines)


def _table(plain, names):
    header = ["", *plain["signatures"], "length", "empty", "numbers≠source", "numbers≠reference"]
    rows = [header]
    for name, each in zip(names, plain["systems"], strict=True):
        numbers = each["numbers_differ_from_source"]
        rows.append(
            [
                name,
                *map(_score, each["scores"].values()),
                f"{each['length_ratio']:.3f}",
                f"{each['empty']:,}",
                "–" if numbers is None else f"{numbers:,}",
                f"{each['numbers_differ_from_reference']:,}",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _score(score):
    shown = f"{score['score']:.2f}"
    if score["interval"] is not None:
        shown += f" ± {score['interval']:.2f}"
    if score["p_value"] is not None:
        shown += f" (p={score['p_value']:.3f}{'*' if score['significant'] else ''})"
    return shown


def _differing(line, names):
    yield f"line {line['line']:,}"
    if line["source"] is not None:
        yield f"  source     {one_line(line['source'])}"
    for text in line["references"]:
        yield f"  reference  {one_line(text)}"
    for name, text, chrf in zip(names, line["outputs"], line["chrf"], strict=True):
        yield f"  {name:<3} {chrf:6.1f} {one_line(text)}"


def _letter(place):
    """A, B, ... Z, then 27, 28 and so on."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)
