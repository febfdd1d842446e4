"""`aiayn-keras evaluate` and `score`: a model compared with given translations."""

import json

import click

from aiayn_keras_cli.options import (
    BATCH_SIZE,
    ENGINE,
    MODEL_FOLDER,
    LocalPath,
    load_model,
    report_engine,
    search_options,
)
from aiayn_keras_cli.running import KerasCommand
from aiayn_keras_cli.streams import check_standard_output
from aiayn_keras_cli.translate import translate_lines

_SOURCE = click.option(
    "--source", type=LocalPath(), required=True, help="File of texts, one per line."
)


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@_SOURCE
@click.option(
    "--reference",
    "reference_files",
    type=LocalPath(),
    required=True,
    multiple=True,
    help="File of their reference translations, line by line. May be repeated, for several "
    "references of each text.",
)
@click.option(
    "--metric",
    "metrics",
    type=click.Choice(["bleu", "chrf", "ter"]),
    multiple=True,
    default=["bleu", "chrf"],
    show_default=True,
    help="Score to print. May be repeated.",
)
@click.option(
    "--tokenize",
    "bleu_tokenizer",
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenizer; none for text that is tokenized already.",
)
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
