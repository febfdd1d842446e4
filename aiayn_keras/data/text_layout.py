"""Checks that parallel text is laid out as it is read: its headings, columns, quotes, line ends."""

import itertools
import re

from aiayn_keras.common.bad_lines import BadLine
from aiayn_keras_light.text_files import CorpusError

_LINES_TO_LOOK_AT = 100
_FEW = 10
"""Number of lines, or cells, below which a file may look like a different kind by chance."""
_ADDRESS = re.compile(r"[a-z]+://\S*\Z")
_CODE = re.compile(r"[a-z]{2,3}[-_](?:[A-Z]{2}|[A-Z][a-z]{3})")
"""A language with its country or script, such as `pt-BR` or `deu_Latn`."""
_HEADING = re.compile(
    r"source|target|src|tgt|trg|input|output|text|sentence|translation|translated"
    r"|english|german|french|spanish|italian|portuguese|dutch|swedish|danish|norwegian|finnish"
    r"|polish|czech|russian|ukrainian|turkish|greek|hungarian|romanian|bulgarian|chinese"
    r"|japanese|korean|arabic|hebrew|persian|hindi|indonesian|vietnamese|thai"
    r"|en|de|fr|es|it|pt|nl|sv|da|fi|pl|cs|ru|uk|tr|el|hu|ro|bg|zh|ja|ko|ar|he|fa|hi|vi|th"
    r"|eng|deu|fra|spa|ita|por|nld|rus|zho|jpn"
)
"""A word of the heading of a column."""


def check_heading(paths, pairs):
    """Refuses text whose first line has headings, such as `english` and `spanish`.

    Args:
        paths: Paths or addresses of one file of pairs, or of two files.
        pairs: Sequence of its pairs.

    Raises:
        CorpusError: If both sides of the first of several pairs name what is below them.
    """
    if len(pairs) < 2:
        return
    source, target = (side.strip('\ufeff "') for side in pairs[0])
    if source.casefold() != target.casefold() and _is_heading(source) and _is_heading(target):
        raise CorpusError(
            f"{' and '.join(map(str, paths))}: the first line, {source!r} and {target!r}, is a "
            "heading, which a model would learn as a pair. Take it out, for example with "
            "`tail -n +2`."
        )


def _is_heading(text):
    words = re.split(r"[\s_-]+", text.casefold())
    return bool(_CODE.fullmatch(text)) or all(map(_HEADING.fullmatch, words))


def check_columns(path, sides, lines):
    """Refuses a tab-separated file whose first two columns are not the sides of its pairs.

    Numbers of sentences, scores, names of recordings, codes of languages and addresses often stand
    before the sentences or between them, as in the exports of Tatoeba and of ParaCrawl.

    Args:
        path: Its path or address.
        sides: Sequences of what its first two columns hold. The first line may have headings.
        lines: Iterator over its lines, strings and `BadLine`s, which is read as far as it is
            needed.

    Raises:
        CorpusError: If the first or second column has no letters, holds addresses or names with
            numbers, or is always the same, and two columns of at least three hold sentences.
    """
    faults = [_fault_of_column(side, has_heading=len(side) > _FEW) for side in sides]
    if not any(faults):
        return
    first = itertools.islice(lines, _LINES_TO_LOOK_AT)
    rows = [line.split("\t") for line in first if not isinstance(line, BadLine)]
    columns = list(zip(*rows, strict=False))  # as many as the shortest row has
    with_sentences = [
        number
        for number, column in enumerate(columns, start=1)
        if all(map(_has_letters, column)) and not _fault_of_column(column, len(column) > _FEW)
    ]
    if len(columns) > 2 and len(with_sentences) >= 2:
        name, fault = ("first", faults[0]) if faults[0] else ("second", faults[1])
        one, other = with_sentences[:2]
        raise CorpusError(
            f"{path}: expected `source<TAB>target`, but the {name} column {fault}, and columns "
            f"{one} and {other} hold sentences. Take out the others, for example with "
            f"`cut -f{one},{other}`."
        )


def _has_letters(text):
    return any(map(str.isalpha, text))


def _is_numbered_name(text):
    return any(map(str.isdecimal, text)) and len(text.split()) == 1


def _fault_of_column(cells, has_heading=False):
    """Says why a sequence of cells, perhaps below a heading, cannot be sentences; else `None`."""
    first = int(has_heading)

    def are_all(test):
        return all(map(test, itertools.islice(cells, first, None)))

    if not any(map(_has_letters, itertools.islice(cells, first, None))):
        return "has no letters"
    if are_all(_ADDRESS.match):
        return "holds addresses"
    if len(cells) - first >= _FEW:
        if are_all(lambda cell: cell == cells[first]):
            return f"is always {cells[first][:20]!r}"
        if are_all(_is_numbered_name):
            return f"holds names such as {cells[first][:20]!r}"
    return None


def check_quotes(path, sides):
    """Refuses a tab-separated file whose cells are quoted as in CSV.

    Spreadsheets and pandas write such files: a cell with a quotation mark, or with a comma, or
    every cell, is put into quotation marks, and those inside it are doubled.

    Args:
        path: Its path or address.
        sides: Sequences of what its first two columns hold.

    Raises:
        CorpusError: If all quotation marks are of this kind, and some are doubled, or no cell that
            needs none has any.
    """
    num_cells = num_quoted = num_quoted_commas = num_bare_commas = 0
    has_doubled = False
    for cell in itertools.chain(*sides):
        num_cells += 1
        if '"' not in cell:
            num_bare_commas += "," in cell
            continue
        inner = cell[1:-1]
        if not re.fullmatch('".*"', cell, re.DOTALL) or '"' in inner.replace('""', ""):
            return
        num_quoted += 1
        num_quoted_commas += "," in inner
        has_doubled |= '""' in inner
    are_all_quoted = num_quoted == num_cells >= _FEW
    are_commas_quoted = num_quoted_commas >= _FEW and not num_bare_commas
    if has_doubled or are_all_quoted or are_commas_quoted:
        raise CorpusError(
            f"{path}: {num_quoted:,} of {num_cells:,} cells are in quotation marks, as in CSV; a "
            "model would learn to write them. Write the cells without: Python reads such a file by "
            r"`csv.reader(file, delimiter='\t')`."
        )


def check_one_column(paths, sides):
    """Refuses tab-separated files that are given as the two sides of one text.

    Args:
        paths: Paths or addresses of two files.
        sides: Their lines, each a sequence of strings.

    Raises:
        CorpusError: If every line of a file has a tab.
    """
    for path, lines in zip(paths, sides, strict=True):
        if lines and all("\t" in line for line in lines):
            raise CorpusError(
                f"{path}: every line has a tab, as in a file of `source<TAB>target`, but of two "
                "files each must hold one language. Give such a file alone (join several with "
                "`cat`), or take out a column, for example with `cut -f1`."
            )


def check_line_ends(paths, pairs):
    """Refuses files of one line whose carriage returns are meant to end lines, as on old Macs.

    Excel writes such files as "Text (Macintosh)".

    Args:
        paths: Paths or addresses of one file of pairs, or of two files.
        pairs: The only pair of each such file, or of several ones.

    Raises:
        CorpusError: If there are carriage returns in every pair.
    """
    if not all(any("\r" in side for side in pair) for pair in pairs):
        return
    for path, sides in zip(paths, zip(*pairs, strict=True), strict=False):
        if len(paths) == 1 or any("\r" in side for side in sides):
            raise CorpusError(
                f"{path}: only a line feed ends a line, and this file has carriage returns. "
                r"Convert it, for example with `tr '\r' '\n'`."
            )
