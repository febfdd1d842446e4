import gzip
from collections import Counter

import hypothesis
import hypothesis.strategies as st
import pytest

from aiayn_keras.data import CorpusError, ParallelText, read_lines, read_parallel, stream_parallel
from aiayn_keras.data.parallel_text import letters_of, split_of, splits_by_component
from tests.data.text_bytes import write


def test_a_sentence_is_not_a_text_of_letters():
    with pytest.raises(CorpusError, match=r"`sources` must be a list of sentences.*'a cat'"):
        ParallelText("a cat", ["eine Katze"])
    with pytest.raises(CorpusError, match="`targets` must be a list of sentences"):
        ParallelText(["a cat"], "eine Katze")


def test_two_files_are_paired_line_by_line(tmp_path):
    source = write(tmp_path / "a.en", "one\ntwo\n")
    target = write(tmp_path / "a.de", "eins\nzwei\n")
    text = read_parallel(source, target)
    assert list(text) == [("one", "eins"), ("two", "zwei")]
    assert text.name == "a.en"


def test_compressed_and_plain_files_read_the_same(tmp_path):
    plain = write(tmp_path / "a.en", "ein Löwe\nzwei\n")
    packed = write(tmp_path / "a.en.gz", gzip.compress("ein Löwe\nzwei\n".encode()))
    assert read_lines(packed) == read_lines(plain) == ["ein Löwe", "zwei"]


def test_further_columns_are_left_out(tmp_path):
    path = write(tmp_path / "a.tsv", "Go.\tVe.\tCC-BY 2.0 #1\nRun!\t¡Corre!\n")
    assert list(read_parallel(path)) == [("Go.", "Ve."), ("Run!", "¡Corre!")]


def test_only_line_feeds_end_a_line(tmp_path):
    path = write(tmp_path / "a", "one\u2028still\u0085one\x0b\x0cone\r\ntwo\rtwo\n")
    assert read_lines(path) == ["one\u2028still\u0085one\x0b\x0cone", "two\rtwo"]


def test_a_file_whose_lines_end_in_carriage_returns_is_refused(tmp_path):
    """It was one pair: the first source, and the first target with the second source."""
    table = write(tmp_path / "a.tsv", "one\teins\rtwo\tzwei\r")
    sides = [write(tmp_path / f"a.{side}", f"one {side}\rtwo {side}\r") for side in ("en", "de")]
    for paths in ([table], sides):
        with pytest.raises(CorpusError, match=rf"{paths[0]}: only a line feed .*`tr '\\r' '\\n'`"):
            read_parallel(*paths)
    assert read_parallel(write(tmp_path / "b.tsv", "one\teins\r\n"))[0] == ("one", "eins")


def test_last_line_may_lack_its_line_end_and_empty_lines_stay(tmp_path):
    assert read_lines(write(tmp_path / "a", "one\n\nthree")) == ["one", "", "three"]
    assert read_lines(write(tmp_path / "b", "one\n\n")) == ["one", ""]
    assert read_lines(write(tmp_path / "c", "")) == []


def test_byte_order_mark_is_removed(tmp_path):
    assert read_lines(write(tmp_path / "a", b"\xef\xbb\xbfone\n")) == ["one"]
    assert read_lines(write(tmp_path / "b", b"\xef\xbb\xbf")) == []


@pytest.mark.parametrize(
    ("normalization", "expected"),
    [("NFC", "é ﬁ"), ("NFKC", "é fi"), ("NFD", "e\u0301 ﬁ"), (None, "e\u0301 ﬁ")],
)
def test_both_sides_get_the_unicode_form_asked_for(tmp_path, normalization, expected):
    path = write(tmp_path / "a.tsv", "e\u0301 ﬁ\te\u0301 ﬁ\n")
    assert read_parallel(path, normalization=normalization)[0] == (expected, expected)


def test_unknown_normalization_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Received: normalization='nfc'"):
        read_parallel(tmp_path / "a", normalization="nfc")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.en"):
        read_parallel(tmp_path / "nowhere.en", tmp_path / "nowhere.de")


