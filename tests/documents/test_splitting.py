import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn_keras.documents import splitting
from tests.documents.hard_texts import HARD_TEXTS

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

NO_LIMIT = 10**9


def count_letters(sentences):
    """As if every letter were a wordpiece."""
    return tf.cast(tf.strings.length(sentences, "UTF8_CHAR"), tf.int64)


@tf.function(
    input_signature=[tf.TensorSpec([None], tf.string), tf.TensorSpec([], tf.int64)], autograph=False
)
def split_in_graph(texts, limit):
    separators, sentences = splitting.split_texts(texts, count_letters, limit)
    return separators, sentences, splitting.join_texts(separators, sentences, sentences)


def split(texts, limit=NO_LIMIT):
    """Separators and sentences of texts, as lists of lists of bytes; joined, they are the texts."""
    texts = tf.constant(texts, tf.string)
    separators, sentences, joined = split_in_graph(texts, limit)
    assert joined.numpy().tolist() == texts.numpy().tolist()
    separators, sentences = separators.to_list(), sentences.to_list()
    assert [len(row) for row in separators] == [len(row) + 1 for row in sentences]
    return separators, sentences


def sentences_of(text, limit=NO_LIMIT):
    (sentences,) = split([text], limit)[1]
    return [sentence.decode() for sentence in sentences]


@pytest.fixture(scope="module")
def found():
    """Sentences of all hard texts."""
    _, sentences = split([each.text for each in HARD_TEXTS.values()])
    return dict(zip(HARD_TEXTS, sentences, strict=True))


@pytest.mark.parametrize("name", HARD_TEXTS)
def test_a_hard_text_is_split_as_the_table_says(found, name):
    assert tuple(each.decode() for each in found[name]) == HARD_TEXTS[name].sentences


def test_the_table_has_sixty_cases_and_few_limits():
    limits = [name for name, each in HARD_TEXTS.items() if each.limit]
    assert len(HARD_TEXTS) >= 60
    assert len(limits) <= len(HARD_TEXTS) / 6


def test_the_layout_is_in_the_separators():
    text = "\n  1. One.  Two.\r\n\r\n\t- three \n-----\n"
    ((separators,), (sentences,)) = split([text])
    assert sentences == [b"One.", b"Two.", b"three"]
    assert separators == [b"\n  1. ", b"  ", b"\r\n\r\n\t- ", b" \n-----\n"]


@pytest.mark.parametrize(
    ("lead", "sentence"),
    [
        *(("", "1. Mai ist Feiertag."), ("- ", "2. Klasse bitte"), ("1. ", "2. maj er fri.")),
        *(("> ", "1. und 2. Platz"), ("", "(21. Jahrhundert)"), (" ", "3.  Jan. war es kalt.")),
        *(("2. ", "Maier kommt."), ("1. ", "May is warm."), ("1. ", "2.1 Kapitel")),
    ],
)
def test_an_ordinal_is_a_part_of_its_sentence(lead, sentence):
    ((separators,), (sentences,)) = split([lead + sentence])
    assert (separators[0].decode(), sentences) == (lead, [sentence.encode()])


def test_a_text_does_not_depend_on_the_others():
    texts = [each.text for each in HARD_TEXTS.values()]
    assert split(texts)[1][5:8] == split(texts[5:8])[1]
    assert split([]) == ([], [])


PIECES = st.sampled_from(
    [
        *"aB é.!?…,:;\"'()[]»«”’¿-—\n\r\t\0\x85\u2028\u00a0\u3000。！😀\u0301\u200d\ufeff1",
        "Mr. ",
        "U.S. ",
        "... ",
    ]
)
TEXTS = st.lists(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=9), max_size=3)


@settings(max_examples=120)
@given(texts=TEXTS, limit=st.integers(1, 12))
def test_parts_of_any_text_are_the_text_and_no_sentence_is_too_long(texts, limit):
    _, rows = split([text.encode() for text in texts], limit)
    for sentence in (sentence for row in rows for sentence in row):
        assert len(sentence.decode()) <= limit
        assert sentence.decode().strip() == sentence.decode() != ""


@settings(max_examples=60)
@given(texts=st.lists(st.binary(max_size=20), max_size=3), limit=st.integers(1, 12))
def test_parts_of_any_bytes_are_the_bytes(texts, limit):
    split(texts, limit)


