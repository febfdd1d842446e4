import collections
import random

import pytest

from aiayn_keras.data import added_text
from aiayn_keras.data.added_text import extract_phrases

TEXT = [
    ("The red house is old.", "La casa roja es vieja."),
    ("The house is big.", "La casa es grande."),
    ("A red car.", "Un coche rojo."),
    ("My house.", "Mi casa."),
    ("The car is old.", "El coche es viejo."),
    ("I saw Tom in the red car.", "Vi a Tom en el coche rojo."),
    ("Yes, Tom is big.", "Sí, Tom es grande."),
    ("Yes, I saw the house.", "Sí, vi la casa."),
]


def slow_model_1(sources, targets, iterations):
    """Translation probabilities of IBM Model 1 by dictionaries, as in its published pseudocode."""
    probability = collections.defaultdict(lambda: 1.0)
    for _ in range(iterations):
        count, total = collections.Counter(), collections.Counter()
        for source, target in zip(sources, targets, strict=True):
            for word in target:
                norm = sum(probability[word, other] for other in [*source, None])
                for other in [*source, None]:
                    share = probability[word, other] / norm
                    count[word, other] += share
                    total[other] += share
        probability = collections.defaultdict(
            float, {(word, other): c / total[other] for (word, other), c in count.items()}
        )
    return probability


def test_words_are_aligned_as_by_model_1():
    draw = random.Random(3)
    lexicon = {f"s{i}": f"t{i}" for i in range(12)}
    sources = [draw.sample(sorted(lexicon), draw.randint(1, 6)) for _ in range(60)]
    targets = [
        [lexicon[word] for word in draw.sample(source, len(source)) if draw.random() < 0.9]
        + ["filler"] * draw.randint(0, 1)
        for source in sources
    ]
    table = slow_model_1(sources, targets, added_text._ITERATIONS)
    aligned = added_text._aligned(sources, targets)
    for source, target, places in zip(sources, targets, aligned, strict=True):
        for word, place in zip(target, places, strict=True):
            best = max(table[word, other] for other in [*source, None])
            assert table[word, None if place < 0 else source[place]] == pytest.approx(best)


def test_phrases_are_found_with_their_translations():
    found = extract_phrases(TEXT * 2)
    words = dict(found[1])
    expected = {"house": "casa", "car": "coche", "red": "rojo", "Tom": "Tom", "big": "grande"}
    assert expected.items() <= words.items()
    assert ("red car", "coche rojo") in found[2]
    assert max(found) <= 4


def test_no_phrase_holds_punctuation_or_a_rare_guess():
    found = extract_phrases(TEXT)
    assert not any(set(",.") & set(source) for table in found.values() for source, _ in table)
    once = [source for table in extract_phrases(TEXT[:1]).values() for source, _ in table]
    assert once == [], "one occurrence tells nothing"


def test_no_link_leaves_a_phrase():
    crossed = {(0, 0), (1, 2), (2, 1)}
    spans = dict(added_text._consistent(crossed, 3))
    assert spans == {(0, 0): (0, 0), (1, 1): (2, 2), (2, 2): (1, 1), (1, 2): (1, 2), (0, 2): (0, 2)}


def test_a_word_of_many_translations_alike_has_none():
    pairs = [("set", word) for word in ("juego", "puesto", "grupo", "fijo")]
    assert extract_phrases(pairs * 2) == {}


def test_words_are_written_as_inside_sentences():
    pairs = [
        ("Yes, Tom.", "Sí, Tom."),
        ("Yes, I see New York.", "Sí, veo Nueva York."),
        ("I see York.", "Veo York."),
        ("York is far.", "York está lejos."),
        ("Tom is far.", "Tom está lejos."),
        ("My new house.", "Mi nueva casa."),
        ("My house.", "Mi casa."),
        ("New York is far.", "Nueva York está lejos."),
    ]
    found = extract_phrases(pairs * 2)
    assert {"yes": "sí", "Tom": "Tom"}.items() <= dict(found[1]).items()
    assert {("Tom is", "Tom está"), ("New York", "Nueva York")} <= set(found[2])


@pytest.mark.parametrize(
    "pairs", [[], [("", "")], [("...", "!")], [("a " * 50, "b")], [("今日は", "hello")]]
)
def test_texts_without_words_to_align_have_no_phrases(pairs):
    assert extract_phrases(pairs) == {}


@pytest.mark.parametrize(
    ("sentences", "word"),
    [
        (("मैं किताब पढ़ता हूँ।", "वह किताब देखती थी।"), "किताब"),
        (("من کتاب‌ها را دیدم.", "او کتاب‌ها را خرید."), "کتاب‌ها"),
        (("קָרָאתִי סֵפֶר.", "מָצָאתִי סֵפֶר."), "סֵפֶר"),
    ],
)
def test_marks_and_joiners_are_parts_of_words(sentences, word):
    pairs = [*zip(sentences, ("I read books.", "He saw books."), strict=True)] * 2
    found = extract_phrases(pairs)[1]
    assert dict(found)[word] == "books"
    words = {each for sentence in sentences for each in sentence.rstrip(".।").split()}
    assert {source for source, _ in found} <= words


def test_a_sentence_without_spaces_is_not_one_word():
    assert extract_phrases([("我爱你", "I love you"), ("ฉันรักเธอ", "I love you")] * 3) == {}


def test_a_large_corpus_is_sampled_evenly(monkeypatch):
    monkeypatch.setattr(added_text, "MAX_ALIGNED_PAIRS", 4)
    pairs = [("cat", "chat"), ("never", "jamais")] * 4
    assert extract_phrases(pairs) == {1: [("cat", "chat")]}
