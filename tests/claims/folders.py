"""Damages model folders and kits, and counts what is loaded, refused clearly, or falls through.

Run from the repository's root:

    python -m tests.claims.folders [--cases N] [--seed S]

Every case is a copy of the shipped demo model with one thing wrong. `aiayn-keras translate` or
`aiayn-keras export saved-model` is given it in a process with limits. Nothing of the folder may be
executed, and no other file be read. Exits with 1 if any case falls through.
"""

import functools
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import click

from tests.claims.forked_cases import Case, print_table, run_cases

MODEL = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
FILES = (
    "config.json",
    "task.json",
    "preprocessor.json",
    "tokenizer.json",
    "assets/tokenizer/vocabulary.spm",
    "model.weights.h5",
)
JSON_FILES = FILES[:4]
SOURCE, TRANSLATION = "The girl is happy.", "Das Mädchen ist glücklich."

CONTENTS = (
    *(
        b"",
        b"[]",
        b"null",
        b"3",
        b"{}",
        b'""',
        b"true",
        b"NaN",
        b"{",
        b"\xff\xfe\x00",
        b"\x00" * 99,
    ),
    *(b"[" * 200_000, b'{"a":' * 100_000, b'{"config": {}}', b'{"class_name": null}', b" " * 2**21),
)
VALUES = (
    *(None, [], {}, "x", "", -1, 0, 3, 10**9, 10**18, 10**400, 0.5, -0.5, 1e300, True, False),
    *(float("nan"), float("inf"), "1", "os.system", [1, 2], {"a": 1}, "\ud800", "x" * 10_000),
)
CHANGES_ANSWER = (
    *("activation", "layer_norm_epsilon", "normalize_first", "num_heads", "position_embedding"),
    *("dtype", "add_eos", "add_bos", "sequence_length"),
)
"""Fields that may be given another value that is right, and makes another model."""


def translates_right(output):
    """Returns whether the answer is the model's."""
    return output.strip() == TRANSLATION


def translates(output):
    """Returns whether there is an answer, and it does not hold another file's content."""
    return bool(output.strip()) and "root:" not in output


def damaged(damage, command=("translate",)):
    """Function that damages a copy of the model in the current folder and gives it to a command.

    Args:
        damage: Function of the copy's path.
        command: Arguments of the command before and behind the folder, parted by None.
    """

    def run():
        from aiayn_keras_cli import main

        folder = Path("model")
        shutil.copytree(MODEL, folder)
        (folder / "SHA256SUMS").unlink(missing_ok=True)
        damage(folder)
        Path("source.en").write_text(f"{SOURCE}\n", "utf-8")
        arguments = {
            ("translate",): ["translate", "model", "--input", "source.en"],
            ("export",): ["export", "saved-model", "model", "--output", "out", "--name", "kit"],
        }[command]
        try:
            main(arguments, prog_name="aiayn-keras")
        finally:
            if Path("executed").exists():
                print("Traceback (most recent call last): the folder's code was executed")

    return run


# === JSON ===


def json_cases():
    for name in JSON_FILES:
        for number, content in enumerate(CONTENTS):
            run = damaged(lambda folder, n=name, c=content: (folder / n).write_bytes(c))
            yield Case("another form", f"{name} {number}", run, "refusal", Path(name).name)


