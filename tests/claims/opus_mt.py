"""Models in the shape of OPUS-MT's come in from Hugging Face's files and leave as a kit unchanged.

Run from the repository's root, with the tokenizer and configuration of a real model (`config.json`,
`source.spm`, `target.spm`, `vocab.json`) and a file of texts in its source language, one a line:

    python -m tests.claims.opus_mt FOLDER --source FILE [--small] [--no-kit]

There are no trained weights: `transformers` makes random ones, of the real size or small ones, and
writes the files that are then converted. Prints how many texts become the same token ids, the
greatest difference of a logit, how many greedy and beam-4 hypotheses are equal, how long they took,
and how many texts a kit of the model, run by TensorFlow alone in a process of its own, translates
into the same strings as our `translate`. Hypotheses of several beams are compared where the
library's end within 20 tokens: those cut off there are ranked in other ways. Exits with 1 if
anything differs, or if nothing could be compared.
"""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

ROOT = Path(__file__).parents[2]
SMALL = {"d_model": 64, "ffn_dim": 96, "layers": 2, "attention_heads": 4}
BATCH_SIZE = 20
MAX_TOKENS = 20
SMALL_END_BIAS, END_BIAS = 2.5, 3.5
"""Added to the end token's logit, so that many translations end within `MAX_TOKENS`."""

SHARPER, QUIETER = 2.5, 0.6
"""Factors for queries and keys, and for outputs of sublayers, of a deep model: with random weights
its attentions would be even, and all its translations alike."""

TRANSLATE = ROOT / "saved_models" / "translate.py"


def write_model(real, folder, small):
    """Writes a model of random weights beside copies of the real tokenizer's files."""
    from tests.convert.marian_models import save_random_model

    for name in ("source.spm", "target.spm", "vocab.json", "tokenizer_config.json"):
        shutil.copy(real / name, folder)
    config = json.loads((real / "config.json").read_text())
    if small:
        sizes = {f"{side}_{name}": size for side in ("encoder", "decoder")
                 for name, size in SMALL.items() if name != "d_model"}  # fmt: skip
        config |= sizes | {"d_model": SMALL["d_model"], "num_hidden_layers": SMALL["layers"]}
    config["forced_eos_token_id"] = None
    save_random_model(folder, config, functools.partial(randomize, small=small), seed=0)


def randomize(model, small):
    """Gives activations and logits the size of a trained model's, and lets translations end."""
    import torch

    for name, weight in model.named_parameters():
        if weight.ndim == 1:
            weight.add_(0.1 * torch.randn_like(weight))
        elif "shared" in name:
            weight.mul_(40 * weight.shape[1] ** -0.5)
        else:
            weight.copy_(torch.randn_like(weight) * weight.shape[-1] ** -0.5)
        if not small and weight.ndim == 2 and ("q_proj" in name or "k_proj" in name):
            weight.mul_(SHARPER)
        if not small and weight.ndim == 2 and ("out_proj" in name or "fc2" in name):
            weight.mul_(QUIETER)
    bias = model.final_logits_bias
    bias.add_(0.5 * torch.randn_like(bias))
    bias[0, model.config.eos_token_id] += SMALL_END_BIAS if small else END_BIAS


