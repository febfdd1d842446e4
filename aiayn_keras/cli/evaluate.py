"""`aiayn-keras evaluate`."""

import json
from pathlib import Path

import click

from aiayn_keras.cli.keras_command import KerasCommand
from aiayn_keras.cli.model_folder import MODEL_FOLDER, load_model
from aiayn_keras.cli.search_arguments import BATCH_SIZE, search_options
from aiayn_keras.cli.standard_output import check_standard_output
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
    """Translate a file and print its BLEU and chrF.

    The model is that in DIR; with the scores come sacreBLEU's signatures.
    """
    from aiayn_keras.data import read_parallel
    from aiayn_keras.training.bleu import corpus_bleu, corpus_chrf, try_bleu_tokenizer

    check_standard_output()
    try_bleu_tokenizer(bleu_tokenizer)
    pairs = read_parallel(source, reference)
    model = load_model(model_folder, many_batches=len(pairs) > options["batch_size"])
    translations = translate_file(model, pairs.sources, str(source), **options)
    texts, references = [translation.text for translation in translations], list(pairs.targets)
    bleu = corpus_bleu(texts, references, tokenizer=bleu_tokenizer, lowercase=lowercase)
    chrf = corpus_chrf(texts, references, lowercase)
    if as_json:
        figures = {"bleu": bleu.score, "details": bleu.details, "signature": bleu.signature}
        figures |= {"chrf": chrf.score, "chrf_signature": chrf.signature}
        click.echo(json.dumps({**figures, "sentences": len(pairs)}))
    else:
        click.echo(f"{bleu}\n{chrf}")
