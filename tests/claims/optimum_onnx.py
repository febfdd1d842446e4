"""optimum translates by what `export onnx` writes, greedily and with four beams.

Run from the repository's root, with a folder of packages (optimum needs an older transformers than
this project) and a file of sentences in the model's source language, one a line:

    pip install --no-deps --target FOLDER "transformers<4.58" "tokenizers<0.23" \
        "huggingface-hub<1" "optimum==2.1.*" "optimum-onnx==0.1.*"
    python -m tests.claims.optimum_onnx MODEL --packages FOLDER --source FILE [--sentences 100]

Exports the model in float32 and int8, and gives `ORTModelForSeq2SeqLM` one padded batch, in a
process of its own. Prints how many translations equal those of `translate` without length penalty.
Exits with 1 if one in float32 differs.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import click

BEAMS = 1, 4
PROGRAM = """
import json, sys

from optimum.onnxruntime import ORTModelForSeq2SeqLM
from transformers import AutoTokenizer

folder, beams, texts = sys.argv[1], json.loads(sys.argv[2]), json.load(sys.stdin)
tokenizer, model = (each.from_pretrained(folder) for each in (AutoTokenizer, ORTModelForSeq2SeqLM))
inputs = tokenizer(texts, return_tensors="pt", padding=True)
written = [model.generate(**inputs, num_beams=n, length_penalty=0.0) for n in beams]
print(json.dumps([tokenizer.batch_decode(each, skip_special_tokens=True) for each in written]))
"""


def translate_by_optimum(folder, packages, texts):
    """Translations for each number of beams."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(BEAMS)],
        input=json.dumps(texts),
        env={**os.environ, "PYTHONPATH": str(packages.resolve()), "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(result.stdout.splitlines()[-1])


@click.command()
@click.argument("model_folder", metavar="MODEL", type=click.Path(exists=True, path_type=Path))
@click.option("--packages", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--source", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--sentences", type=int, default=100, show_default=True)
def main(model_folder, packages, source, sentences):
    from aiayn_keras import TransformerSeq2SeqLM

    lines = source.read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if line.strip()][:sentences]
    model = TransformerSeq2SeqLM.from_preset(str(model_folder))
    wanted = [model.translate(texts, n, 0.0, engine="keras") for n in BEAMS]
    failed = not texts
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("float32", "int8"):
            written = model.export(Path(folder) / weights, format="onnx", weights=weights)
            found = translate_by_optimum(written, packages, texts)
            for num_beams, ours, theirs in zip(BEAMS, wanted, found, strict=True):
                equal = sum(a.text == b for a, b in zip(ours, theirs, strict=True))
                print(f"{weights}, {num_beams} beams: {equal} of {len(texts)} equal")
                failed |= weights == "float32" and equal < len(texts)
    return failed


if __name__ == "__main__":
    sys.exit(main(standalone_mode=False))