@pytest.mark.parametrize("read", [read_parallel, lambda path: list(stream_parallel(path))])
def test_the_error_of_a_relative_path_names_the_folder_that_it_is_relative_to(
    tmp_path, monkeypatch, read
):
    """A recipe elsewhere names a file beside it, and no shell has replaced a `~`."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as error:
        read("~/a.tsv")
    assert str(error.value) == (
        f"Corpus file '~/a.tsv' does not exist in the current folder, {str(tmp_path)!r}."
    )


@pytest.mark.parametrize("read", [read_parallel, lambda *paths: list(stream_parallel(*paths))])
@pytest.mark.parametrize(("first", "second"), [(5, 2), (2, 5), (3, 2), (0, 1)])
def test_unequal_line_counts_are_both_named(tmp_path, first, second, read):
    source = write(tmp_path / "a.en", "line\n" * first)
    target = write(tmp_path / "a.de", "line\n" * second)
    with pytest.raises(CorpusError, match=rf"{first} lines in .*a\.en, {second} lines in .*a\.de"):
        read(source, target)


def test_numbers_of_lines_are_no_sources(tmp_path):
    """They were: each number was translated by the sentence behind it."""
    path = write(tmp_path / "a.tsv", "1\tGo.\tVe.\tCC\n2\tRun!\t¡Corre!\tCC\n")
    with pytest.raises(CorpusError, match=r"a\.tsv: .*first column has no letters.*`cut -f2,3`"):
        read_parallel(path)
    write(path, "1\tuno\t#7\n2\tdos\tCC\n")
    assert list(read_parallel(path)) == [("1", "uno"), ("2", "dos")]


@pytest.mark.parametrize(
    ("heading", "row", "message"),
    [
        ("", "{0}\tGo {0}.\t9{0}\tVe {0}.", "first column has no letters.*`cut -f2,4`"),
        ("id\ten\tes\n", "{0}\tGo {0}.\tVe {0}.", "first column has no letters.*`cut -f2,3`"),
        ("", "Go {0}.\t0.{0}\tVe {0}.", "second column has no letters.*`cut -f1,3`"),
        ("", "en\tGo {0}.\tes\tVe {0}.", "first column is always 'en'.*`cut -f2,4`"),
        ("", "http://a.b/{0}\thttp://c.d/{0}\tGo {0}\tVe {0}", "first.*addresses.*`cut -f3,4`"),
        (
            "",
            "a_{0}.mp3\tGo {0}.\tVe {0}.",
            "first column holds names such as 'a_1.mp3'.*`cut -f2,3`",
        ),
        ("path\ten\tes\n", "a_{0}.mp3\tGo {0}.\tVe {0}.", "first column holds names.*`cut -f2,3`"),
    ],
    ids=["Tatoeba", "headings", "score", "languages", "ParaCrawl", "CoVoST", "headings of names"],
)
def test_columns_before_and_between_the_sentences_are_no_sides(tmp_path, heading, row, message):
    """They were read as pairs, such as of the number of a sentence and the sentence."""
    rows = "".join(row.format(number) + "\n" for number in range(20))
    path = write(tmp_path / "a.tsv", heading + rows)
    with pytest.raises(CorpusError, match=message):
        read_parallel(path)


@pytest.mark.parametrize(
    "row",
    [
        "{0}\tnumber {0}",
        "{0}\tnumber {0}\tCC",
        "Yes.\tSí {0}.\t0.{0}",
        "a\tb {0}\tc\td",
        "A{0}\tGo.\tCC",
    ],
)
def test_columns_that_may_be_meant_are_read(tmp_path, row):
    path = write(tmp_path / "a.tsv", "".join(row.format(number) + "\n" for number in range(20)))
    assert len(read_parallel(path)) == 20


@pytest.mark.parametrize(
    "rows",
    [
        ['"He said ""go"", then."\tDijo eso'],
        ['"one"\t"uno"'] * 9,
        ['"Yes, he did."\tSí'] * 9 + ['No\t"No, él no."'] * 3,
        ['"one"\t"uno"'] * 9 + ['"say "one"!"\t"¡di "uno"!"'],
    ],
    ids=["pandas", "every cell", "Excel", "every cell, with others inside"],
)
def test_cells_quoted_as_in_csv_are_refused(tmp_path, rows):
    """A model learned to write the quotation marks around its translations."""
    path = write(tmp_path / "a.tsv", "".join(f"{row}\n" for row in rows))
    with pytest.raises(CorpusError, match=r"a\.tsv: \d+ of \d+ cells are in quotation marks.*csv"):
        read_parallel(path)
    write(path, '"One," he said.\tUno, dijo.\n' + "".join(f"{row}\n" for row in rows))
    assert len(read_parallel(path)) == len(rows) + 1


@pytest.mark.parametrize(
    "heading",
    [
        "english\tspanish",
        "source\ttarget",
        "en\tes",
        "Source text\tGerman_translation",
        "en-US\tpt_BR",
        "Deutsch\tEnglisch",
        "Español\tInglés",
        "Français\tAnglais",
        "Nederlands\tEngels",
        "Satz\tÜbersetzung",
        "Quelltext Deutsch\tZieltext Englisch",
    ],
)
def test_a_line_of_headings_is_refused(tmp_path, heading):
    """It was learned as a pair."""
    message = r"\.tsv: the first line, '.*' and '.*', is a heading.*`tail -n \+2`"
    path = write(tmp_path / "a.tsv", f"{heading}\nGo.\tVe.\n")
    with pytest.raises(CorpusError, match=message):
        read_parallel(path)
    sides = [write(tmp_path / side, f"{side}\none\n") for side in ("English", "German")]
    with pytest.raises(CorpusError, match=r"English and .*German: the first line"):
        read_parallel(*sides)


@pytest.mark.parametrize(
    "first",
    [
        *("English\tenglisch", "English\tInglés", "text\tText", "Satz\tsentence", "frase\tzin"),
        *("he\tél", "Go.\tVe."),
    ],
)
def test_a_first_pair_of_words_is_no_heading(tmp_path, first):
    path = write(tmp_path / "a.tsv", f"{first}\nRun!\t¡Corre!\n")
    assert len(read_parallel(path)) == 2


@pytest.mark.parametrize("place", [0, 1])
def test_a_file_of_pairs_is_no_side_of_a_text(tmp_path, place):
    """Two such files were read as sentences that hold both languages."""
    table = write(tmp_path / "0.tsv", "one\teins\ntwo\tzwei\n")
    side = write(tmp_path / "a.de", "eins\nzwei\n")
    with pytest.raises(CorpusError, match=r"0\.tsv: every line has a tab.*`cat`.*`cut -f1`"):
        read_parallel(*((table, side) if place == 0 else (side, table)))
    write(table, "one\tand\ntwo\n")
    assert read_parallel(table, side)[0] == ("one\tand", "eins")


def test_invalid_utf8_is_named_with_its_line(tmp_path):
    path = write(tmp_path / "a.en", b"one\ntwo\nL\xf6we\n")
    with pytest.raises(CorpusError, match=r"a\.en, line 3: not valid UTF-8 \(byte 0xf6\)"):
        read_lines(path)


def test_line_without_a_tab_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"a\.tsv, line 2: .* no tab"):
        read_parallel(write(tmp_path / "a.tsv", "Go.\tVe.\nRun!\n"))


def test_empty_corpus_is_refused(tmp_path):
    source, target = write(tmp_path / "a.en", ""), write(tmp_path / "a.de", "")
    with pytest.raises(CorpusError, match=r"a\.en: the corpus is empty"):
        read_parallel(source, target)


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"no gzip" + data])
def test_damaged_compression_is_reported(tmp_path, damage):
    path = write(tmp_path / "a.en.gz", damage(gzip.compress(b"one\ntwo\n" * 50)))
    with pytest.raises(CorpusError, match=r"a\.en\.gz: not a complete gzip file"):
        read_lines(path)


def test_sides_of_different_length_are_refused():
    with pytest.raises(CorpusError, match="2 sources, 1 targets"):
        ParallelText(["a", "b"], ["c"])


def test_slice_is_a_parallel_text():
    text = ParallelText(["a", "b", "c"], ["x", "y", "z"], name="abc")
    assert text[1:] == ParallelText(("b", "c"), ("y", "z"), name="abc")
    assert text[-1] == ("c", "z")
    assert repr(text) == "ParallelText(name='abc', pairs=3)"


def test_a_stream_gives_the_pairs_before_a_damaged_line(tmp_path):
    pairs = stream_parallel(write(tmp_path / "a.tsv", "one\teins\nno tab\n"))
    assert next(pairs) == ("one", "eins")
    with pytest.raises(CorpusError, match="line 2"):
        next(pairs)


SOURCE = "\ufeffa cat\r\ntwo\u2028parts\n\ncafe\u0301\n".encode()
TARGET = "eine Katze\nzwei\nleer\nCafé".encode()


@pytest.mark.parametrize("compressed", [False, True])
def test_the_pairs_are_those_of_read_parallel(tmp_path, compressed):
    if compressed:
        source = write(tmp_path / "a.en.gz", gzip.compress(SOURCE))
    else:
        source = write(tmp_path / "a.en", SOURCE)
    target = write(tmp_path / "a.de", TARGET)
    pairs = list(stream_parallel(source, target))
    assert pairs == list(read_parallel(source, target))
    assert pairs[3] == ("café", "Café")


def test_columns_are_read_too(tmp_path):
    path = write(tmp_path / "a.tsv", b"a\tb\tby whom\nc\td\n")
    assert list(stream_parallel(path)) == [("a", "b"), ("c", "d")]
    write(path, b"a\tb\nno tab\n")
    with pytest.raises(CorpusError, match=r"a\.tsv, line 2.*no tab"):
        list(stream_parallel(path))


def test_damage_is_named(tmp_path):
    good = write(tmp_path / "a.de", b"1\n2\n")
    bad = write(tmp_path / "a.en", b"1\ncaf\xe9\n")
    with pytest.raises(CorpusError, match=r"a\.en, line 2: not valid UTF-8 \(byte 0xe9\)"):
        list(stream_parallel(bad, good))
    cut = write(tmp_path / "b.en.gz", gzip.compress(b"1\n2\n" * 1000)[:-20])
    with pytest.raises(CorpusError, match=r"b\.en\.gz: not a complete gzip"):
        list(stream_parallel(cut, cut))
    with pytest.raises(FileNotFoundError, match=r"no\.en"):
        list(stream_parallel(tmp_path / "no.en", good))


def test_more_pairs_than_memory_should_hold_are_refused(tmp_path):
    path = write(tmp_path / "a.en", "line\n" * 4)
    assert len(read_parallel(path, path, max_lines=4)) == 4
    with pytest.raises(CorpusError, match=r"a\.en, line 4: .*at most 3 lines.*prepare"):
        read_parallel(path, path, max_lines=3)


def test_a_line_longer_than_the_limit_is_named_on_either_side(tmp_path):
    good = write(tmp_path / "a.en", "1\n2\n")
    bad = write(tmp_path / "a.de", "1\n" + "x" * 10)
    assert len(read_parallel(good, bad, max_line_bytes=10)) == 2
    with pytest.raises(CorpusError, match=r"a\.de, line 2: .*at most 9 bytes"):
        read_parallel(good, bad, max_line_bytes=9)


EXPECTED = ["validation", "train", "train", "test", "validation", "train"]


def test_shares_are_as_asked():
    counts = Counter(split_of(f"sentence {number}", 0.05) for number in range(20_000))
    assert counts["validation"] == pytest.approx(1000, abs=120)
    assert counts["test"] == pytest.approx(1000, abs=120)
    assert counts.total() == 20_000


def test_case_spaces_and_punctuation_do_not_matter():
    for number in range(200):
        split = split_of(f"Hello, world {number}!", 0.25)
        assert split_of(f"hello world {number}", 0.25) == split
    assert letters_of("¡Está a 30 °C, Straße!") == "estáa30cstrasse"


def test_hash_is_the_same_on_every_machine():
    splits = [split_of(word, 0.25) for word in ("Go.", "Run!", "Who?", "Wow!", "Fire!", "Help!")]
    assert splits == EXPECTED


def test_components_go_where_their_first_source_goes():
    pairs = [
        ("Wow!", "¡Vaya!"),
        ("Run!", "¡Corre!"),
        ("Go.", "Ve."),
        ("run", "Corred."),  # the source of another pair, by its letters
        ("Leave!", "¡Ve!"),  # the target of another pair, by its letters
        ("Leave!", "¡Sal!"),
        ("Fire!", "¡Fuego!"),
        ("Ask!", "sal"),  # "ask" comes before "go" and "leave", which it is connected to
    ]
    alone = {word: split_of(word, 0.25) for word in ("Wow!", "Run!", "Ask!", "Fire!")}
    assert alone == {"Wow!": "test", "Run!": "train", "Ask!": "test", "Fire!": "validation"}
    order = ["Wow!", "Run!", "Ask!", "Run!", "Ask!", "Ask!", "Fire!", "Ask!"]
    expected = [alone[word] for word in order]
    assert splits_by_component(pairs, 0.25) == expected


def test_the_same_word_on_both_sides_connects_nothing():
    words = ["Go.", "Wow!", "Who?"]
    splits = splits_by_component(list(zip(words, words[1:] + words[:1], strict=True)), 0.25)
    assert splits == [split_of(word, 0.25) for word in words]


# Few sentences, so that many are shared; some differ in what does not count.
sentences = st.builds(
    lambda word, mark: word.title() + mark if mark else word,
    st.sampled_from([f"word{n}" for n in range(25)]),
    st.sampled_from(["", "!", " ...", "?"]),
)
corpora = st.lists(st.tuples(sentences, sentences), max_size=30)


@hypothesis.given(pairs=corpora, other=corpora, held_out=st.sampled_from([0.1, 0.33, 0.5]))
def test_no_two_splits_share_a_sentence_and_other_pairs_move_nothing(pairs, other, held_out):
    splits = splits_by_component(pairs, held_out)
    homes = {}
    for pair, split in zip(pairs, splits, strict=True):
        for side, sentence in enumerate(pair):
            assert homes.setdefault((side, letters_of(sentence)), split) == split
    # Not connected to any of the pairs.
    elsewhere = [(f"elsewhere {source}", f"elsewhere {target}") for source, target in other]
    assert splits_by_component([*elsewhere, *pairs], held_out)[len(elsewhere) :] == splits
    assert splits_by_component(pairs[::-1], held_out) == splits[::-1]


@hypothesis.given(pairs=corpora)
def test_a_split_is_that_of_the_first_source_reached(pairs):
    """The slow way: spread the smallest source over neighbours until nothing changes."""
    keys = [(letters_of(source), letters_of(target)) for source, target in pairs]
    first = [source for source, _ in keys]
    changed = True
    while changed:
        changed = False
        for one, (source, target) in enumerate(keys):
            near = [n for n, key in enumerate(keys) if key[0] == source or key[1] == target]
            smallest = min(first[n] for n in near)
            changed |= smallest != first[one]
            first[one] = smallest
    assert splits_by_component(pairs, 0.33) == [split_of(source, 0.33) for source in first]


def test_a_part_can_be_divided_again_with_a_new_salt():
    sentences = [f"sentence {n}" for n in range(2000)]
    part = [text for text in sentences if split_of(text, 0.1) == "train"]
    assert {split_of(text, 0.1) for text in part} == {"train"}
    again = Counter(split_of(text, 0.1, b"new") for text in part)
    assert 100 <= again["validation"] <= 230
    assert 100 <= again["test"] <= 230
