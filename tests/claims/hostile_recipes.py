"""Recipes that nobody should train."""

import functools
import os
from importlib import resources
from typing import get_args, get_origin

import yaml

from aiayn_keras.training import Recipe, load_recipe, recipe_names
from tests.claims.forked_cases import MEGABYTE, Case

WRONG_NUMBERS = (
    *(".inf", "-.inf", ".nan", "1e30", "1.0e+30", "-1", "99999999999999999999", "9" * 5_000),
    *("0x" + "f" * 4_000, "1:0" + ":0" * 2_000, "2001-02-30", "text", "''", "{a: 1}", "[1]"),
)
WRONG_VALUES = ("{a: {b: 1}}", "[[], {}]", "*a", "&a 1", "!!python/name:os.system", "[", "\0")


def recipe_cases(rng, folder, model):
    """Yields the cases of all groups of recipes.

    Args:
        rng: `random.Random`.
        folder: Path of a folder for the files.
        model: Path of a model folder, which is not used.
    """
    del model
    for name, text in (*_bombs(), *_wrong_texts(), *_wrong_shapes()):
        path = folder / f"{name}.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        yield Case("YAML", f"{name}, load_recipe", functools.partial(load_recipe, path), "refusal")
        yield Case("YAML", f"{name}, train", ("train", path), "refusal", path.name)
        yield Case("YAML", f"{name}, prepare", ("prepare", path, "--output", "out"), "refusal")
    yield from _special_files(folder)
    for section, field, is_number in _fields():
        for value in WRONG_NUMBERS if is_number else WRONG_VALUES:
            setting = f"{section}.{field}={value}"
            run = functools.partial(load_recipe, "demo", [setting])
            yield Case("recipe fields", setting[:60], run, "refusal", f"{field}|line 1")
    for setting in _wrong_settings():
        run = ("train", "demo", "--set", setting)
        yield Case("settings", setting[:60], run, "refusal")
    for number in range(150):
        path = folder / f"mutant {number}.yaml"
        path.write_bytes(_mutant(rng))
        run = functools.partial(load_recipe, path)
        yield Case("mutated recipes", str(number), run, message=path.name)


def _fields():
    """Section and name of every field, and whether it is a number."""
    for section, info in Recipe.model_fields.items():
        for field, inner in info.annotation.model_fields.items():
            yield section, field, bool(_types(inner.annotation) & {int, float})


def _types(annotation):
    if get_origin(annotation) is None:
        return {annotation}
    return set().union(*map(_types, filter(lambda part: part is not None, get_args(annotation))))


def _bombs():
    """Small files that grow when they are read."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    yield "aliases", "\n".join(levels)
    yield "aliases in a field", "corpus: &a {name: demo}\ntokenizer: *a\n"
    yield "endless alias", "a: &a [*a]\n"
    yield "deep lists", "[" * 100_000
    yield "deep mappings", "{a: " * 100_000
    yield "deep blocks", "".join(f"{' ' * n}a:\n" for n in range(1_000))
    yield "deep dashes", "- " * 50_000
    yield "many values", "a: [" + "1," * 400_000 + "]"
    yield "many keys", "".join(f"k{n}: {n}\n" for n in range(80_000))
    yield "long value", "corpus: {name: " + "x" * 900_000 + "}"
    yield "long number", "corpus: {train_size: " + "9" * 900_000 + "}"
    yield "too large", "#" * (2 * MEGABYTE)
    yield "giant", b"corpus: [\n" + b" " * (100 * MEGABYTE)


def _wrong_texts():
    yield "empty", ""
    yield "NULs", bytes(1_000)
    yield "latin-1", "corpus: {name: Löwe}".encode("latin-1")
    yield "UTF-16", "corpus: {name: demo}".encode("utf-16")
    yield "binary", bytes(range(256))
    yield "twice", "corpus: {name: demo}\ncorpus: {name: demo}\n"
    yield "field twice", "training: {updates: 1, updates: 2}\n"
    yield "documents", "--- {}\n--- {}\n"
    yield "unclosed", "corpus: {name: demo\n"
    yield "tab", "corpus:\n\tname: demo\n"
    yield "tag", "corpus: !!python/object/apply:os.system ['echo executed']\n"
    yield "merge", "corpus: {<<: {name: demo}}\n"
    yield "directive", "%YAML 9.9\n--- {}\n"
    yield "escape", 'corpus: {name: "\\ud800"}\n'
    yield "date", "corpus: {name: 2001-02-30}\n"


def _wrong_shapes():
    for name, value in {
        "null": None, "number": 3, "list": [], "text": "demo", "mapping": {}, "nested": [[{}]],
        "boolean": True, "number as key": {1: 2}, "null as key": {None: 1}, "unknown": {"x": {}},
    }.items():  # fmt: skip
        yield f"recipe is {name}", yaml.safe_dump(value)
        for section in Recipe.model_fields:
            if value != {}:
                yield f"{section} is {name}", yaml.safe_dump({section: value})


def _special_files(folder):
    os.mkfifo(folder / "pipe.yaml")
    (folder / "zero.yaml").symlink_to("/dev/zero")
    (folder / "folder.yaml").mkdir()
    for name in ("pipe.yaml", "zero.yaml", "folder.yaml", "nowhere.yaml"):
        for command in (("train",), ("prepare", "--output", "out")):
            run = (*command, folder / name)
            yield Case("YAML", f"{name}, {command[0]}", run, "refusal", name)


def _wrong_settings():
    yield from ("", "=", ".", "a", "a=", "a.b", ".=1", "a.=1", ".b=1", "=1", "corpus=1", "x.y=1")
    yield from ("corpus.name.x=1", "corpus.train=a.tsv", "corpus.train=[]", "corpus.train=[1]")
    yield from ("corpus.train=[a, b, c]", "corpus.name=[demo]", "training.updates=", "a.b=[")
    yield from ("training.update=1", "\x1b[31m.x=1", "\udcff.x=1", "a\nb.c=1", "x" * 100_000)
    yield from (f"corpus.{'x' * 50_000}=1", f"corpus.name={'x' * 50_000}", "corpus.name=nowhere")
    yield from ("corpus.shards=/dev/zero", "corpus.shards=nowhere", "corpus.shards=.")
    yield "model.hidden_dim=99999"


def _mutant(rng):
    """A recipe that ships, with some bytes, lines or words changed."""
    name = rng.choice(recipe_names())
    path = resources.files("aiayn_keras.training") / "recipes" / f"{name}.yaml"
    text = path.read_bytes()
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text))
        change = rng.choice((_replace, _insert, _cut, _swap_lines, _repeat_line))
        text = change(rng, text, place)
    return text


def _replace(rng, text, place):
    return text[:place] + bytes([rng.randrange(256)]) + text[place + 1 :]


def _insert(rng, text, place):
    parts = (b"\0", b": ", b"- ", b"[", b"}", b"&a ", b"*a", b"!!", b"'", b"\t", b"\n", b"9" * 30)
    return text[:place] + rng.choice(parts) + text[place:]


def _cut(rng, text, place):
    return text[:place] + text[place + rng.randint(1, 20) :] or b"\n"


def _swap_lines(rng, text, place):
    del place
    lines = text.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _repeat_line(rng, text, place):
    del place
    lines = text.split(b"\n")
    return b"\n".join([*lines, rng.choice(lines)])
