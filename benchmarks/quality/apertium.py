"""Apertium's English-Spanish dictionary, which was made without our training text.

`benchmarks.quality.typed --dictionary` asks it about translations of single words. Debian has it:
`apt-get install lttoolbox apertium-eng-spa`. It is under the GPL (https://www.apertium.org).
"""

import re
import shutil
import subprocess
from pathlib import Path

import click

FOLDER = Path("/usr/share/apertium/apertium-eng-spa")
UNIT = re.compile(r"\^([^$]*)\$")
BASE_FORM = re.compile(r"[^<#]*")


def count_translations(answers):
    """Counts the words whose translation is one of the dictionary, in any inflected form.

    Both sides are compared by their base forms. An answer is right if it is one of the dictionary's
    translations of the word, or a single word that is a form of one.

    Args:
        answers: Dictionary from English words to Spanish texts.

    Returns:
        Set of the words with a right answer, and set of the words that the dictionary has.
    """
    meanings = _look_up([*answers])
    texts = [" ".join(re.findall(r"\w+", text.lower())) for text in answers.values()]
    right, known = set(), set()
    for word, text, read in zip(answers, texts, _analyse("spa-eng", texts), strict=True):
        if not meanings[word]:
            continue
        known.add(word)
        forms = {text}
        if len(read) == 1:
            forms |= {_base_form(reading) for reading in read[0]}
        if forms & meanings[word]:
            right.add(word)
    return right, known


def _look_up(words):
    """Returns a dictionary from words to the sets of the base forms of their translations."""
    readings = {
        word: [each for unit in read for each in unit if not each.startswith("*")]
        for word, read in zip(words, _analyse("eng-spa", words), strict=True)
    }
    every = sorted({reading for found in readings.values() for reading in found})
    answers = _process(["-b", "eng-spa.autobil.bin"], [f"^{reading}$" for reading in every])
    meanings = {
        reading: {_base_form(each) for each in answer.strip("^$").split("/")[1:] if each[:1] != "@"}
        for reading, answer in zip(every, answers, strict=True)
    }
    return {
        word: {each for reading in found for each in meanings[reading] if each}
        for word, found in readings.items()
    }


def _analyse(pair, texts):
    """Returns for each text a list of its words, each a list of morphological readings."""
    return [
        [unit.split("/")[1:] for unit in UNIT.findall(line)]
        for line in _process(["-w", f"{pair}.automorf.bin"], texts)
    ]


def _process(arguments, lines):
    *options, file = arguments
    if not shutil.which("lt-proc") or not FOLDER.is_dir():
        raise click.UsageError(
            "--dictionary needs Apertium: apt-get install lttoolbox apertium-eng-spa"
        )
    result = subprocess.run(
        ["lt-proc", *options, FOLDER / file],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.split("\n")[: len(lines)]


def _base_form(reading):
    return BASE_FORM.match(reading)[0].strip().lower()
