"""`aiayn-keras check`: faults of a parallel text, and a copy without them."""

import contextlib
import gzip
import itertools
import json
from pathlib import Path

import click

from aiayn_keras_cli.options import LocalPath
from aiayn_keras_cli.running import KerasCommand
from aiayn_keras_cli.streams import check_standard_output

_KINDS = (
    *("unreadable", "empty", "duplicate", "near_duplicate", "copy", "language", "script"),
    *("ratio", "numbers", "placeables", "markup", "mojibake", "entities", "invisible", "leak"),
)
"""Keys of `aiayn_keras.data.checking.KINDS`, which takes seconds to import; a test makes sure that
they are the same."""
_MAX_EXAMPLES = 3
_MAX_TEXT = 60

_CORPUS = click.argument(
    "corpus", nargs=-1, required=True, metavar="TSV|SOURCE TARGET|RECIPE.yaml", type=str
)


def _held_out(name):
    return click.option(
        f"--{name}",
        multiple=True,
        metavar="FILE",
        help=f"Text for {name}, whose sentences must not be in the corpus: a TSV file, or the "
        "option twice, for two files.",
    )


def _language(side):
    return click.option(
        f"--{side}-language",
        metavar="CODE",
        help=f"Language of the {side}s, such as en. Default: that of most of them.",
    )


def text_options(command):
    """Gives a command the arguments of `read_texts`, and the languages."""
    for option in (
        _language("target"),
        _language("source"),
        _held_out("test"),
        _held_out("validation"),
        _CORPUS,
    ):
        command = option(command)
    return command


@click.command(cls=KerasCommand)
@text_options
@click.option(
    "--ignore",
    multiple=True,
    type=click.Choice(_KINDS),
    help="Kind of faults not to look for. May be repeated.",
)
@click.option(
    "--clean",
    "cleaned",
    multiple=True,
    type=LocalPath(dir_okay=False),
    help="Write a cleaned copy: a TSV file, or the option twice, for two files.",
)
@click.option(
    "--list",
    "listed",
    type=LocalPath(dir_okay=False),
    help="Write all findings to a file, in JSON lines.",
)
@click.option("--json", "as_json", is_flag=True, help="Print counts and all findings as JSON.")
def check(
    corpus,
    validation,
    test,
    source_language,
    target_language,
    ignore,
    cleaned,
    listed,
    as_json,
):
    """Find faults in a parallel text.

    The text is a TSV file, two files, or that of a recipe. The command reports lines that cannot be
    read, repeated and nearly repeated pairs, untranslated copies, wrong languages and scripts,
    unusual lengths, different numbers, markup, mojibake, HTML entities, invisible characters, and
    sentences of the validation and test text. A cleaned copy has the pairs without faults, and
    those whose characters could be mended.
    """
    from aiayn_keras.data.checking import check_pairs
    from aiayn_keras_light.text_files import as_json_line

    check_standard_output()
    texts = read_texts(corpus, validation, test)
    _check_outputs(cleaned, listed, texts)
    languages = (
        source_language or texts.languages[0],
        target_language or texts.languages[1],
    )
    checked = check_pairs(texts.train, texts.held_out, languages, ignore, progress_of_pairs)
    texts_of = dict(zip(texts.train.lines, texts.train.text, strict=True))
    if listed is not None:
        rows = (as_json_line(_as_row(finding, texts_of)) for finding in checked.findings)
        write_file(listed, "".join(f"{row}\n" for row in rows))
    if cleaned:
        _write_cleaned(cleaned, checked.cleaned)
    if as_json:
        click.echo(json.dumps(_as_json(checked, texts_of), ensure_ascii=False))
    else:
        _show(checked, texts_of, cleaned)


# ---- Reading ----


class Texts:
    """The texts of a command.

    Args:
        files: Tuple of the training files.
        held_out: Dictionary from `"validation"` and `"test"` to their files.
        languages: Languages that a recipe names, or `None`s.
    """

    def __init__(self, files, held_out, languages=(None, None)):
        from aiayn_keras.common.file_addresses import is_url
        from aiayn_keras.data.parallel_text import read_pairs_and_bad_lines

        self.files, self.held_out_files, self.languages = files, held_out, languages
        try:
            self.train = read_pairs_and_bad_lines(*files)
            self.held_out = {
                name: read_pairs_and_bad_lines(*paths) for name, paths in held_out.items()
            }
        except FileNotFoundError as error:
            names = itertools.chain(files, *held_out.values())
            if not any(is_url(name) or "*" in name for name in names):
                raise
            raise FileNotFoundError(
                f"{error} Patterns and URLs cannot be checked: copy and join their files, for "
                "example with `cat`."
            ) from None


def read_texts(corpus, validation, test):
    """Reads the texts that the arguments of `text_options` name, as `Texts`."""
    if len(corpus) == 1 and corpus[0].endswith((".yaml", ".yml")):
        return _texts_of_recipe(corpus[0], validation or test)
    if len(corpus) > 2:
        raise click.UsageError(
            f"Give one TSV file, two files of aligned lines, or a recipe. Received {len(corpus)}: "
            f"{' '.join(corpus[:4])}."
        )
    held_out = {"validation": validation, "test": test}
    for name, files in held_out.items():
        if len(files) > 2:
            raise click.UsageError(f"Give --{name} once, for a TSV file, or twice, for two files.")
    return Texts(corpus, {name: files for name, files in held_out.items() if files})


