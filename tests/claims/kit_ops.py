"""Lists the operations that graphs of the export use, whatever the model and the options.

`python -m tests.claims.kit_ops` exports small models with all options, for minutes, and writes
`aiayn_keras/common/kit_ops.txt` and the same list into `saved_models/translate.py`. `--check` says
what is not in the list instead.
"""

import inspect
import re
import tempfile
from pathlib import Path

import click

from aiayn_keras.common import kit_files
from aiayn_keras.common.kit_files import OPS_FILE, known_ops, read_meta_graph, used_ops

FILE = Path(kit_files.__file__).with_name(OPS_FILE)
PROGRAM = Path(__file__).parents[2] / "saved_models" / "translate.py"
HEADER = "# Written by tests/claims/kit_ops.py.\n"
WORDS = ["cat", "dog", "sat", "the", "(S", "(NP", ")S", ")NP", "XX"]
SENTENCES = ["The cat sat. The dog sat, too!", "One, two: three?", "Eine Katze saß dort."]
LEARNED_LENGTH = 20
SMALL = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}


def build_tokenizer(kind):
    """A small vocabulary: of sentences, of sentences and bytes, or of words and brackets."""
    from aiayn_keras.convert.tokenizers import build_word_model
    from aiayn_keras.models import TransformerTokenizer

    if kind == "brackets":
        return TransformerTokenizer(build_word_model([None] * 4 + WORDS))
    if kind == "sentences":
        tokenizer = TransformerTokenizer.train(SENTENCES, 90, normalization="nmt_nfkc")
        tokenizer.learned_length = LEARNED_LENGTH
        return tokenizer
    two = TransformerTokenizer.train(
        *(SENTENCES, 340),
        byte_fallback=True,
        target_texts=SENTENCES,
        target_normalization="identity",
    )
    return TransformerTokenizer(
        *(two.proto, two.target_proto),
        source_end=False,
        copy_without_letters=True,
        learned_length=LEARNED_LENGTH,
    )


def build_model(tokenizer="sentences", quantization=None, **options):
    """A small model; `tokenizer` is the kind of its vocabulary."""
    from aiayn_keras.models import (
        TransformerBackbone,
        TransformerSeq2SeqLM,
        TransformerSeq2SeqLMPreprocessor,
    )

    tokenizer = build_tokenizer(tokenizer)
    options = {**SMALL, "max_sequence_length": 64, **options}
    backbone = TransformerBackbone(tokenizer.vocabulary_size(), **options)
    model = TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 16, 16))
    if quantization is not None:
        model.quantize(quantization)
    return model


ALL_OPTIONS = {
    "coverage_penalty": 0.2,
    "no_repeat_ngram_size": 2,
    "num_return_sequences": 2,
    "documents": True,
    "long_text": "error",
}
OF_ANOTHER_MODEL = {
    "tokenizer": "bytes",
    "attention_bias": True,
    "normalize_first": True,
    "tie_weights": False,
    "logits_bias": True,
    "position_embedding": "learned",
    "key_dim": 3,
    "value_dim": 5,
    "activation": "gelu",
}


def cases():
    """Pairs of a model's arguments and an export's, which between them have every option."""
    from aiayn_keras.decoding.constraints import TokenAutomaton

    automaton = TokenAutomaton.of_sequences([[5, 6], [7]])
    yield {}, {"documents": True}
    yield OF_ANOTHER_MODEL, ALL_OPTIONS
    yield {"num_layers": 2}, {"num_beams": 1, "length_penalty": 0.0, "min_length": 0}
    yield {}, {"weights": "float16", "max_length": 9, "length_penalty_offset": 0}
    yield {"dtype": "bfloat16"}, ALL_OPTIONS
    yield {"dtype": "mixed_bfloat16", **OF_ANOTHER_MODEL}, {"documents": True}
    yield {"dtype": "float16"}, {}
    yield {"position_embedding": "given"}, {"constraint": automaton}
    yield {"tokenizer": "brackets"}, {"constraint": "brackets", "max_length": 9}
    for quantization in ("int8", "int4"):
        yield {"quantization": quantization}, {"documents": True}


def ops_of_case(model_arguments, export_arguments):
    """The names of the operations in one export's graph."""
    import tensorflow as tf

    from aiayn_keras.export.saved_model import WEIGHTS
    from aiayn_keras.export.served_translator import build_served_translator
    from aiayn_keras.export.serving_options import make_serving_options

    model = build_model(**model_arguments)
    weights = WEIGHTS[export_arguments.get("weights", "float32")](model)
    options = {name: value for name, value in export_arguments.items() if name != "weights"}
    options = make_serving_options(model.backbone.max_sequence_length, **options)
    module, signatures = build_served_translator(model, options, weights)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=signatures)
        return set(used_ops(read_meta_graph(Path(folder)).graph_def))


def ops_of_activations():
    """The operations of all of Keras' activations; a model may have any."""
    import keras
    import tensorflow as tf

    found = set()
    for name in dir(keras.activations):
        activation = getattr(keras.activations, name)
        if not inspect.isfunction(activation) or name in ("deserialize", "get", "serialize"):
            continue
        _, *options = inspect.signature(activation).parameters.values()
        if any(option.default is option.empty for option in options):  # not one of a name alone
            continue
        for dtype in ("float32", "bfloat16"):
            spec = tf.TensorSpec((None, 3, 4), dtype)
            graph = tf.function(activation).get_concrete_function(spec).graph.as_graph_def()
            found |= set(used_ops(graph))
    return found


def ops_of_kits():
    """The operations of the kits in the repository, which earlier versions have written."""
    kits = [path.parent for path in PROGRAM.parent.glob("*/*/saved_model.pb")]
    return {op for kit in kits for op in used_ops(read_meta_graph(kit).graph_def)}


def all_ops(echo=lambda text: None):
    """The operations of all cases together."""
    found = ops_of_activations() | ops_of_kits()
    for case in cases():
        ops = ops_of_case(*case)
        new = sorted(ops - found)
        echo(f"{case}: {len(ops)} operations, of which new: {', '.join(new)}")
        found |= ops
    return found


def write(ops):
    """Writes the list, also into `saved_models/translate.py`, which runs without the package."""
    FILE.write_text(HEADER + "".join(f"{op}\n" for op in sorted(ops)), "utf-8")
    lines, line = [], ""
    for op in sorted(ops):
        if len(line) + len(op) > 90:
            lines, line = [*lines, line], ""
        line = f"{line} {op}".lstrip()
    text = '"""\n' + "\n".join([*lines, line]) + '\n"""'
    program = PROGRAM.read_text("utf-8")
    program = re.sub(r'(?<=^KNOWN_OPS = )""".*?"""', lambda _: text, program, flags=re.S | re.M)
    PROGRAM.write_text(program, "utf-8")


@click.command(help=__doc__)
@click.option("--check", is_flag=True, help="Compare the list instead of writing it.")
def main(check):
    ops = all_ops(click.echo)
    if check:
        missing, unused = sorted(ops - known_ops()), sorted(known_ops() - ops)
        print(f"not in the list: {', '.join(missing) or 'none'}; unused: {', '.join(unused)}")
        raise SystemExit(1 if missing or unused else 0)
    write(ops)
    print(f"{FILE}: {len(ops)} operations")


if __name__ == "__main__":
    main()
