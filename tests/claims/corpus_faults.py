"""Faults planted in Tatoeba, and how many of them `aiayn_keras.data.checking` finds.

Run from the repository's root, with AIAYN_KERAS_DATA:

    python -m tests.claims.corpus_faults --pairs 20000 --faults 204

Plants the same number of faults of each kind in a random part of Tatoeba, English to Spanish, and
prints for each kind how many were found, how many of them under their own name, and how many other
lines were reported. Tatoeba has faults of its own; the other lines are printed, to be judged by a
reader. Exits with 1 if more than a tenth of a kind's faults are not found.
"""

import argparse
import collections
import dataclasses
import html
import random
import re
import sys
import tempfile
from pathlib import Path

_MIN_WORDS = 5
_GERMAN = (
    "Ein kleiner Junge läuft über die Straße.",
    "Zwei Frauen stehen vor einem roten Haus.",
    "Der Hund springt in das kalte Wasser.",
    "Viele Menschen warten auf den nächsten Zug.",
    "Ich habe gestern ein neues Buch gekauft.",
)
_RUSSIAN = (
    "Маленький мальчик бежит через дорогу.",
    "Две женщины стоят перед красным домом.",
    "Собака прыгает в холодную воду.",
    "Вчера я купил новую книгу.",
)
_INVISIBLE = ("\u200b", "\ufeff", "\u00ad", "\u2060", "\u200e", "\u0007")


@dataclasses.dataclass
class Corpus:
    """A text with planted faults.

    Attributes:
        lines: The lines of its TSV file, as bytes.
        planted: Dictionary from the number of a line to the kind of its fault.
        test: Pairs of the test text.
    """

    lines: list
    planted: dict
    test: list


def plant(pairs, test, num_faults, seed=0):
    """Plants faults of all kinds in copies of pairs.

    Args:
        pairs: List of pairs.
        test: List of pairs whose sentences are not in the others.
        num_faults: Number of faults.
        seed: Seed of the choice.

    Returns:
        A `Corpus`.
    """
    rng = random.Random(seed)
    rows = [(None, "\t".join(pair).encode()) for pair in pairs]
    long = [pair for pair in pairs if min(len(side.split()) for side in pair) >= _MIN_WORDS]
    for number in range(num_faults):
        kind = list(PLANTS)[number % len(PLANTS)]
        row = None
        while row is None:
            source, target = rng.choice(test if kind == "leak" else long)
            row = PLANTS[kind](source, target, rng)
        line = row if isinstance(row, bytes) else "\t".join(row).encode()
        repeats = kind in ("duplicate", "near_duplicate")
        if not repeats and kind != "leak":  # instead of the pair, or it would be a repeat as well
            rows[rows.index((None, f"{source}\t{target}".encode()))] = (kind, line)
            long.remove((source, target))
        else:
            rows.append((kind, line))  # after the first one
    planted = {number: kind for number, (kind, _) in enumerate(rows, start=1) if kind}
    return Corpus([line for _, line in rows], planted, test)


def _near_duplicate(source, target, rng):
    return rng.choice(
        (
            (source.upper(), target),
            (source.rstrip(".!?"), target.rstrip(".!?")),
            (source.lower(), target.lower()),
            (source.replace(" ", "  ", 1), target + " "),
            (f'"{source}"', f"«{target}»"),
        )
    )


def _language(source, target, rng):
    return rng.choice(((target, source), (rng.choice(_GERMAN), target), (source, _GERMAN[0])))


def _script(source, target, rng):
    russian = rng.choice(_RUSSIAN)
    if "o" not in source:
        return source, russian
    mixed = source.replace("o", "о", 1)  # a Cyrillic letter that looks the same
    return rng.choice(((source, russian), (russian, target), (mixed, target)))


def _ratio(source, target, rng):
    words = target.split()
    if len(words) < 8:
        return None
    return rng.choice(((source, " ".join(words[:2])), (source, f"{target} {target} {target}")))


def _numbers(source, target, rng):
    number = re.search(r"\d+", target)
    if number is None or number.group() not in source:
        return None
    other = str(int(number.group()) + rng.choice((1, 3, 10)))
    return source, target.replace(number.group(), other, 1)


def _markup(source, target, rng):
    first, *rest = source.split()
    return rng.choice(
        (
            (f"<b>{first}</b> {' '.join(rest)}", target),
            (source, f"{target}<br />"),
            (f'<a href="x.html">{source}</a>', target),
            (f"{{\\an8}}{source}", target),
            (f"[i]{source}[/i]", f"[i]{target}[/i]"),
        )
    )


