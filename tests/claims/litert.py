"""A model exported to LiteRT gives the logits and greedy translations of the model itself.

Run from the repository's root, with a model folder and a file of texts, one a line:

    python -m tests.claims.litert saved_models/tatoeba_en_es_keras --source FILE

Exports the model with each kind of weights and runs the lines of the README in a process that knows
no TensorFlow, on two threads. Prints the size of the file, seconds for all texts, the greatest
difference of a logit of our own greedy translations, and how many translations are equal to
`translate` with one beam. Exits with 1 if anything of float32 differs, logits by more than 1e-4.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

RUNNER = """
import json, sys, time
import numpy as np

readme, request, answer = sys.argv[1:]
names = {}
exec(readme, names)
start = time.perf_counter()
texts = [names["translate"](text) for text in json.load(open(request))["texts"]]
seconds = time.perf_counter() - start
logits = []
inputs = names["step"].get_input_details()
for source, target in json.load(open(request))["pairs"]:
    details = names["encode"].get_input_details()["token_ids"]
    token_ids = np.zeros(details["shape"], "int32")
    token_ids[0, : len(source)] = source
    memory = names["encode"](token_ids=token_ids)
    cache = {name: np.zeros(inputs[name]["shape"], "float32") for name in inputs
             if name.startswith(("keys", "values"))}
    for position, token in enumerate(target):
        token = np.array([token, position], "int32")
        cache = names["step"](token_id=token[:1], position=token[1:], **memory, **cache)
        logits.append(cache.pop("logits")[0])
assert not {"tensorflow", "keras"} & set(sys.modules)
np.savez(answer, logits=np.stack(logits), texts=texts, seconds=seconds)
"""


def run(folder, texts, pairs, work):
    """Answers of the lines of the README: texts, logits and seconds."""
    readme = re.search("```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.S)[1]
    request, answer = work / "request.json", work / "answer.npz"
    request.write_text(json.dumps({"texts": texts, "pairs": pairs}))
    command = [sys.executable, "-c", RUNNER, readme, str(request), str(answer)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return np.load(answer)


def own_pairs(model, texts, translations):
    """Token ids of sources and of what the decoder reads of their translations."""
    tokenizer = model.preprocessor.tokenizer
    target = tokenizer.of_targets()
    sources = [[*ids, *tokenizer.source_ids] for ids in tokenizer(texts)]
    targets = [[tokenizer.start_token_id, *ids] for ids in target(translations)]
    return list(zip(sources, targets, strict=True))


def own_logits(model, pairs):
    """The model's logits of those pairs, one after the other."""
    import keras

    rows = []
    for source, target in pairs:
        source, target = np.array([source], "int32"), np.array([target], "int32")
        inputs = {
            "encoder_token_ids": source,
            "encoder_padding_mask": np.ones_like(source),
            "decoder_token_ids": target,
            "decoder_padding_mask": np.ones_like(target),
        }
        rows.append(keras.ops.convert_to_numpy(model(inputs))[0])
    return np.concatenate(rows)


@click.command(help=__doc__)
@click.argument("model_folder", type=click.Path(exists=True, path_type=Path))
@click.option("--source", type=click.File(encoding="utf-8"), required=True)
@click.option("--limit", default=200, show_default=True, help="Texts to translate.")
@click.option("--max-input-length", default=64, show_default=True)
def main(model_folder, source, limit, max_input_length):
    from aiayn_keras import TransformerSeq2SeqLM

    texts = [line.strip() for line in source if line.strip()][:limit]
    model = TransformerSeq2SeqLM.from_preset(str(model_folder), dtype="float32")
    start = time.perf_counter()
    found = model.translate(texts, num_beams=1, length_penalty=0.0, batch_size=1, engine="keras")
    click.echo(f"ours: {time.perf_counter() - start:.1f} s for {len(texts)} texts, one at a time")
    expected = [each.text for each in found]
    pairs = own_pairs(model, texts[:20], expected[:20])
    logits = own_logits(model, pairs)
    wrong = False
    for weights in ("float32", "float16", "int8"):
        with tempfile.TemporaryDirectory() as work:
            folder, start = Path(work) / "model", time.perf_counter()
            model.export(folder, "litert", max_input_length=max_input_length, weights=weights)
            exporting = time.perf_counter() - start
            size = (folder / "model.tflite").stat().st_size
            answer = run(folder, texts, pairs, Path(work))
        equal = sum(a == b for a, b in zip(answer["texts"].tolist(), expected, strict=True))
        difference = float(np.abs(answer["logits"] - logits).max())
        click.echo(
            f"{weights}: {size / 1e6:.1f} MB, exported in {exporting:.0f} s, translated in "
            f"{answer['seconds']:.1f} s, greatest difference of {logits.size:,} logits "
            f"{difference:.1e}, equal {equal} of {len(texts)}"
        )
        wrong |= weights == "float32" and (equal != len(texts) or not difference <= 1e-4)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
