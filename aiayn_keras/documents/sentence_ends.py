"""The ends of sentences, found with string operations of TensorFlow; lines are cut after them.

A copy of the line is rewritten so that only marks that end a sentence are left; TensorFlow Text's
sentence breaker then finds them, and the line itself is cut at the same bytes.
"""

from aiayn_keras_light.placeable_patterns import AND, ORDERED


def cut(strings, starts):
    """Cuts strings into parts; joined, the parts of a string are the string.

    Args:
        strings: String tensor `(N,)`.
        starts: Ragged int64 tensor `(N, (K))`, bytes at which a part begins. 0 need not be among
            them; places outside a string are ignored.

    Returns:
        Ragged string tensor `(N, (P))`, no part of it empty.
    """
    import tensorflow as tf

    bytes_ = tf.strings.bytes_split(strings)
    lengths, row_starts = bytes_.row_lengths(), bytes_.row_starts()
    rows, within = starts.value_rowids(), starts.values
    is_inside = (within >= 0) & (within < tf.gather(lengths, rows))
    begins = tf.concat(
        [
            tf.boolean_mask(within + tf.gather(row_starts, rows), is_inside),
            tf.boolean_mask(row_starts, lengths > 0),
        ],
        axis=0,
    )
    total = tf.size(bytes_.flat_values, out_type=tf.int64)
    is_begin = tf.scatter_nd(begins[:, tf.newaxis], tf.ones_like(begins), total[tf.newaxis]) > 0
    part_of_byte = tf.cumsum(tf.cast(is_begin, tf.int64)) - 1
    parts = tf.strings.unsorted_segment_join(
        bytes_.flat_values,
        part_of_byte,
        tf.math.count_nonzero(is_begin),
    )
    return tf.RaggedTensor.from_value_rowids(
        parts, tf.boolean_mask(bytes_.value_rowids(), is_begin), bytes_.nrows()
    )


def characters(strings):
    """Code points of strings and the bytes at which they begin.

    Bytes that are not valid UTF-8 become replacement characters, one for each or for several.

    Returns:
        Two ragged tensors `(N, (C))`, int32 and int64.
    """
    import tensorflow as tf

    return tf.strings.unicode_decode_with_offsets(strings, "UTF-8", errors="replace")


def is_among(values, wanted):
    """Returns whether elements of an integer tensor are among a few numbers."""
    import tensorflow as tf

    wanted = tf.constant(wanted, values.dtype)
    return tf.reduce_any(values[:, tf.newaxis] == wanted, axis=1)


NO_END, _MAYBE = "\x02", "\x01"
"""Marks that replace full stops that do not end a sentence, and those that may or may not."""