def _mojibake(source, target, rng):
    broken = target.encode().decode(rng.choice(("latin-1", "cp1252")), "replace")
    return (source, broken) if broken != target else None


def _entities(source, target, rng):
    escaped = html.escape(html.escape(source) if rng.random() < 0.3 else source)
    named = re.sub("[áéíóúñ]", lambda each: f"&#{ord(each.group())};", target)
    if rng.random() < 0.5:
        return (escaped, target) if escaped != source else None
    return (source, named) if named != target else None


def _placeables(source, target, rng):
    one, other = rng.choice((("{name}", "{nombre}"), ("https://x.org/a", "https://x.org/b")))
    return f"{source} {one}", f"{target} {rng.choice((other, ''))}"


def _invisible(source, target, rng):
    place = rng.randrange(1, len(source))
    return source[:place] + rng.choice(_INVISIBLE) + source[place:], target


def _unreadable(source, target, rng):
    return rng.choice((f"{source} {target}".encode(), f"{source}\tcaf".encode() + b"\xe9"))


PLANTS = {
    "unreadable": _unreadable,
    "empty": lambda source, target, rng: rng.choice(((source, ""), ("  ", target))),
    "duplicate": lambda source, target, rng: (source, target),
    "near_duplicate": _near_duplicate,
    "copy": lambda source, target, rng: rng.choice(((source, source), (target, target))),
    "language": _language,
    "script": _script,
    "ratio": _ratio,
    "numbers": _numbers,
    "placeables": _placeables,
    "markup": _markup,
    "mojibake": _mojibake,
    "entities": _entities,
    "invisible": _invisible,
    "leak": lambda source, target, rng: rng.choice(((source, target), (source.upper(), target))),
}
"""Functions that make a faulty line of a pair, as a pair or as bytes; None if the pair cannot."""


def count(corpus, folder):
    """Checks a `Corpus` that is written to a folder.

    Returns:
        Two dictionaries from a kind: to the numbers of planted faults, of those found, and of those
        found under their own name; and to the `Finding`s in other lines.
    """
    from aiayn_keras.data.checking import check_pairs
    from aiayn_keras.data.parallel_text import read_pairs_and_bad_lines

    (folder / "train.tsv").write_bytes(b"\n".join(corpus.lines) + b"\n")
    (folder / "test.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in corpus.test), "utf-8")
    read, test = (read_pairs_and_bad_lines(folder / f"{name}.tsv") for name in ("train", "test"))
    found, others = collections.defaultdict(set), collections.defaultdict(list)
    for finding in check_pairs(read, {"test": test}).findings:
        if finding.line in corpus.planted:
            found[finding.line].add(finding.kind)
        else:
            others[finding.kind].append(finding)
    counts = {}
    for kind in PLANTS:
        lines = [line for line, planted in corpus.planted.items() if planted == kind]
        counts[kind] = (
            len(lines),
            sum(bool(found[line]) for line in lines),
            sum(kind in found[line] for line in lines),
        )
    return counts, others


def main():
    from aiayn_keras.data import load_corpus

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--faults", type=int, default=15 * 15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tatoeba = load_corpus("tatoeba-en-es")
    pairs = random.Random(options.seed).sample(list(tatoeba.train), options.pairs)
    corpus = plant(pairs, list(tatoeba.test), options.faults, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        counts, others = count(corpus, Path(folder))
    print(f"{'kind':<16}{'planted':>8}{'found':>8}{'as such':>8}{'other lines':>13}")
    for kind, (planted, found, as_such) in counts.items():
        print(f"{kind:<16}{planted:>8}{found:>8}{as_such:>8}{len(others[kind]):>13}")
    totals = [sum(column) for column in zip(*counts.values(), strict=True)]
    num_others = sum(map(len, others.values()))
    print(f"{'all':<16}{totals[0]:>8}{totals[1]:>8}{totals[2]:>8}{num_others:>13}")
    for finding in (each for findings in others.values() for each in findings):
        shown = corpus.lines[finding.line - 1].decode("utf-8", "replace")
        print(f"  line {finding.line}: {finding.kind}: {finding.reason}: {shown!r}")
    return any(10 * found < 9 * planted for planted, found, _ in counts.values())


if __name__ == "__main__":
    sys.exit(main())