@pytest.mark.parametrize(
    "text",
    ["." * 100_000, "é" * 50_000, "\n" * 50_000, "A." * 50_000, "hi, " * 25_000, "?!" * 50_000],
    ids=lambda text: text[:4],
)
def test_a_hundred_kilobytes_of_anything_are_split(text):
    (sentences,) = split([text], limit=500)[1]
    assert all(len(sentence.decode()) <= 500 for sentence in sentences)


@pytest.mark.parametrize(
    ("text", "limit", "sentences"),
    [
        ("one two, three four", 12, ["one two,", "three four"]),
        ("one two three four", 12, ["one two", "three four"]),
        ("a, two three four five", 12, ["a, two three", "four five"]),  # the comma is too far away
        ("abcdefgh", 3, ["ab", "cd", "ef", "gh"]),
        ("我们很好，你们也很好", 6, ["我们很好，", "你们也很好"]),
        ("e\u0301e\u0301e\u0301", 5, ["e\u0301", "e\u0301e\u0301"]),
        ("a👨‍👩‍👧b👨‍👩‍👧", 7, ["a👨‍👩‍👧", "b👨‍👩‍👧"]),
    ],
)
def test_a_long_sentence_is_cut_at_the_best_place(text, limit, sentences):
    assert sentences_of(text, limit) == sentences


def test_a_character_that_is_too_long_is_left_whole():
    texts = tf.constant(["ab cd"])
    parts = splitting.split_texts(texts, lambda each: count_letters(each) * 9, 5)
    assert parts.sentences.to_list() == [[b"a", b"b", b"c", b"d"]]


@pytest.mark.parametrize("limit", [NO_LIMIT, 20])
def test_a_graph_splits_as_eager_code_does(limit):
    texts = [*(each.text for each in HARD_TEXTS.values()), b"\xff. \xfe", "long " * 99]
    parts = splitting.split_texts(tf.constant(texts), count_letters, limit)
    assert tuple(part.to_list() for part in parts) == split(texts, limit)


def test_strings_with_zeros_come_back(tokenizer):
    ((separators, sentences),) = splitting.split_strings(["a\0. \0"], tokenizer.proto, 9)
    assert (separators, sentences) == (["", " \0"], ["a\0."])


def test_a_missing_library_is_named(tokenizer, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ImportError, match=r"`tensorflow_text` .*: pip install tensorflow-text\.$"):
        splitting.split_strings(["One. Two."], tokenizer.proto, 9)


ZH = ["我回家。", "她看书！", "（真的？）", "你来吗？"]
EN = ["I go home.", "She reads!", "(Really?)", "Do you come?"]
JOINED = [
    ("我回家。她看书！", ZH[:2], EN[:2], "I go home. She reads!"),
    ("我回家。她看书！", ZH[:2], ["私は帰る。", "She reads!"], "私は帰る。She reads!"),
    ("我回家。她看书！", ZH[:2], ["I go.", "彼女は読む！"], "I go.彼女は読む！"),
    ("我回家。 她看书！", ZH[:2], EN[:2], "I go home. She reads!"),
    ("我回家。她看书！", ZH[:2], ["", "She reads!"], "She reads!"),
    ("我回家。她看书！", ZH[:2], ["I go. ", "She reads!"], "I go. She reads!"),
    ("She", ["Sh", "e"], ["El", "la"], "Ella"),
    (f"1. {''.join(ZH)}\n", ZH, EN, f"1. {' '.join(EN)}\n"),
]


@pytest.mark.parametrize(("text", "sentences", "translations", "expected"), JOINED)
def test_a_space_comes_where_the_other_language_needs_one(text, sentences, translations, expected):
    """Translations from Chinese stood side by side: `I go home.She reads!`."""
    separators, rest = [], text
    for sentence in sentences:
        before, _, rest = rest.partition(sentence)
        separators.append(before)
    separators.append(rest)
    assert splitting.join_strings(separators, sentences, translations) == expected
    ragged = [
        tf.ragged.constant([row, each], dtype=tf.string)
        for row, each in zip(
            (["", ""], ["x"], ["y"]), (separators, sentences, translations), strict=True
        )
    ]
    assert [each.decode() for each in splitting.join_texts(*ragged).numpy()] == ["y", expected]
