"""`aiayn-keras translate` and `evaluate`."""

import json
import sys
from pathlib import Path

import click

from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model

WINDOW = 1000  # lines of a pipe that are translated together


@click.command()
@MODEL_FOLDER
@click.option(
    "--input",
    "input_file",
    type=click.Path(path_type=Path),
    help="File to translate. Default: lines from standard input.",
)
@click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--length-penalty", type=click.FloatRange(min=0), default=0.6, show_default=True)
def translate(model_folder, input_file, num_beams, length_penalty):
    """Translate lines with the model in DIR, one line of output for a line of input."""
    from aiayn_keras.data import read_lines

    lines = None if input_file is None else read_lines(input_file)
    model = load_model(model_folder)
    name = "standard input" if input_file is None else str(input_file)
    done = 0
    for window in _windows(sys.stdin.buffer) if lines is None else [lines]:
        translations = _translate(
            model,
            window,
            name,
            lines_before=done,
            hide_bar=lines is None,
            num_beams=num_beams,
            length_penalty=length_penalty,
        )
        done += len(window)
        for translation in translations:
            click.echo(translation.text)


@click.command()
@MODEL_FOLDER
@click.option("--source", type=click.Path(path_type=Path), required=True)
@click.option("--reference", type=click.Path(path_type=Path), required=True)
@click.option("--num-beams", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--length-penalty", type=click.FloatRange(min=0), default=0.6, show_default=True)
@click.option(
    "--tokenize",
    "bleu_tokenizer",
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenizer; none for text that is tokenised.",
)
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(
    model_folder, source, reference, num_beams, length_penalty, bleu_tokenizer, lowercase, as_json
):
    """Translate a file with the model in DIR and print BLEU with sacreBLEU's signature."""
    from aiayn_keras.data import read_parallel
    from aiayn_keras.training.bleu import check_bleu_tokenizer, corpus_bleu

    check_bleu_tokenizer(bleu_tokenizer)
    pairs = read_parallel(source, reference)
    model = load_model(model_folder)
    translations = _translate(
        model, pairs.sources, str(source), num_beams=num_beams, length_penalty=length_penalty
    )
    bleu = corpus_bleu(
        [translation.text for translation in translations],
        list(pairs.targets),
        tokenizer=bleu_tokenizer,
        lowercase=lowercase,
    )
    if as_json:
        figures = {"bleu": bleu.score, "details": bleu.details, "signature": bleu.signature}
        click.echo(json.dumps({**figures, "sentences": len(pairs)}))
    else:
        click.echo(bleu)


def _windows(stream):
    """Lines of a stream: one by one from a person, many together from a pipe."""
    size = 1 if stream.isatty() else WINDOW
    window = []
    for number, line in enumerate(stream, start=1):
        try:
            window.append(line.decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"standard input, line {number} is not UTF-8 (byte {error.start})."
            ) from None
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window


def _translate(model, texts, name, lines_before=0, hide_bar=False, **options):
    """Translates with a progress bar; a text too long is named by file and line."""
    from tqdm import tqdm

    from aiayn_keras.models import TextTooLongError

    try:
        with tqdm(total=len(texts), unit="sentence", disable=hide_bar or None) as bar:
            return model.translate(texts, progress=bar.update, **options)
    except TextTooLongError as error:
        line = lines_before + error.index + 1
        raise ValueError(f"{name}, line {line}: {error.reason}") from error
