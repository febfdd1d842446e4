"""The BLEU that a perfect model could reach, by the normalization of its targets.

    python -m benchmarks.quality.writable tests/data/writable/zh.txt --tokenize zh

A tokenizer writes a text as its rules have rewritten it. Each file has one target a line.
"""

from pathlib import Path

import click

from aiayn_keras.models.text_normalization import NORMALIZATIONS, normalizer
from aiayn_keras.training import corpus_bleu


@click.command(help=__doc__)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--tokenize", default="13a", show_default=True, help="sacreBLEU's tokenizer.")
def main(files, tokenize):
    for path in files:
        targets = path.read_text("utf-8").splitlines()
        for name in NORMALIZATIONS:
            written = list(map(normalizer(name), targets))
            changed = sum(old != new for old, new in zip(targets, written, strict=True))
            bleu = corpus_bleu(written, targets, tokenizer=tokenize).score
            print(f"{path.stem} {name:12} {changed} of {len(targets)} changed, {bleu:.1f} BLEU")


if __name__ == "__main__":
    main()
