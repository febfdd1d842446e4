"""A kit translates like the model folder it was made from: best, n-best and documents.

Run from the repository's root with a model folder, its kit, and a file with one text per line:

    python -m tests.claims.served_texts saved_models/tatoeba_en_es_keras \
        saved_models/tatoeba_en_es/1 --source FILE

Translates all texts with `translate` (best, n-best) and `translate_documents` (ten lines per
document), and with the kit's signatures, once in a process that only has TensorFlow and once in a C
program that links TensorFlow's C library (skipped with `--no-c`). Prints for each how many answers
differ in text, and the maximum difference between scores. Exits with 1 if a text differs.
"""

import sys
import tempfile
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm

LINES_OF_DOCUMENT = 10
BATCH_SIZE = 600
OP_LIBRARIES = ("_sentencepiece_tokenizer.so", "_state_based_sentence_breaker_op.so")


def expected_answers(model, texts, documents, num_hypotheses):
    """Returns the model's own answers: a pair of texts and scores for each signature."""
    nbest = model.translate(texts, num_return_sequences=num_hypotheses, engine="keras")
    whole = model.translate_documents(documents)
    return {
        "serving_default": ([each.text for each in nbest], [each.score for each in nbest]),
        "translate_nbest": (
            [[h.text for h in each.hypotheses] for each in nbest],
            [[h.score for h in each.hypotheses] for each in nbest],
        ),
        "translate_document": ([each.text for each in whole], [each.score for each in whole]),
    }


OUTPUTS = {
    "serving_default": ("translation", "score"),
    "translate_nbest": ("translations", "scores"),
    "translate_document": ("translation", "score"),
}


def answers_of(call, signature, texts):
    """Returns the texts and scores of a signature, called in batches."""
    found = ([], [])
    starts = range(0, len(texts), BATCH_SIZE)
    for start in tqdm(starts, desc=signature, disable=None, leave=False):
        answer = call(signature, texts[start : start + BATCH_SIZE])
        for name, values in zip(OUTPUTS[signature], found, strict=True):
            values.extend(np.asarray(answer[name]).tolist())
    return found


def compare(expected, found):
    """Returns the number of texts that differ, and the maximum difference between scores."""
    texts = zip(expected[0], found[0], strict=True)
    differing = sum(ours != theirs for ours, theirs in texts)
    scores = np.abs(np.asarray(expected[1]) - np.asarray(found[1]))
    return differing, float(scores.max())


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.argument("kit", type=click.Path(exists=True, path_type=Path))
@click.option("--source", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--c/--no-c", "with_c", default=True)
def main(folder, kit, source, with_c):
    """Compare the answers of a kit with those of a model folder."""
    from aiayn_keras import TransformerSeq2SeqLM
    from aiayn_keras.data import read_lines
    from aiayn_keras.export.serving_options import VERSION_FILE, read_notes
    from tests.export.c_client import build_c_client, run_c_client
    from tests.export.served import call_in_fresh_process

    texts = read_lines(source)
    starts = range(0, len(texts), LINES_OF_DOCUMENT)
    documents = ["\n".join(texts[start : start + LINES_OF_DOCUMENT]) for start in starts]
    number = read_notes(kit / VERSION_FILE).options["num_return_sequences"]
    model = TransformerSeq2SeqLM.from_preset(str(folder))
    expected = expected_answers(model, texts, documents, number)

    def ask_process(signature, batch):
        return call_in_fresh_process(kit, signature, text=list(batch))

    clients = {"a process with TensorFlow alone": ask_process}
    with tempfile.TemporaryDirectory() as build:
        if with_c:
            program = build_c_client(build)
            clients["a C program"] = lambda signature, batch: run_c_client(
                program, kit, signature, {"text": np.array(batch, dtype=object)}, OP_LIBRARIES
            )
        num_differing = 0
        for client, call in clients.items():
            for signature, ours in expected.items():
                asked = documents if signature == "translate_document" else texts
                differing, maximum = compare(ours, answers_of(call, signature, asked))
                num_differing += differing
                click.echo(
                    f"{client}, {signature}: {differing} of {len(asked)} answers differ in text, "
                    f"scores by at most {maximum:.1e}"
                )
    sys.exit(num_differing > 0)


if __name__ == "__main__":
    main()
