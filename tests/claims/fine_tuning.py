"""Fine-tunes the English-Spanish model on the messages of this machine's programs, and measures.

`python -m tests.claims.fine_tuning` takes the translations that programs brought with them
(`/usr/share/locale/es`, some 30,000 messages on a Debian machine), trains
`saved_models/tatoeba_en_es_keras` on 10,000 of them: whole, whole with everyday sentences mixed in
(`corpus.mix`), and with adapters of several ranks. It prints a Markdown table: BLEU on other
messages and on everyday sentences (of Tatoeba's test text).
Exits with 1 if after a training the messages are no better than before.
"""

import gettext
import hashlib
import random
import re
import sys
import tempfile
from pathlib import Path

import click

from aiayn_keras.data import ParallelText, load_corpus, read_parallel
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training import RunFolder, evaluate_bleu, load_recipe, train

INITIAL = Path(__file__).parents[2] / "saved_models" / "tatoeba_en_es_keras"
LOCALE = Path("/usr/share/locale/es/LC_MESSAGES")
SIZES = {"train": 10_000, "validation": 100, "test": 400}
EVERYDAY = 500
SEED = 1
RECIPE = """
corpus: {{train: [{0}/train.tsv], validation: [{0}/validation.tsv], test: [{0}/test.tsv]}}
model: {{initial: {1}}}
batches: {{tokens_per_batch: 2048, packing: true}}
optimizer: {{warmup_steps: 30, peak_learning_rate: 0.0005}}
training:
  updates: 150
  checkpoint_every: 50
  bleu_every: 150
  average_checkpoints: 1
  keep: average
  precision: bfloat16_products
"""
ADAPTED = "optimizer.peak_learning_rate=0.003"
"""Adapters take a greater rate than weights that are trained already."""


def read_messages(folder):
    """Pairs of one line and three to twenty-five words, no two alike, of all catalogues."""
    pairs = {}
    for path in sorted(Path(folder).glob("*.mo")):
        with path.open("rb") as file:
            catalogue = gettext.GNUTranslations(file)._catalog
        for key, target in catalogue.items():
            source = key.split("\x04")[-1].strip() if isinstance(key, str) else ""
            target = target.strip()
            if not path.stem.startswith("iso") and _is_sentence(source, target):
                pairs.setdefault(_plain(source), (source, target))
    targets = {_plain(target): source for source, (_, target) in pairs.items()}
    return [pairs[source] for source in sorted(targets.values())]


def _is_sentence(source, target):
    words = re.findall(r"[^\W\d_]{2,}", source)
    is_line = not re.search(r"[\n\t]", source + target)
    has_shortcut = re.search(r"[_&](?=\w)", source)
    return is_line and target and source != target and 3 <= len(words) <= 25 and not has_shortcut


def _plain(text):
    return re.sub(r"\W+", " ", text.lower()).strip()


def write_split(pairs, folder):
    """Writes TSV files of `SIZES`, each drawn from a share of the pairs that is its own."""
    shares = {"test": [], "validation": [], "train": []}
    for pair in pairs:
        place = hashlib.sha256(_plain(pair[0]).encode()).digest()[0]
        name = "test" if place < 20 else "validation" if place < 36 else "train"
        shares[name].append(pair)
    for name, size in SIZES.items():
        drawn = random.Random(SEED).sample(shares[name], min(size, len(shares[name])))
        text = "".join(f"{source}\t{target}\n" for source, target in drawn)
        (folder / f"{name}.tsv").write_text(text, "utf-8")


def everyday_sentences():
    """A part of Tatoeba's test text."""
    test = load_corpus("tatoeba-en-es").test
    pairs = random.Random(SEED).sample(list(test), EVERYDAY)
    return ParallelText(*zip(*pairs, strict=True), name="everyday")


def fine_tune(folder, name, settings, updates):
    """Trains the model; returns the result, and the file of the adapters if there are any."""
    settings = [f"training.{field}={updates}" for field in ("updates", "bleu_every")] + settings
    settings.append(f"training.checkpoint_every={updates}")
    run = RunFolder(folder / name.replace(" ", "-"))
    return train(load_recipe(folder / "recipe.yaml", settings), run.path), run.adapters


def trainings(ranks, shares):
    """Maps names of trainings to their settings."""
    mixed = {
        f"all weights, {share:.0%} everyday text mixed in": [
            f"corpus.mix={{name: tatoeba-en-es, share: {share}}}"
        ]
        for share in shares
    }
    adapted = {f"adapters of rank {rank}": [f"model.lora_rank={rank}", ADAPTED] for rank in ranks}
    return {"all weights": [], **mixed, **adapted}


@click.command()
@click.option("--locale", type=click.Path(exists=True), default=LOCALE, show_default=True)
@click.option("--rank", "ranks", type=int, multiple=True, default=(4, 8, 16), show_default=True)
@click.option("--share", "shares", type=float, multiple=True, default=(0.5,), show_default=True)
@click.option("--updates", default=150, show_default=True, help="Of each training.")
@click.option("--precision", default="bfloat16_products", show_default=True)
def main(locale, ranks, shares, updates, precision):
    """Fine-tune the English-Spanish model on messages of programs."""
    everyday, model = everyday_sentences(), TransformerSeq2SeqLM.from_preset(str(INITIAL))
    with tempfile.TemporaryDirectory(prefix="fine-tuning-") as name:
        folder = Path(name)
        write_split(read_messages(locale), folder)
        (folder / "recipe.yaml").write_text(RECIPE.format(folder, INITIAL), "utf-8")
        search = load_recipe(folder / "recipe.yaml").evaluation
        before = evaluate_bleu(model, read_parallel(folder / "test.tsv"), search).score
        unchanged = evaluate_bleu(model, everyday, search).score
        click.echo("| model | messages | everyday | bytes of the adapters |\n|---|---|---|---|")
        click.echo(f"| initial | {before:.1f} | {unchanged:.1f} | |")
        scores = []
        for name, settings in trainings(ranks, shares).items():
            settings.append(f"training.precision={precision}")
            result, adapters = fine_tune(folder, name, settings, updates)
            scores.append(result.bleu.score)
            after = evaluate_bleu(result.model, everyday, search).score
            size = f"{adapters.stat().st_size:,}" if adapters.exists() else ""
            click.echo(f"| {name} | {scores[-1]:.1f} | {after:.1f} | {size} |")
    sys.exit(int(min(scores) <= before))


if __name__ == "__main__":
    main()