class Comparison:
    """The model of the library and ours, beside each other."""

    def __init__(self, folder):
        from transformers import MarianMTModel, MarianTokenizer

        from aiayn_keras.convert import convert_marian
        from aiayn_keras.convert.marian import read_marian_vocabulary

        start = time.perf_counter()
        self.ours = convert_marian(folder)
        click.echo(f"converted in {time.perf_counter() - start:.1f} s")
        self.theirs = MarianMTModel.from_pretrained(folder).eval()
        self.tokenizer = MarianTokenizer.from_pretrained(folder)
        self.table = json.loads((folder / "vocab.json").read_text())
        self.vocabulary = read_marian_vocabulary(folder, len(self.table))

    def count_equal_ids(self, texts):
        """Number of texts that become the same ids."""
        ours = self.ours.preprocessor.tokenizer(texts)
        theirs = self.tokenizer(texts)["input_ids"]
        rows, end = self.vocabulary.rows, self.table["</s>"]
        pairs = zip(ours, theirs, strict=True)
        return sum([*rows[a].tolist(), end] == b if a else b == [end] for a, b in pairs)

    def greatest_difference(self, texts):
        """Of any logit of the tokens that both have."""
        import keras
        import torch

        vocabulary, random = self.vocabulary, np.random.default_rng(0)
        inputs = self.tokenizer(texts, return_tensors="pt", padding=True)
        targets = np.concatenate(
            [np.full((len(texts), 1), 2), random.integers(4, 1000, (len(texts), 9))], axis=1
        )
        with torch.no_grad():
            ids = torch.tensor(vocabulary.rows[targets])
            expected = self.theirs(**inputs, decoder_input_ids=ids).logits.numpy()
        sources = self.ours.preprocessor.tokenizer(texts)
        encoder_ids = np.zeros(inputs["input_ids"].shape, "int32")
        for row, source in zip(encoder_ids, sources, strict=True):
            row[: len(source) + 1] = [*source, 3]
        logits = self.ours(
            {
                "encoder_token_ids": encoder_ids,
                "encoder_padding_mask": inputs["attention_mask"].numpy(),
                "decoder_token_ids": targets,
                "decoder_padding_mask": np.ones_like(targets),
            }
        )
        written = vocabulary.is_written
        actual = keras.ops.convert_to_numpy(logits)[:, :, written]
        return float(np.abs(actual - expected[:, :, vocabulary.rows[written]]).max())

    def translate(self, texts, num_beams):
        """Translations by ours and by the library, and whether the library's have ended."""
        began = time.perf_counter()
        # transformers may also end at once.
        lengths = {"min_length": 0, "max_length": MAX_TOKENS}
        found = self.ours.translate(texts, num_beams, 0.0, engine="keras", **lengths)
        click.echo(f"{num_beams} beams: {time.perf_counter() - began:.1f} s, compiling included")
        began, expected, has_ended = time.perf_counter(), [], []
        for start in range(0, len(texts), BATCH_SIZE):
            batch = texts[start : start + BATCH_SIZE]
            inputs = self.tokenizer(batch, return_tensors="pt", padding=True)
            ids = self.theirs.generate(
                **inputs,
                num_beams=num_beams,
                length_penalty=0.0,
                max_length=MAX_TOKENS + 1,
                bad_words_ids=[[self.table["<pad>"]], [self.table["<unk>"]]],
            )
            expected += self.tokenizer.batch_decode(ids, skip_special_tokens=True)
            has_ended += (ids == self.table["</s>"]).any(dim=1).tolist()
        click.echo(f"  transformers: {time.perf_counter() - began:.1f} s")
        return [translation.text for translation in found], expected, has_ended


def translate_by_kit(model, folder, texts):
    """Translations by a kit, in a process that knows only TensorFlow."""
    options = {"num_beams": 4, "length_penalty": 0.0, "min_length": 0, "max_length": MAX_TOKENS}
    path = model.export(folder / "kit", **options)
    command = [sys.executable, str(TRANSLATE), str(path)]
    process = subprocess.run(
        command, input="\n".join(texts) + "\n", capture_output=True, text=True, check=True
    )
    return [line.lstrip().partition("  ")[2] for line in process.stdout.splitlines()]


@click.command(help=__doc__)
@click.argument("real", type=click.Path(exists=True, path_type=Path))
@click.option("--source", type=click.File(encoding="utf-8"), required=True)
@click.option("--small", is_flag=True, help="Layers and widths of a small model.")
@click.option("--limit", default=200, show_default=True, help="Texts to translate.")
@click.option("--kit/--no-kit", default=True)
def main(real, source, small, limit, kit):
    texts = [line.strip() for line in source if line.strip()]
    few = texts[:limit]
    with tempfile.TemporaryDirectory() as folder:
        write_model(real, Path(folder), small)
        size = (Path(folder) / "model.safetensors").stat().st_size
        click.echo(f"model.safetensors: {size / 1e6:.1f} MB")
        comparison = Comparison(Path(folder))
        equal = comparison.count_equal_ids(texts)
        click.echo(f"equal token ids: {equal} of {len(texts)}")
        difference = comparison.greatest_difference(few[:8])
        click.echo(f"greatest difference of a logit: {difference:.1e}")
        wrong = equal != len(texts) or difference > 1e-4
        for num_beams in (1, 4):
            ours, theirs, has_ended = comparison.translate(few, num_beams)
            compared = [i for i in range(len(few)) if num_beams == 1 or has_ended[i]]
            equal, kinds = sum(ours[i] == theirs[i] for i in compared), len(set(ours))
            click.echo(f"equal with {num_beams} beams: {equal} of {len(compared)}, {kinds} kinds")
            wrong |= equal != len(compared) or not compared
        if kit:
            served = translate_by_kit(comparison.ours, Path(folder), few)
            equal = sum(a == b for a, b in zip(served, ours, strict=True))
            click.echo(f"equal by the kit: {equal} of {len(few)}")
            wrong |= equal != len(few)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
