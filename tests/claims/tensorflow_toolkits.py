"""Random models that OpenNMT-tf and tensor2tensor write themselves come in unchanged.

Run from the repository's root, with Pythons of environments that have the toolkits, which need an
older TensorFlow than ours:

    python3.11 -m venv FOLDER
    FOLDER/bin/pip install 'OpenNMT-tf[tensorflow]==2.32.0'
    FOLDER/bin/pip install --no-deps tensor2tensor==1.15.7 tf-slim
    FOLDER/bin/pip install future sympy pypng mesh-tensorflow scipy
    python -m tests.claims.tensorflow_toolkits --opennmt-tf FOLDER/bin/python \
        --tensor2tensor FOLDER/bin/python

For each model: the greatest difference of a logit, how many greedy translations are equal up to
the length where ours is made to end, how many of those by 4 beams that end before, and the file's
size. Exits with 1 if a logit differs by more than 1e-4 or a greedy translation at all. (Beams are
searched in other ways: those of OpenNMT-tf keep the hypotheses that have ended; tensor2tensor's end
by any of 2·W candidates, ours by one of the best W.)
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import numpy as np

MAX_DIFFERENCE = 1e-4
PENALTIES = {"opennmt_tf": 0.0, "tensor2tensor": 0.6}


def words_of(toolkit, tokens):
    """Tokens as our texts write them."""
    words = tokens.split() if isinstance(tokens, str) else tokens
    return [word.replace(" ", "␠") for word in words] if toolkit == "tensor2tensor" else words


def convert(toolkit, folder, expected):
    """Our model of a toolkit's."""
    from aiayn_keras.convert import convert_opennmt_tf, convert_tensor2tensor

    function = {"opennmt_tf": convert_opennmt_tf, "tensor2tensor": convert_tensor2tensor}[toolkit]
    paths = [folder / name for name in expected["vocabularies"]]
    return function(folder, *paths, **expected["options"])


def greatest_difference(model, logits, sources, targets, expected, vocabulary):
    """Of a logit of any token that both have."""
    import keras

    tokenizer, greatest = model.preprocessor.tokenizer, 0.0
    their_ids = [expected["end"], *(expected["first"] + i for i in range(len(vocabulary)))]
    our_ids = [3, *(tokenizer.of_targets()([word])[0][0] for word in vocabulary)]
    for source, target, theirs in zip(sources, targets, logits, strict=True):
        inputs = {}
        for side, ids in (
            ("encoder", [*tokenizer(source), *tokenizer.source_ids]),
            ("decoder", [2, *tokenizer.of_targets()(target)]),
        ):
            inputs[f"{side}_token_ids"] = np.array([ids], "int32")
            inputs[f"{side}_padding_mask"] = np.ones((1, len(ids)), "int32")
        ours = keras.ops.convert_to_numpy(model(inputs))[0]
        difference = np.abs(ours[:, our_ids] - theirs[: len(ours), their_ids]).max()
        greatest = max(greatest, float(difference))
    return greatest


def compare(toolkit, folder):
    """Prints a row of the table; returns whether the models are the same."""
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    model = convert(toolkit, folder, expected)
    sources, targets = (
        [" ".join(words_of(toolkit, tokens)) for tokens in expected[name]]
        for name in ("sources", "targets")
    )
    path = folder / expected["vocabularies"][-1]
    lines = path.read_text("utf-8").splitlines()[expected["first"] :]
    tokens = [line[1:-1] for line in lines] if toolkit == "tensor2tensor" else lines
    vocabulary = words_of(toolkit, tokens)
    logits = np.load(folder / "logits.npy")
    difference = greatest_difference(model, logits, sources, targets, expected, vocabulary)
    cells, is_same = [f"{difference:.1e}"], difference <= MAX_DIFFERENCE
    for num_beams, found in expected["translations"].items():
        theirs = [words_of(toolkit, tokens) for tokens in found]
        ours = model.translate(
            sources,
            num_beams=int(num_beams),
            length_penalty=PENALTIES[toolkit],
            min_length=0,
            max_length=expected["most_tokens"],
            engine="keras",
        )
        limit = expected["most_tokens"] - 1  # at which ours is made to end
        ended = [i for i, words in enumerate(theirs) if num_beams == "1" or len(words) <= limit]
        equal = sum(ours[i].text.split()[:limit] == theirs[i][:limit] for i in ended)
        cells.append(f"{equal} of {len(ended)}, {len(set(map(tuple, theirs)))} kinds")
        is_same &= num_beams != "1" or equal == len(ended)
    size = sum(file.stat().st_size for file in folder.glob("*.data-*"))
    click.echo(f"| {toolkit} | {folder.name} | {' | '.join(cells)} | {size:,} |")
    return is_same


@click.command()
@click.option("--opennmt-tf", type=click.Path(exists=True, path_type=Path))
@click.option("--tensor2tensor", type=click.Path(exists=True, path_type=Path))
def main(**pythons):
    """Compare models of OpenNMT-tf and tensor2tensor with what becomes of them."""
    click.echo("| toolkit | model | logits | greedy | 4 beams | bytes |\n|---|---|---|---|---|---|")
    results = []
    for toolkit, python in pythons.items():
        if python is None:
            continue
        with tempfile.TemporaryDirectory() as name:
            writer = Path(__file__).with_name(f"{toolkit}_model.py")
            command = [python.absolute(), writer, name]
            process = subprocess.run(command, capture_output=True, text=True, check=False)
            if process.returncode:
                raise click.ClickException(process.stderr[-2000:])
            results += [compare(toolkit, folder) for folder in sorted(Path(name).iterdir())]
    sys.exit(not results or not all(results))


if __name__ == "__main__":
    main()