# Never the last word of a sentence: something follows that they belong to.
_BEFORE_SOMETHING = (
    r"(?i:Mr|Mrs|Ms|Mx|Dr|Prof|Rev|Hon|Mt|Gen|Col|Maj|Capt|Cmdr|Lt|Sgt|Cpl|Gov|Sen|Rep|Pres|"
    r"Sra?|Srta|Dra|Dña|Mme|Mlle|vs|cf|viz|approx|incl|bzw|ggf|evtl|inkl|"
    r"vgl|zzgl|sog|dhr|mevr|bijv|dott|e\.g|i\.e|p\.ej|z\.B|d\.h|u\.a)|Hr|Fr|ca|Mio|Mrd|Tsd"
)
# The same before a number: "No. 5", "pp. 3-7", "Jan. 5"; "no." and "art." can end a sentence.
_BEFORE_NUMBER = (
    r"(?i:nos?|nr|núm|art|figs?|vol|pp?|págs?|ch|chap|cap|sec|abs|kap|bd|abb|tab|ed|eds|op|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
# The same after a number and before a word in small letters: "2 tbsp. oil", "500 sq. ft. of land".
_UNITS = r"(?:tbsps?|tsps?|lbs?|oz|ft|yds?|mi|pts?|qts?|gal|hrs?|mins?|secs?|pkgs?)"
# Last words too: an end if a word follows that begins many sentences.
_ANYWHERE = r"(?i:etc|usw|St|Inc|Ltd|Co|Corp|Bros|Jr|Ave|Blvd|Rd|Dept|Univ|Uds?|Vds?|Cía)"
_INITIALS = r"(?:\p{L}{1,2}\.)+\p{L}{1,2}|\p{Lu}"
_OPENING = r"[\s\"'“”‘’„«»(\[¿¡—–]"
_STARTERS = (
    r"He|She|It|They|We|You|I|The|This|That|These|There|Then|But|And|So|In|On|At|If|When|What|Why|"
    r"How|Who|Where|My|His|Her|Our|Their|Its|After|Before|Yes|No|"
    r"El|La|Los|Las|Él|Ella|Ellos|Yo|Nosotros|Es|Un|Una|Pero|Y|En|Si|Sí|Cuando|Su|Mi|"
    r"Er|Sie|Es|Das|Der|Die|Ich|Wir|Aber|Und|Il|Elle|Le|Les|Je|Nous|Mais|Et"
)
_BEHIND_ORDINAL = f"{ORDERED}|April|August|September|November"
_WORD_BEGINS = r"(^|[^\p{L}\p{N}])"
_NO_WORD = r"([^\p{L}\p{N}]|$)"

# Pairs of a pattern and an equally long rewrite, for every line in turn.
_RULES = (
    # TensorFlow Text goes through spaces byte by byte, and begins sentences in the middle of one.
    (r"[\x{85}\x{a0}]", "  "),
    (r"[\x{1680}\x{2000}-\x{200b}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]", "   "),
    # It closes brackets after a mark, but no quotes: 'He said "Go!" She went.'
    (r"([.!?…]\)*)([\"'])", r"\1)"),
    (r"([.!?…]\)*)([\"'])", r"\1)"),
    (r"([.!?…]\)*)[”’“]", r"\1)))"),
    (r"([.!?…]\)*)»", r"\1))"),
    (rf"([.!?…]\)*) »{_NO_WORD}", r"\1)))\2"),
    (rf"([.!?…]\)*)  »{_NO_WORD}", r"\1))))\2"),
    (rf"([.!?…]\)*)   »{_NO_WORD}", r"\1)))))\2"),
    (r"([.!?…]\)*)«", r"\1))"),
    # “我走。”他说 : the quotation mark has three bytes, and none begins the next sentence.
    (r"([。！？｡]\)*)[”’]", r"\1)))"),
    # Abbreviations of two words: "p. ej.", "z. B.".
    (r"(?i)\b([eipzdu])\.( (?:g|e|ej|B|h|a))\.", rf"\1{NO_END}\2{NO_END}"),
    (rf"{_WORD_BEGINS}({_BEFORE_SOMETHING})\.", rf"\1\2{NO_END}"),
    (rf"{_WORD_BEGINS}({_BEFORE_NUMBER})\.(\s*\d)", rf"\1\2{NO_END}\3"),
    (r"(\d\s?(?:sq|cu|fl))\.(\s\p{Ll})", rf"\1{NO_END}\2"),
    (rf"(\d\s?(?:(?:sq|cu|fl){NO_END}?\s)?{_UNITS})\.(\s\p{{Ll}})", rf"\1{NO_END}\2"),
    (rf"(\d)\.(\s+(?:{_BEHIND_ORDINAL}))", rf"\1{NO_END}\2"),
    (rf"(\d\.\s+{AND}\s+\d\d?)\.(\s+\p{{L}}{{3}})", rf"\1{NO_END}\2"),
    # The number of a paragraph: "1. Open the box."
    (r"^(\s*\(?\d{1,3})\.(\s)", rf"\1{NO_END}\2"),
    # Speech goes on in lower case after a quote or a dash: '"Go!" she said.', "—¡Vete! —dijo."
    (rf"[!?](\)+{_OPENING}+\p{{Ll}}|\s+[—–]\s*\p{{Ll}})", rf"{NO_END}\1"),
    (rf"{_WORD_BEGINS}({_ANYWHERE}|{_INITIALS})\.", rf"\1\2{_MAYBE}"),
    (rf"{_MAYBE}(\)*{_OPENING}+(?:{_STARTERS})(?:[\s'’,]|$))", r".\1"),
)
# A full stop before a lower-case letter is an abbreviation's, or an ellipsis; not where all letters
# are lower-case.
_RULES_IF_CAPITALS = (
    (rf"\.(\)*{_OPENING}+\p{{Ll}})", rf"{NO_END}\1"),
    (rf"…(\)*{_OPENING}+\p{{Ll}})", rf"{NO_END * 3}\1"),
)
_HAS_CAPITAL = r"\C*\p{Lu}\C*"

# A mark, then brackets, then a space; in Chinese and Japanese no space.
_ENDS_SENTENCE = r"\C*(?:[.!?[:^ascii:]][\s)\]}]*\s|[。！？｡][)[:^ascii:]]*)"


def sentences_of_lines(lines):
    """Cuts lines `(N,)` after their sentences: a ragged string tensor `(N, (S))`."""
    import tensorflow as tf
    from tensorflow_text.python.ops import state_based_sentence_breaker_op as breaker

    copies = _write_other_marks(lines)
    # The op of `StateBasedSentenceBreaker`, whose Python adds one that older servers lack.
    op = breaker.gen_state_based_sentence_breaker_op.sentence_fragments_v2
    starts, _, _, _, row_lengths = op(copies)
    starts = tf.RaggedTensor.from_row_lengths(starts, row_lengths)
    fragments = cut(copies, starts)
    ends = tf.strings.regex_full_match(fragments.values, _ENDS_SENTENCE)
    lengths = tf.strings.length(fragments.values)
    stops = fragments.with_values(tf.cumsum(tf.cast(lengths, tf.int64)))
    base = tf.gather(tf.concat([[0], stops.values], axis=0), fragments.row_starts())
    stops = stops - base[:, tf.newaxis]
    return cut(lines, tf.ragged.boolean_mask(stops, fragments.with_values(ends)))


def _write_other_marks(lines):
    """Copies lines so that, at the same length, only marks that end a sentence are left in them."""
    import tensorflow as tf

    copies = _rewrite(lines, _RULES)
    has_capital = tf.strings.regex_full_match(lines, _HAS_CAPITAL)
    copies = tf.where(has_capital, _rewrite(copies, _RULES_IF_CAPITALS), copies)
    # Lines that are not valid UTF-8 change in length.
    return tf.where(tf.strings.length(copies) == tf.strings.length(lines), copies, lines)


def _rewrite(strings, rules):
    import tensorflow as tf

    for pattern, rewrite in rules:
        strings = tf.strings.regex_replace(strings, pattern, rewrite)
    return strings
