"""A model exported to Hugging Face's Marian translates real sentences as ours does.

Run from the repository's root, with a model folder and a file of texts in its source language, one
a line, or of such texts and their translations with a tab between them:

    python -m tests.claims.hf_marian saved_models/tatoeba_en_es_keras \\
        --source ../shared/data/tatoeba-spa-eng/spa.txt

Exports the model, loads it with `transformers`, and prints how many texts become the same token ids
and are decoded to the same text, the greatest difference of a logit, how many greedy and beam-4
translations are equal, the size of the weights' file, and the seconds that each took. Exits with 1
if anything differs.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

NUM_TEXTS = 1000
BATCH_SIZE = 20
NUM_SCORED = 32
MAX_DIFFERENCE = 1e-4


def read_texts(file, seed=0):
    """At most `NUM_TEXTS` distinct texts, drawn from the first column of a file."""
    texts = sorted({line.split("\t")[0].strip() for line in file} - {""})
    return random.Random(seed).sample(texts, min(NUM_TEXTS, len(texts)))


class Comparison:
    """Our model and its export, loaded by transformers."""

    def __init__(self, model, folder):
        from transformers import AutoTokenizer, MarianMTModel

        self.ours, self.our_tokenizer = model, model.preprocessor.tokenizer
        self.theirs = MarianMTModel.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def count_equal_ids(self, texts):
        """Number of texts with the same ids, and the number whose ids are decoded to one text."""
        ours, theirs = self.our_tokenizer(texts), self.tokenizer(texts)["input_ids"]
        decoded = self.tokenizer.batch_decode(theirs, skip_special_tokens=True)
        texts = self.our_tokenizer.detokenize(ours)
        same_ids = sum([*a, 3] == b for a, b in zip(ours, theirs, strict=True))
        return same_ids, sum(a == b for a, b in zip(decoded, texts, strict=True))

    def greatest_difference(self, texts):
        """Of any logit, with the translations of texts by our model as targets."""
        import keras
        import torch

        targets = [
            translation.text for translation in self.ours.translate(texts, 1, 0.0, engine="keras")
        ]
        pairs = {"encoder_text": texts, "decoder_text": targets}
        arrays = {
            name: keras.ops.convert_to_numpy(array)
            for name, array in self.ours.preprocessor(pairs)[0].items()
        }
        with torch.no_grad():
            expected = self.theirs(
                torch.tensor(arrays["encoder_token_ids"]),
                torch.tensor(arrays["encoder_padding_mask"]),
                torch.tensor(arrays["decoder_token_ids"]),
            ).logits.numpy()
        is_real = arrays["decoder_padding_mask"] > 0
        actual = keras.ops.convert_to_numpy(self.ours(arrays))
        return float(np.abs(actual - expected)[is_real].max())

    def translate(self, texts, num_beams):
        """Translations by transformers, each with our limit of its length, in order."""
        import torch

        pieces = [len(ids) for ids in self.our_tokenizer(texts)]
        order, found = sorted(range(len(texts)), key=pieces.__getitem__), [None] * len(texts)
        for start in range(0, len(order), BATCH_SIZE):
            rows = order[start : start + BATCH_SIZE]
            batch = [texts[row] for row in rows]
            inputs = self.tokenizer(batch, return_tensors="pt", padding=True)
            length = inputs["input_ids"].shape[1] + 51
            with torch.no_grad():
                ids = self.theirs.generate(**inputs, num_beams=num_beams, max_length=length)
            decoded = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
            for row, text in zip(rows, decoded, strict=True):
                found[row] = text
        return found


def timed(function, *arguments):
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start


def compare_translations(comparison, texts, num_beams):
    """Prints and returns how many translations differ."""
    theirs, their_seconds = timed(comparison.translate, texts, num_beams)
    ours, our_seconds = timed(comparison.ours.translate, texts, num_beams, 0.0)
    pairs = zip(texts, theirs, [translation.text for translation in ours], strict=True)
    different = [pair for pair in pairs if pair[1] != pair[2]]
    click.echo(
        f"equal with {num_beams} beams: {len(texts) - len(different)} of {len(texts)}; "
        f"transformers {their_seconds:.1f} s, ours {our_seconds:.1f} s, compiling included"
    )
    for text, their_text, our_text in different:
        click.echo(f"  {text}\n    theirs: {their_text}\n    ours:   {our_text}")
    return len(different)


@click.command(help=__doc__)
@click.argument("model_folder", type=click.Path(exists=True, path_type=Path))
@click.option("--source", type=click.File(encoding="utf-8"), required=True)
@click.option("--limit", default=200, show_default=True, help="Texts to translate.")
def main(model_folder, source, limit):
    import aiayn_keras.export  # noqa: F401 - adds the format
    from aiayn_keras.models import TransformerSeq2SeqLM

    texts = read_texts(source)
    model = TransformerSeq2SeqLM.from_preset(str(model_folder))
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = timed(model.export, Path(folder) / model_folder.name, "hf_marian")
        size = (path / "model.safetensors").stat().st_size
        click.echo(f"exported in {seconds:.1f} s: model.safetensors of {size / 1e6:.1f} MB")
        comparison = Comparison(model, path)
        ids, decoded = comparison.count_equal_ids(texts)
        click.echo(f"equal token ids: {ids} of {len(texts)}; decoded alike: {decoded}")
        difference = comparison.greatest_difference(texts[:NUM_SCORED])
        click.echo(f"greatest difference of a logit: {difference:.1e}")
        wrong = min(ids, decoded) < len(texts) or difference > MAX_DIFFERENCE
        for num_beams in (1, 4):
            wrong |= compare_translations(comparison, texts[:limit], num_beams) > 0
    sys.exit(wrong)


if __name__ == "__main__":
    main()
