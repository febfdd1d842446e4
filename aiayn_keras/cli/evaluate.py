"""`aiayn-keras evaluate`."""

import json
from pathlib import Path

import click

from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.cli.quiet_start import KerasCommand
from aiayn_keras.cli.search_arguments import BATCH_SIZE, search_options
from aiayn_keras.cli.translated_texts import translate_file


@click.command(cls=KerasCommand)
@MODEL_FOLDER
@click.option(
    "--source", type=click.Path(path_type=Path), required=True, help="File of texts, one a line."
)
@click.option(
    "--reference",
    type=click.Path(path_type=Path),
    required=True,
    help="File of their reference translations, line by line.",
)
@click.option(
    "--tokenize",
    "bleu_tokenizer",
    default="13a",
    show_default=True,
    help="sacreBLEU's tokenizer; none for text that is tokenized.",
)
@click.option("--lowercase", is_flag=True, help="Ignore case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@BATCH_SIZE
@search_options("num_return_sequences")
def evaluate(model_folder, source, reference, bleu_tokenizer, lowercase, as_json, **options):
    """Translate a file and print its BLEU.

    The model is that in DIR; with the score comes sacreBLEU's signature.
    """
    from aiayn_keras.data import read_parallel
    from aiayn_keras.training.bleu import corpus_bleu, try_bleu_tokenizer

    try_bleu_tokenizer(bleu_tokenizer)
    pairs = read_parallel(source, reference)
    model = load_model(model_folder, many_batches=len(pairs) > options["batch_size"])
    translations = translate_file(model, pairs.sources, str(source), **options)
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
