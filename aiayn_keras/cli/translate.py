"""`aiayn-keras translate`, `score` and `evaluate`."""

import json
import sys
from pathlib import Path

import click

from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.cli.search_options import BATCH_SIZE, search_options
from aiayn_keras.cli.standard_input import windows


@click.command()
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
    help="File with a line for each line of --input that its translation begins with.",
)
@click.option(
    "--ensemble",
    multiple=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Another model of the same vocabulary, to search with both. May be repeated.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print a JSON object for a line: its hypotheses with score and wordpieces.",
)
@click.option("--alignments", is_flag=True, help="With --json, where each wordpiece looked.")
@BATCH_SIZE
@search_options()
def translate(model_folder, input_file, prefix_file, ensemble, as_json, alignments, **options):
    """Translate lines with the model in DIR, one line of output for a line of input.

    With --n-best, a line has its best translations, separated by tabs.
    """
    from aiayn_keras.data import read_lines

    if alignments and not as_json:
        raise click.UsageError("--alignments are printed with --json.")
    if prefix_file is not None and input_file is None:
        raise click.UsageError("--prefixes goes with --input.")
    lines = None if input_file is None else read_lines(input_file)
    prefixes = None if prefix_file is None else read_lines(prefix_file)
    if prefixes is not None and len(prefixes) != len(lines):
        raise ValueError(
            f"{prefix_file} must have as many lines as {input_file}. "
            f"Received: {len(prefixes)} and {len(lines)}."
        )
    model = load_model(model_folder, num_batches=_num_batches(lines or [], options))
    others = [load_model(folder) for folder in ensemble]
    name = "standard input" if input_file is None else str(input_file)
    done = 0
    for window in windows(sys.stdin.buffer) if lines is None else [lines]:
        translations = _translate(
            model,
            window,
            name,
            lines_before=done,
            hide_bar=lines is None,
            prefixes=prefixes,
            ensemble=others,
            return_alignments=alignments,
            **options,
        )
        done += len(window)
        for translation in translations:
            if as_json:
                hypotheses = [_as_dictionary(each) for each in translation.hypotheses]
                click.echo(json.dumps({"hypotheses": hypotheses}, ensure_ascii=False))
            else:
                click.echo("\t".join(each.text for each in translation.hypotheses))


def _as_dictionary(hypothesis):
    fields = {"text": hypothesis.text, "score": hypothesis.score, "tokens": hypothesis.tokens}
    if hypothesis.alignment is not None:
        fields["alignment"] = [
            [round(weight, 4) for weight in row] for row in hypothesis.alignment.tolist()
        ]
    return fields


@click.command()
@MODEL_FOLDER
@click.option("--source", type=click.Path(path_type=Path), required=True)
@click.option("--target", type=click.Path(path_type=Path), required=True)
@click.option("--per-token", is_flag=True, help="Print every wordpiece's, the end token's last.")
@BATCH_SIZE
def score(model_folder, source, target, per_token, batch_size):
    """Print the log-probability, in nats, of each line of a translation by the model in DIR."""
    from aiayn_keras.data import read_parallel

    pairs = read_parallel(source, target)
    model = load_model(model_folder)
    scores = model.score(
        list(pairs.sources), list(pairs.targets), per_token=True, batch_size=batch_size
    )
    for log_probs in scores:
        numbers = log_probs if per_token else [log_probs.sum()]
        click.echo(" ".join(f"{number:.4f}" for number in numbers))


@click.command()
@MODEL_FOLDER
@click.option("--source", type=click.Path(path_type=Path), required=True)
@click.option("--reference", type=click.Path(path_type=Path), required=True)
@click.option(
    "--tokenize",
    "bleu_tokenizer",
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenizer; none for text that is tokenised.",
)
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@BATCH_SIZE
@search_options("num_return_sequences")
def evaluate(model_folder, source, reference, bleu_tokenizer, lowercase, as_json, **options):
    """Translate a file with the model in DIR and print BLEU with sacreBLEU's signature."""
    from aiayn_keras.data import read_parallel
    from aiayn_keras.training.bleu import check_bleu_tokenizer, corpus_bleu

    check_bleu_tokenizer(bleu_tokenizer)
    pairs = read_parallel(source, reference)
    model = load_model(model_folder, num_batches=_num_batches(pairs, options))
    translations = _translate(model, pairs.sources, str(source), **options)
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


def _num_batches(texts, options):
    return -(-len(texts) // options["batch_size"])


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
