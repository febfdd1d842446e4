"""Invalid command lines and standard input."""

import click

from aiayn_keras_cli import main
from tests.claims.forked_cases import MEGABYTE, Case

WRONG_INTEGERS = (
    "-1",
    "99999999999999999999",
    "1e9",
    "nan",
    "1.5",
    "",
    "x",
    "0x10",
    "--",
    "9" * 5_000,
)
WRONG_FLOATS = ("-1", "nan", "inf", "-inf", "1e400", "1e30", "", "x")
TOO_MUCH = {
    "num_beams": ("100000",),
    "num_return_sequences": ("100000", "5"),
    "no_repeat_ngram_size": ("99999",),
    "min_length": ("99999999",),
    "max_length": ("99999999",),
    "batch_size": ("99999999",),
    "workers": ("99999999",),
    "last": ("99999999",),
    "vocabulary_size": ("2",),
    "version": ("0",),
    "deadline": ("0",),
}
SENTENCE = "The girl is happy.\n"
TRANSLATION = "Das Mädchen ist glücklich.\n"


def argument_cases(rng, folder, model):
    """Yields the cases of all groups of arguments.

    Args:
        rng: `random.Random`.
        folder: Path of a folder for the files.
        model: Path of a model folder.
    """
    good = folder / "good.en"
    good.write_text(SENTENCE, "utf-8")
    for name, arguments in _complete_commands(model, good):
        for option, value in _wrong_options(_command(name)):
            others = [word for word in arguments if not str(word).startswith(option)]
            run = (*name.split(), f"{option}={value}", *others)
            yield Case("options", f"{name} {option}={value[:30]}", run, "refusal", stdin=good)
    yield from _wrong_commands(rng, model)
    yield from _standard_inputs(folder, model)
    yield from _tokenizers(model, good)
    yield from _answers(folder, model, good)


def _complete_commands(model, good):
    """Yields every command with the arguments that it needs."""
    yield "translate", (model, "--input", good)
    yield "evaluate", (model, "--source", good, "--reference", good)
    yield "score", (model, "--source", good, "--target", good)
    yield "info", ("transformer_tiny",)
    yield "prepare", ("demo", "--output", "out")
    yield "average", (model, "--output", "out")
    yield "request", ("--deadline=2", "http://127.0.0.1:1", "demo")
    yield "export saved-model", (model, "--output", "out")


def _command(name):
    command = main
    for word in name.split():
        command = command.commands[word]
    return command


def _wrong_options(command):
    """Yields the numeric options of a command with invalid values."""
    for option in command.params:
        if isinstance(option.type, click.types.FloatParamType):
            values = WRONG_FLOATS
        elif isinstance(option.type, click.types.IntParamType):
            values = WRONG_INTEGERS
        else:
            continue
        for value in (*values, *TOO_MUCH.get(option.name, ())):
            yield option.opts[-1], value


def _wrong_commands(rng, model):
    """Yields unknown commands, and commands with unknown arguments."""
    words = ["--", "-", "", "\0", "\x1b[31m", "\udcff", "x" * 100_000, "--help=1", "--x", "-1", "ÿ"]
    commands = [*main.commands, "trian", "export nothing"]
    for number in range(60):
        command = rng.choice(commands).split()
        arguments = rng.choices(words, k=rng.randint(1, 4))
        if command == ["train"] or rng.random() < 0.5:
            arguments.append("--nothing")
        yield Case("command lines", str(number), (*command, *arguments), "refusal")
    for preset in ("transformer_bsae", "", ".", "/dev/zero", "a\0b", "x" * 100_000, "\x1b[31m"):
        yield Case("command lines", f"info {preset[:20]!r}", ("info", preset), "refusal")
    for name in ("14a", "", "\0", "../x", "x" * 10_000):
        run = ("evaluate", model, "--source", "a", "--reference", "a", "--tokenize", name)
        yield Case("command lines", f"--tokenize {name[:20]!r}", run, "refusal", "okenizer")


def _standard_inputs(folder, model):
    """Yields streams that must end in an error, and some that are odd but valid."""
    streams = {
        "giant line": (b"x" * (30 * MEGABYTE), "refusal", "line 1: .*1,000,000 bytes"),
        "giant second line": (b"\n" + bytes(5 * MEGABYTE), "refusal", "line 2: .*1,000,000 bytes"),
        "latin-1": (b"\n\ncaf\xe9\n", "refusal", "line 3 is not UTF-8"),
        "UTF-16": ("\ufeffone\n".encode("utf-16"), "refusal", "line 1: not UTF-8, but UTF-16"),
        "too many tokens": (b"bus " * 100_000, "refusal", "line 1"),
        "nothing": (b"", "answer", ""),
        "empty lines": (b"\n" * 5_000, "answer", ""),
    }
    for name, (data, expected, message) in streams.items():
        path = folder / f"stream {name}"
        path.write_bytes(data)
        lines = data.count(b"\n")
        check = lambda output, lines=lines: output == "\n" * lines  # noqa: E731
        run = ("translate", model, "--long-text", "error")
        yield Case("standard input", name, run, expected, message, check, stdin=path)
    yield Case("standard input", "request", ("request", "http://127.0.0.1:1", "demo"), "answer")
    path = folder / "stream giant line"
    run = ("request", "http://127.0.0.1:1", "demo")
    yield Case("standard input", "request, giant line", run, "refusal", "bytes", stdin=path)
    run = ("request", "http://127.0.0.1:1", "demo", "--input", "/dev/zero")
    yield Case("standard input", "request, endless file", run, "refusal", "regular")


def _tokenizers(model, good):
    """Yields tokenizers of sacreBLEU that need a download or a missing package."""
    for name in ("flores200", "flores101", "spm", "ja-mecab", "ko-mecab"):
        run = ("evaluate", model, "--source", good, "--reference", good, "--tokenize", name)
        yield Case("tokenizers", name, run, message="network|install")


def _answers(folder, model, good):
    """Yields valid input with its right answer."""
    yield _answer("plain", ("translate", model, "--input", good), TRANSLATION)
    odd = folder / "odd.en"
    odd.write_bytes(b"\xef\xbb\xbf" + SENTENCE.strip().encode() + b"\r\n\n")
    yield _answer("mark", ("translate", model, "--input", odd), f"{TRANSLATION}\n")
    beginning = folder / "beginning"
    beginning.write_text("Das\n", "utf-8")
    run = ("translate", model, "--input", good, "--prefixes", beginning)
    yield _answer("prefixes", run, TRANSLATION)


def _answer(name, run, right):
    return Case("answers", name, run, "answer", check=lambda output: output == right)