def fields_of(value, path=()):
    """Paths of all fields of nested dictionaries."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from fields_of(inner, (*path, key))


def set_field(content, path, value, delete=False):
    """Sets or deletes the field at a path."""
    for key in path[:-1]:
        content = content[key]
    if delete:
        del content[path[-1]]
    else:
        content[path[-1]] = value


def change(name, path, value, delete, folder):
    """Changes a field of a file, and of the other file that holds the same backbone."""
    inner = {"config.json": ("task.json", ("config", "backbone"))}
    for file, prefix in ((name, ()), *([inner[name]] if name in inner else [])):
        content = json.loads((folder / file).read_text("utf-8"))
        set_field(content, (*prefix, *path), value, delete)
        (folder / file).write_text(json.dumps(content), "utf-8")


def field_cases(rng):
    for name in JSON_FILES:
        content = json.loads((MODEL / name).read_text("utf-8"))
        for path in fields_of(content):
            values = rng.sample(range(len(VALUES)), 5)
            for number in (*values, None):
                value = None if number is None else VALUES[number]
                run = damaged(functools.partial(change, name, path, value, number is None))
                check = translates if set(path) & set(CHANGES_ANSWER) else translates_right
                shown = "deleted" if number is None else f"{value!r:.20}"
                yield Case("fields", f"{name} {'.'.join(path)}: {shown}", run, "either", "", check)
        for path in [(), *(p for p in fields_of(content) if p[-1] == "config")]:
            run = damaged(functools.partial(change, name, (*path, "extra"), 1, False))
            yield Case("fields", f"{name} {'.'.join(path)}: extra", run, "refusal", name)


SIZES = ("vocabulary_size", "num_layers", "num_heads", "hidden_dim", "intermediate_dim", "key_dim")


def size_cases():
    for name in (*SIZES, "value_dim", "max_sequence_length"):
        for value in (1, 2, 7, 10**4, 10**6, 10**9, 10**10, 2**31, 2**63, 10**30, -(2**63)):
            path = ("config", name)
            run = damaged(functools.partial(change, "config.json", path, value, False))
            yield Case("sizes", f"{name} {value}", run, "either", "", translates)


OBJECTS = (
    {"module": "builtins", "class_name": "eval", "config": "open('executed', 'w')"},
    {"module": "os", "class_name": "system", "config": {"command": "touch executed"}},
    {"module": "keras.layers", "class_name": "Lambda", "config": {"function": "os.system"}},
    {"module": "subprocess", "class_name": "Popen", "config": {"args": ["touch", "executed"]}},
    {"class_name": "function", "config": "system", "module": "os", "registered_name": "function"},
    {"class_name": "__lambda__", "config": {"value": ["4wEAAAA=", None, None]}},
    "os.system",
    "../../../../etc/passwd",
    "/etc/passwd",
    "https://localhost:1/model",
    "gs://bucket/model",
    "hf://user/model",
)


OBJECT_FIELDS = (
    *("module", "class_name", "registered_name", "config", "proto", "activation", "dtype"),
    *("backbone", "preprocessor", "tokenizer"),
)


def malicious_cases():
    for name in JSON_FILES:
        content = json.loads((MODEL / name).read_text("utf-8"))
        for path in fields_of(content):
            if path[-1] in OBJECT_FIELDS:
                for number, value in enumerate(OBJECTS):
                    run = damaged(functools.partial(change, name, path, value, False))
                    where = f"{name} {'.'.join(path)}: {number}"
                    yield Case("foreign objects", where, run, "either", "", translates)


# === Files ===


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def replace_by_link(target, path):
    path.unlink()
    path.symlink_to(target)


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


def grow(path):
    """A sparse file of 100 GB."""
    with path.open("r+b") as file:
        file.truncate(10**11)


SPECIAL = {
    "pipe": replace_by_pipe,
    "endless device": functools.partial(replace_by_link, "/dev/zero"),
    "random device": functools.partial(replace_by_link, "/dev/urandom"),
    "dangling link": functools.partial(replace_by_link, "nowhere"),
    "link to a password file": functools.partial(replace_by_link, "/etc/passwd"),
    "link to itself": functools.partial(replace_by_link, "."),
    "folder": replace_by_folder,
    "missing": Path.unlink,
    "100 GB": grow,
}


def special_cases():
    for name in FILES:
        for kind, make in SPECIAL.items():
            run = damaged(lambda folder, m=make, n=name: m(folder / n))
            yield Case("special files", f"{name}: {kind}", run, "refusal")


def flip(name, place, folder):
    from aiayn_keras_light.files import write_checksums

    write_checksums(folder)
    content = bytearray((folder / name).read_bytes())
    content[int(place * len(content))] ^= 1 << int(place * 8)
    (folder / name).write_bytes(content)


def flip_cases(rng):
    for name in FILES:
        for _ in range(6):
            run = damaged(functools.partial(flip, name, rng.random()))
            yield Case("a flipped bit", name, run, "refusal", "is not what was written")


def cut(name, share, noise, folder):
    content = bytearray((folder / name).read_bytes())
    if noise:
        start = int(share * len(content))
        content[start : start + 200] = random.Random(noise).randbytes(200)
    else:
        content = content[: int(share * len(content))]
    (folder / name).write_bytes(content)


def cut_cases(rng):
    """No checksums tell what is left; it must be refused or answer something."""
    for name in FILES:
        for number in range(16):
            noise = rng.randrange(1, 10**6) if number % 2 else 0
            run = damaged(functools.partial(cut, name, rng.random(), noise))
            group = "overwritten, unlisted" if noise else "cut short"
            yield Case(group, name, run, "either" if noise else "refusal", "", translates)


# === Weights ===


def weights(change):
    """Damage that changes the open file of weights."""

    def damage(folder):
        import h5py

        with h5py.File(folder / "model.weights.h5", "r+") as file:
            change(file)

    return damage


def weight_cases(rng):
    import h5py
    import numpy as np

    names = []
    with h5py.File(MODEL / "model.weights.h5") as file:
        file.visititems(lambda n, item: names.append(n) if isinstance(item, h5py.Dataset) else None)

    def put(name, value):
        def change(file):
            shape = file[name].shape
            del file[name]
            value(file, name, shape)

        return weights(change)

    def virtual(file, name, shape):
        layout = h5py.VirtualLayout(shape, "float32")
        layout[...] = h5py.VirtualSource("/etc/passwd", "x", shape)
        file.create_virtual_dataset(name, layout)

    def write(make):
        return lambda file, name, shape: file.create_dataset(name, data=make(shape))

    values = {
        "external link": lambda f, n, s: f.__setitem__(n, h5py.ExternalLink("/etc/passwd", "/")),
        "soft link": lambda f, n, s: f.__setitem__(n, h5py.SoftLink("/layers")),
        "virtual": virtual,
        "external": lambda f, n, s: f.create_dataset(
            n, s, "float32", external=[("/etc/passwd", 0, 4 * int(np.prod(s)))]
        ),
        "strings": lambda f, n, s: f.create_dataset(n, s, h5py.string_dtype()),
        "a group": lambda f, n, s: f.create_group(n),
        "the root again": lambda f, n, s: f.__setitem__(n, f["/"]),
        "nothing": lambda f, n, s: None,
        "terabytes": lambda f, n, s: f.create_dataset(
            n, (10**6, 10**6), "float32", chunks=(100, 100), compression="gzip"
        ),
        "transposed": write(lambda s: np.ones((*s[::-1], 1), "float32")),
        "a scalar": write(lambda s: np.float32(1)),
        "empty": write(lambda s: np.zeros((0, *s), "float32")),
        "complex": write(lambda s: np.ones(s, "complex64")),
        "NaN": write(lambda s: np.full(s, np.nan, "float32")),
        "infinite": write(lambda s: np.full(s, -np.inf, "float32")),
        "beyond float32": write(lambda s: np.full(s, 1e300)),
    }
    for kind, value in values.items():
        for name in rng.sample(names, 3):
            yield Case("weights", f"{kind}: {name}", damaged(put(name, value)), "refusal")


# === Tokenizers ===


def other_vocabulary(size, special, folder):
    import io

    import sentencepiece

    model = io.BytesIO()
    texts = (f"{a}{b} {b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx")
    ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, "pad_piece": "<pad>"}
    options = ids if special else {}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=texts, model_writer=model, vocab_size=size, minloglevel=2, **options
    )
    (folder / "assets/tokenizer/vocabulary.spm").write_bytes(model.getvalue())


def tokenizer_cases(rng):
    for size, special in ((40, True), (60, True), (60, False), (100, True)):
        run = damaged(functools.partial(other_vocabulary, size, special))
        yield Case("tokenizers", f"{size} pieces, {special}", run, "refusal")
    for length in (0, 1, 2, 10, 100, 10_000, 300_000, 2**26 + 1):
        for kind in ("random", "zero"):
            content = rng.randbytes(length) if kind == "random" else bytes(length)
            run = damaged(lambda f, c=content: (f / FILES[4]).write_bytes(c))
            yield Case("tokenizers", f"{length} {kind} bytes", run, "refusal", "vocabulary.spm")


# === Export ===


NOTES = (b"", b"[]", b"{}", b"null", b"\xff", b'{"options": {}}', b'{"card": 3}', b"[" * 10**5)
CONFIGS = (
    *(b"model_config_list {", b"\xff\xfe", b"", b"x: 1", b"model_config_list {}", b"}" * 10**5),
    b'model_config_list { config { name: "a" } config { name: "b" } }',
    b'model_config_list { config { version_labels { key: "stable" value: 9 } } }',
)


def kit(notes, config):
    def damage(folder):
        version = Path("out/kit/1/assets.extra")
        version.mkdir(parents=True)
        shipped = MODEL.parent / "demo_en_de" / "1" / "assets.extra" / "export.json"
        (version / "export.json").write_bytes(shipped.read_bytes() if notes is None else notes)
        if config is not None:
            Path("out/kit/models.config").write_bytes(config)

    return damage


def export_cases():
    for number, notes in enumerate(NOTES):
        run = damaged(kit(notes, None), ("export",))
        yield Case("kits", f"notes {number}", run, "refusal", "export.json")
    for number, config in enumerate(CONFIGS):
        run = damaged(kit(None, config), ("export",))
        yield Case("kits", f"models.config {number}", run, "refusal", "models.config")
    for name in ("recipe.yaml", "evaluation.json"):
        for number, content in enumerate(CONTENTS):
            run = damaged(lambda f, n=name, c=content: (f / n).write_bytes(c), ("export",))
            yield Case("left by a training", f"{name} {number}", run, "refusal", name)
        for kind, make in SPECIAL.items():
            if kind not in ("missing", "dangling link"):
                run = damaged(lambda f, m=make, n=name: m(f / n), ("export",))
                yield Case("left by a training", f"{name}: {kind}", run, "refusal")


def unfinished_cases():
    def unfinished(folder):
        (folder / "checkpoints").mkdir()
        (folder / "evaluation.json").unlink()

    for command, reason in (
        ("translate", "no checkpoints"), ("export", "its training is not finished"),
    ):  # fmt: skip
        run = damaged(unfinished, (command,))
        yield Case("unfinished", command, run, "refusal", reason)
    yield Case("whole", "translate", damaged(lambda f: None), "answer", "", translates_right)


def make_cases(seed):
    """All cases of a seed."""
    rng = random.Random(seed)
    return [
        *unfinished_cases(),
        *json_cases(),
        *field_cases(rng),
        *size_cases(),
        *malicious_cases(),
        *special_cases(),
        *flip_cases(rng),
        *cut_cases(rng),
        *weight_cases(rng),
        *tokenizer_cases(rng),
        *export_cases(),
    ]


@click.command()
@click.option("--cases", default=500, show_default=True, help="Number of cases, drawn evenly.")
@click.option("--seed", default=0, show_default=True)
@click.option("--group", "groups", multiple=True, help="Only cases of this group; may be repeated.")
def main(cases, seed, groups):
    """Damage model folders and kits, and see what the commands make of them."""
    from tqdm import tqdm

    import aiayn_keras.export
    import aiayn_keras.training  # noqa: F401 - imported once, for all cases

    every = [case for case in make_cases(seed) if not groups or case.group in groups]
    chosen = sorted(random.Random(seed).sample(range(len(every)), min(cases, len(every))))
    results = list(tqdm(run_cases(every[i] for i in chosen), total=len(chosen)))
    sys.exit(min(1, print_table(results)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["KERAS_HOME"] = home
        main()