def _texts_of_recipe(path, has_options):
    from aiayn_keras.training import load_recipe

    if has_options:
        raise click.UsageError("Leave out --validation and --test: the recipe names them.")
    section = load_recipe(path).corpus
    if section.name is not None or section.tree_leaves is not None:
        raise ValueError(f"{path}: only text files can be checked, not a corpus by name or trees.")
    held_out = {"validation": section.validation, "test": section.test}
    languages = section.source_language, section.target_language
    return Texts(
        section.train, {name: files for name, files in held_out.items() if files}, languages
    )


def progress_of_pairs(text):
    """Yields the pairs of a text, and shows how many are done."""
    from aiayn_keras_light.progress import SECONDS_BETWEEN_LINES, open_progress

    with contextlib.closing(
        open_progress(SECONDS_BETWEEN_LINES, iterable=text, unit=" pairs", desc="checking ")
    ) as bar:
        yield from bar


# ---- Writing ----


def _check_outputs(cleaned, listed, texts):
    if len(cleaned) > 2:
        raise click.UsageError("Give --clean once, for a TSV file, or twice, for two files.")
    if len(set(cleaned)) < len(cleaned):
        raise click.UsageError("Give two different files with --clean.")
    files = itertools.chain(texts.files, *texts.held_out_files.values())
    read = {Path(file).resolve() for file in files}
    for path in (*cleaned, *([listed] if listed else ())):
        if path.resolve() in read:
            raise click.UsageError(f"{path} is being checked: choose another file to write.")


def write_file(path, text):
    """Writes a text file, packed if its name ends in .gz, and the folder that it is in."""
    from aiayn_keras_light.files import atomic_path

    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8")
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def as_tsv(pairs):
    """Writes pairs as tab-separated lines."""
    from aiayn_keras_light.text_files import without_breaks

    rows = ("\t".join(map(without_breaks, pair)) for pair in pairs)
    return "".join(f"{row}\n" for row in rows)


def _write_cleaned(paths, pairs):
    if len(paths) == 1:
        write_file(paths[0], as_tsv(pairs))
        return
    for path, side in zip(paths, (0, 1), strict=True):
        write_file(path, "".join(f"{pair[side]}\n" for pair in pairs))


def _as_row(finding, texts_of):
    row = {"line": finding.line, "kind": finding.kind, "reason": finding.reason}
    row["mended"] = finding.is_mended
    if finding.line in texts_of:
        row["source"], row["target"] = texts_of[finding.line]
    return row


def _as_json(checked, texts_of):
    return {
        "name": checked.name,
        "lines": checked.num_lines,
        "languages": [side.language for side in checked.sides],
        "scripts": [list(side.scripts) for side in checked.sides],
        "counts": checked.counts(),
        "faulty": checked.num_faulty(),
        "cleaned": len(checked.cleaned),
        "mended": checked.num_mended(),
        "findings": [_as_row(finding, texts_of) for finding in checked.findings],
    }


def _show(checked, texts_of, cleaned):
    from aiayn_keras.data.checking import KINDS

    click.echo(describe_text(checked))
    for kind, count in checked.counts().items():
        share = 100 * count / checked.num_lines
        click.echo(f"\n{count:>9,} {KINDS[kind]} ({kind}, {share:.2f} %)")
        examples = [finding for finding in checked.findings if finding.kind == kind]
        for finding in examples[:_MAX_EXAMPLES]:
            pair = texts_of.get(finding.line)
            shown = f"  {_cut(pair[0])} | {_cut(pair[1])}" if pair else ""
            click.echo(f"          line {finding.line:,}: {_cut(finding.reason)}{shown}")
    click.echo(
        f"\n{checked.num_lines - checked.num_faulty():,} of {checked.num_lines:,} lines are "
        "without a finding."
    )
    if checked.findings:
        files = " and ".join(map(str, cleaned)) or "A cleaned copy (--clean FILE)"
        verb = "has" if len(cleaned) < 2 else "have"
        mended = f"{checked.num_mended():,} of them mended"
        click.echo(f"{files} {verb} {len(checked.cleaned):,} pairs, {mended}.")


def describe_text(checked):
    """Describes the size, languages and scripts of a checked text in one line."""
    sides = [
        f"{side.language or 'no one language'} ({'+'.join(side.scripts) or 'no letters'})"
        for side in checked.sides
    ]
    tagged = [
        f"{side.language or 'no one language'} behind {tag or 'no tag'}"
        for tag, side in checked.tagged.items()
    ]
    tags = f" ({', '.join(tagged)})" if tagged else ""
    return f"{checked.name}: {checked.num_lines:,} lines, {' → '.join(sides)}{tags}."


def _cut(text):
    """Shortens a text for one line of a terminal, and makes it printable."""
    printable = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )
    return printable if len(printable) <= _MAX_TEXT else f"{printable[: _MAX_TEXT - 1]}…"
