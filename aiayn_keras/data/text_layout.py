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
_LANGUAGES = (
    "en eng english englisch anglais inglés inglese inglês engels angielski engelska engelsk "
    "английский",
    "de deu german deutsch allemand alemán tedesco alemão duits niemiecki tyska tysk немецкий",
    "fr fra french französisch français francés francese francês frans francuski franska fransk "
    "французский",
    "es spa spanish spanisch espagnol español spagnolo espanhol spaans hiszpański spanska spansk "
    "castellano испанский",
    "it ita italian italienisch italien italiano italiaans włoski italienska итальянский",
    "pt por portuguese portugiesisch portugais portugués portoghese português portugees "
    "portugalski",
    "nl nld dutch niederländisch holländisch néerlandais neerlandés olandese holandês nederlands",
    "sv swedish schwedisch suédois sueco svedese zweeds szwedzki svenska svensk шведский",
    "da danish dänisch danois danés danese dinamarquês deens duński danska dansk",
    "pl polish polnisch polonais polaco polacco polonês pools polski polska polsk польский",
    "cs czech tschechisch tchèque checo ceco tsjechisch czeski čeština чешский",
    "ru rus russian russisch russe ruso russo rosyjski ryska russisk русский",
    "uk ukrainian ukrainisch ukrainien ucraniano ucraino ukraiński украинский українська",
    "tr turkish türkisch turc turco turks turecki turkiska турецкий türkçe",
    "el greek griechisch grec griego greco grieks grecki греческий ελληνικά",
    "hu hungarian ungarisch hongrois húngaro ungherese hongaars węgierski венгерский magyar",
    "ro romanian rumänisch roumain rumano rumeno roemeens rumuński румынский română",
    "fi finnish finnisch finnois finés finlandese fins fiński finska finsk suomi",
    "bg bulgarian bulgarisch bulgare búlgaro bulgaro български",
    "zh zho chinese chinesisch chinois chino cinese chinês chinees chiński китайский 中文 汉语",
    "ja jpn japanese japanisch japonais japonés giapponese japonês japans japoński японский 日本語",
    "ko korean koreanisch coréen coreano koreaans koreański корейский 한국어",
    "ar arabic arabisch arabe árabe arabo arabski арабский العربية",
    *("he hebrew", "fa persian", "hi hindi", "vi vietnamese", "th thai", "indonesian", "norwegian"),
)
"""Names of languages, each line those of one; the code and the English name come first."""
_TEXTS = (
    "source target src tgt trg input output text sentence translation translated",
    "quelle ziel quelltext zieltext ausgangstext originaltext text satz übersetzung quellsprache "
    "ausgangssprache zielsprache original",
    "source cible texte phrase original traduction",
    "fuente origen destino texto frase oración original traducción",
    "origine destinazione testo frase originale traduzione",
    "origem fonte destino texto frase original tradução",
    "bron doel tekst zin origineel vertaling",
    "źródło cel tekst zdanie oryginał tłumaczenie",
)
"""Words for what a column holds, each line those of one language."""
_LANGUAGES_OF, _TEXTS_OF = (
    {word: {n for n, line in enumerate(lines) if word in line.split()} for word in words}
    for lines in (_LANGUAGES, _TEXTS)
    for words in [" ".join(lines).split()]
)
"""Dictionaries from a word to the numbers of its lines."""


def check_heading(paths, pairs):
    """Refuses text whose first line has headings, such as `english` and `spanish`.

    `Englisch` and `English`, or `Satz` and `sentence`, are not headings: they translate each other.

    Args:
        paths: Paths or addresses of one file of pairs, or of two files.
        pairs: Sequence of its pairs.

    Raises:
        CorpusError: If both sides of the first of several pairs name what is below them.
    """
    if len(pairs) < 2:
        return
    source, target = (side.strip('\ufeff "') for side in pairs[0])
    if _is_heading(source) and _is_heading(target) and not _are_translations(source, target):
        raise CorpusError(
            f"{' and '.join(map(str, paths))}: the first line, {source!r} and {target!r}, is a "
            "heading, which a model would learn as a pair. Take it out, for example with "
            "`tail -n +2`."
        )


def _is_heading(text):
    words = re.split(r"[\s_-]+", text.casefold())
    return bool(_CODE.fullmatch(text)) or all(
        word in _LANGUAGES_OF or word in _TEXTS_OF for word in words
    )


def _are_translations(*sides):
    """Returns whether two words name one language, or a text in two languages."""
    source, target = map(str.casefold, sides)
    if source in _LANGUAGES_OF and target in _LANGUAGES_OF:
        return bool(_LANGUAGES_OF[source] & _LANGUAGES_OF[target])
    if source in _TEXTS_OF and target in _TEXTS_OF:
        return source == target or not _TEXTS_OF[source] & _TEXTS_OF[target]
    return source == target


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
    columns = list(zip(*rows, strict=False))  # as many columns as the shortest row has
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
    """Says why cells, apart from a possible heading, cannot be sentences; `None` if they can be."""
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

    Spreadsheets and pandas write such files: they put every cell, or each one with a quotation mark
    or a comma, in quotation marks, and double those inside.

    Args:
        path: Its path or address.
        sides: The cells of its first two columns, as two sequences.

    Raises:
        CorpusError: If every cell is in quotation marks, whatever is inside; or if each cell with
            quotation marks is quoted in this way, and some marks are doubled or all of several
            cells with a comma are quoted.
    """
    num_cells = num_quoted = num_quoted_commas = num_bare_commas = 0
    has_doubled, has_others = False, False
    for cell in itertools.chain(*sides):
        num_cells += 1
        if '"' not in cell:
            num_bare_commas += "," in cell
            continue
        inner = cell[1:-1]
        if not re.fullmatch('".*"', cell, re.DOTALL):
            return
        num_quoted += 1
        num_quoted_commas += "," in inner
        has_doubled |= '""' in inner
        has_others |= '"' in inner.replace('""', "")
    are_all_quoted = num_quoted == num_cells >= _FEW
    are_commas_quoted = num_quoted_commas >= _FEW and not num_bare_commas
    if are_all_quoted or (not has_others and (has_doubled or are_commas_quoted)):
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
        pairs: List of the one pair that was read; for a corpus of several such files, one of each.

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
