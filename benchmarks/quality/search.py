"""BLEU and time of a trained model against beam size and length penalty.

Run from the repository's root, where `aiayn_keras` is installed:

    python -m benchmarks.quality.search --model DIR --source FILE --reference FILE --output JSON

Translates FILE with every pair of `BEAMS` and `ALPHAS` (paper 6.1: beam 4, α = 0.6) and writes the
machine, sacreBLEU's signature and a row for each pair: `num_beams`, `length_penalty`, `bleu`,
`length_ratio` (words in the translations per word in the references) and `seconds` for the whole
file. The text must already be tokenised. Each search first translates a few sentences, which
compiles it; that is not counted.
"""

import json
import os
import time
from pathlib import Path

import click
from tqdm import tqdm

from benchmarks.report import machine, markdown_table

BEAMS = (1, 2, 3, 4, 5, 8, 16)
ALPHAS = (0.0, 0.6, 1.0)
FIRST = 4  # sentences to compile with


def measure(model, sources, references, num_beams, alpha):
    """One row of the result, and sacreBLEU's signature."""
    import sacrebleu

    model.translate(sources[:FIRST], num_beams, alpha)
    start = time.perf_counter()
    texts = [translation.text for translation in model.translate(sources, num_beams, alpha)]
    seconds = time.perf_counter() - start
    bleu = sacrebleu.BLEU(tokenize="none", force=True)
    result = bleu.corpus_score(texts, [references])
    row = {
        "num_beams": num_beams,
        "length_penalty": alpha,
        "bleu": result.score,
        "length_ratio": result.sys_len / result.ref_len,
        "seconds": seconds,
    }
    return row, str(bleu.get_signature())


def table(rows):
    """Markdown of the rows."""
    cells = [
        [
            str(row["num_beams"]),
            f"{row['length_penalty']:.1f}",
            f"{row['bleu']:.2f}",
            f"{row['length_ratio']:.3f}",
            f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]
    return markdown_table(["beams", "α", "BLEU", "length ratio", "time, s"], cells)


@click.command()
@click.option("--model", "folder", required=True, help="Model folder.")
@click.option("--source", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--reference", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True)
@click.option("--limit", type=click.IntRange(min=1), help="Use only the first lines.")
def main(folder, source, reference, output, limit):
    """Measure BLEU and time of every beam size and length penalty."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from aiayn_keras import TransformerSeq2SeqLM
    from aiayn_keras.data import read_lines

    sources, references = read_lines(source)[:limit], read_lines(reference)[:limit]
    model = TransformerSeq2SeqLM.from_preset(folder)
    points = [(num_beams, alpha) for num_beams in BEAMS for alpha in ALPHAS]
    rows = []
    for num_beams, alpha in tqdm(points, desc="searches", disable=None):
        row, signature = measure(model, sources, references, num_beams, alpha)
        rows.append(row)
    results = {
        "machine": machine(),
        "sentences": len(sources),
        "signature": signature,
        "rows": rows,
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    click.echo(f"{results['machine']}; {len(sources)} sentences; {signature}\n\n{table(rows)}")
    click.echo(f"\nWritten: {output}")


if __name__ == "__main__":
    main()
