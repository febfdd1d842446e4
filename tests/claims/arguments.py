"""Gives impossible arguments to the public classes and functions, and counts clear refusals.

Run from the repository's root:

    python -m tests.claims.arguments [--cases N] [--seed S]

Every argument of every public constructor, of `translate`, `score` and the exports gets values of
wrong types and sizes, each in a process with limits. Either an error names the argument, or the
answer is right. Exits with 1 if any case fails.
"""

import dataclasses
import functools
import math
import os
import random
import sys
import tempfile

import click
import numpy as np

from tests.claims.folders import MODEL, SOURCE, TRANSLATION
from tests.claims.forked_cases import Case, print_table, run_cases

VALUES = (
    *(None, "", "x", [], {}, (), [1], {"a": 1}, b"x", object, True, False, 1j, "1", -1, 0, 1, 2.0),
    *(0.5, -0.5, 2**31, 2**63, 10**30, -(10**30), math.nan, math.inf, -math.inf, 1e300),
    *(np.float32("nan"), np.int64(-3), np.array([1, 2]), np.array(2)),
)
TEXTS = (
    *(None, "", SOURCE, b"x", 3, {}, {"a"}, {"a": 1}, [None], [3], [b"x"], [["x"]], ["\ud800"]),
    *([SOURCE, None], iter([SOURCE]), object(), np.array([1.5]), np.array([SOURCE]), (SOURCE,)),
    *([], [""], [" "], ["\x00"], ["x" * 100_000], ["\u202e" * 300], [SOURCE] * 3),
)

_NOT_NUMBERS = (
    "activation",
    "attention_bias",
    "normalize_first",
    "tie_weights",
    "logits_bias",
    "position_embedding",
    "long_text",
    "documents",
    "constraint",
)
MESSAGES = {"hidden_dim": "hidden_dim|num_heads", "num_beams": "num_beams|num_return_sequences"}
"""Names that a refusal may contain, if a different argument becomes wrong through this one."""


def refusing(function):
    """Makes a function whose `TypeError`s count as refusals, like its `ValueError`s."""

    def run():
        try:
            result = function()
        except TypeError as error:
            raise ValueError(str(error)) from error
        print(f"{result!r:.200}")

    return run


def is_number(value):
    """Tells whether a value may be valid where a number is expected; None may mean the default."""
    if value is None:
        return True
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return real and math.isfinite(value)


def constructor_cases():
    """Yields cases for every argument of the public constructors."""
    import aiayn_keras
    from aiayn_keras.decoding.search_options import SearchOptions
    from aiayn_keras.export.serving_options import make_serving_options
    from aiayn_keras.models.architecture import OPTIONS

    sizes = {"vocabulary_size": 19, "num_layers": 1, "num_heads": 2, "hidden_dim": 8}

    def backbone(**options):
        return aiayn_keras.TransformerBackbone(**{**sizes, "intermediate_dim": 8, **options})

    loss, schedule = aiayn_keras.LabelSmoothedCrossEntropy, aiayn_keras.WarmupSchedule
    serving = functools.partial(make_serving_options, 128)
    names = {
        backbone: OPTIONS,
        SearchOptions: [field.name for field in dataclasses.fields(SearchOptions)],
        serving: [
            *("max_input_length", "long_text", "documents", "num_beams", "num_return_sequences")
        ],
        aiayn_keras.BeamSampler: ["num_beams", "length_penalty"],
        loss: ["label_smoothing"],
        functools.partial(schedule, 512): ["warmup_steps", "peak_learning_rate"],
        functools.partial(schedule, warmup_steps=10): ["hidden_dim"],
        functools.partial(aiayn_keras.paper_adam, 512): [
            *("warmup_steps", "peak_learning_rate", "gradient_accumulation_steps", "ema_momentum"),
        ],
    }
    for function, arguments in names.items():
        label = getattr(function, "__name__", None) or function.func.__name__
        for name in arguments:
            for value in VALUES:
                run = refusing(functools.partial(function, **{name: value}))
                expected = "either" if name in _NOT_NUMBERS or is_number(value) else "refusal"
                message = MESSAGES.get(name, name)
                yield Case(f"{label}", f"{name}={value!r:.30}", run, expected, message)
        run = refusing(functools.partial(function, nmae=1))
        yield Case(f"{label}", "nmae=1", run, "refusal", "nmae")


def use_model(method, /, *args, **options):
    """Makes a function that calls a method of the shipped model."""

    def run():
        from aiayn_keras import TransformerSeq2SeqLM

        model = TransformerSeq2SeqLM.from_preset(str(MODEL))
        return getattr(model, method)(*args, **options)

    return refusing(run)


def model_cases():
    """Yields cases for texts and for arguments that are not `SearchOptions`."""
    for texts in TEXTS:
        run = use_model("translate", texts)
        yield Case("translate", f"texts={texts!r:.40}", run, "either", "texts|tokens")
        run = use_model("translate_documents", texts, num_beams=1, max_length=1)
        yield Case("translate_documents", f"texts={texts!r:.40}", run, "either", "texts")
        run = use_model("translate", [SOURCE], prefixes=texts)
        yield Case("translate", f"prefixes={texts!r:.40}", run, "either", "prefixes|tokens")
        run = use_model("score", texts, [TRANSLATION])
        yield Case("score", f"sources={texts!r:.40}", run, "either", "sources|tokens")
        run = use_model("score", [SOURCE], texts)
        yield Case("score", f"targets={texts!r:.40}", run, "either", "targets|tokens")
    for value in VALUES:
        for method, args in (("translate", ([SOURCE],)), ("score", ([SOURCE], [TRANSLATION]))):
            run = use_model(method, *args, batch_size=value)
            yield Case(method, f"batch_size={value!r:.30}", run, "either", "batch_size")
        for name in ("ensemble", "progress"):
            run = use_model("translate", [SOURCE], **{name: value})
            yield Case("translate", f"{name}={value!r:.30}", run, "either", name)
        for name in ("version", "precision", "warmup_texts", "card", "max_input_length"):
            run = use_model("export", "out/kit", **{name: value})
            yield Case("export", f"{name}={value!r:.30}", run, "either", name)
        run = use_model("export", "out/kit", value)
        yield Case("export", f"format={value!r:.30}", run, "either", "format")


def make_cases():
    """Makes all cases."""
    return [*constructor_cases(), *model_cases()]


@click.command()
@click.option("--cases", default=700, show_default=True, help="Number of cases, drawn evenly.")
@click.option("--seed", default=0, show_default=True)
@click.option("--group", "groups", multiple=True, help="Only cases of this group; may be repeated.")
def main(cases, seed, groups):
    """Give impossible arguments to public functions, and count clear refusals."""
    from tqdm import tqdm

    import aiayn_keras.export  # noqa: F401 - imported once, for all cases

    every = [case for case in make_cases() if not groups or case.group in groups]
    chosen = sorted(random.Random(seed).sample(range(len(every)), min(cases, len(every))))
    results = list(tqdm(run_cases(every[i] for i in chosen), total=len(chosen)))
    sys.exit(min(1, print_table(results)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["KERAS_HOME"] = home
        main()
