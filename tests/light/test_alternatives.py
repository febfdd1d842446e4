"""Texts with `he/she` or `file(s)`, which are translated with each of the words."""

import pytest

from aiayn_keras_light.alternatives import translate_alternatives
from aiayn_keras_light.placeable_patterns import placeable_in_line
from aiayn_keras_light.placeables import translate_emoji, translate_placeables
from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.translating import Hypothesis, as_translation


class TranslatorDouble:
    """In the place of a model's `translate`: known translations, or the text in capitals."""

    def __init__(self, known=None):
        self.known, self.calls = known or {}, []

    def __call__(self, texts, progress=None):
        self.calls += texts
        found = [self.known.get(text, text.upper()) for text in texts]
        return [each and as_translation([Hypothesis(each, -1.0, -0.5, ("a",))]) for each in found]


def read(text):
    """The texts that are translated for one."""
    double = TranslatorDouble()
    translate_alternatives([text], double, placeable_in_line(), None)
    return double.calls


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("He/she sings.", ["He sings.", "She sings."]),
        ("cats and/or dogs", ["cats and dogs", "cats or dogs"]),
        ("a pen/cup/key!", ["a pen!", "a cup!", "a key!"]),
        ("his/her cat/dog", ["his cat", "her cat", "his dog"]),
        ("Mr./Mrs. Smith", ["Mr. Smith", "Mrs. Smith"]),
        ("my dog's/cat's-eye", ["my dog's", "my cat's-eye"]),
        ("the YES/NO button", ["the YES/NO button"]),
        ("YES/NO", ["YES", "NO"]),
        ("dog(s) run", ["dog run", "dogs run"]),
        ("3 dog(s), 1 cat(s), 21 box(es)", ["3 dogs, 1 cat, 21 boxes", "3 dogs, 1 cats, 21 boxes"]),
        ("он/она поёт", ["он поёт", "она поёт"]),
    ],
)
def test_a_text_is_read_with_each_of_the_words(text, texts):
    assert read(text) == texts


@pytest.mark.parametrize(
    "text",
    [
        "w/o it, 100 km/h, 24/7, n/a, a/b",
        "5 dollars/day and 20 miles/hour",
        "https://a.org/one/two and src/main.py, /usr/local or <br/>",
        "`his/her` on GitHub/GitLab, TCP/IP",
        "Lehrer/innen, professor/es",
        "read /r/news or @me/you",
        "f(s), run(self), a.dog(s), dogs(two)",
        "茶好喝/咖啡好喝",
        "one/two three/four five/six seven/eight",
    ],
)
def test_other_slashes_and_brackets_are_left_to_the_model(text):
    assert read(text) == [text]


def translate(text, known=None):
    (found,) = translate_placeables([text], TranslatorDouble(known))
    return found.text


@pytest.mark.parametrize(
    ("text", "known", "wanted"),
    [
        ("I like tea/milk.", {}, "I LIKE TEA/MILK."),
        (
            "He/she sings.",
            {"He sings.": "Él canta.", "She sings.": "Ella canta."},
            "Él/Ella canta.",
        ),
        ("his/her cat", {"his cat": "su gato", "her cat": "su gato"}, "su gato"),
        (
            "the boy/girl is old",
            {"the boy is old": "el niño es viejo", "the girl is old": "la niña es vieja"},
            "el niño es viejo/la niña es vieja",
        ),
        ("no/yes man", {"no man": "nadie", "yes man": "nadie dice no"}, "nadie/nadie dice no"),
        ("the dog(s)", {"the dog": "un perro", "the dogs": "un perros"}, "un perro(s)"),
        ("the dog(s)", {"the dog": "el can", "the dogs": "los canes"}, "el can/los canes"),
        ("his/her cat/dog", {}, "HIS/HER CAT/DOG"),
        ("He/she (my cat/dog) 😀 is at a.org!", {}, "HE/SHE (MY CAT/DOG) 😀 IS AT a.org!"),
    ],
)
def test_all_that_differs_is_written(text, known, wanted):
    assert translate(text, known) == wanted


@pytest.mark.parametrize(
    "known",
    [
        {"a cat": "uno dos tres cuatro cinco seis siete ocho nueve"},
        {"a cat": None},
        {"a dog": None},
    ],
)
def test_a_text_whose_translations_say_it_differently_is_left_to_the_model(known):
    assert translate("a dog/cat", known) == "A DOG/CAT"


def test_differences_that_overlap_are_left_to_the_model():
    known = {"a cat/cup": "x", "his cat": "a b", "her cat": "c d", "his cup": "e f"}
    assert translate("his/her cat/cup", known) == "HIS/HER CAT/CUP"


def test_there_is_one_hypothesis_with_the_scores_of_the_first():
    (found,) = translate_placeables(["He/she"], TranslatorDouble())
    assert len(found.hypotheses) == 1
    assert (found.score, found.normalized_score, found.tokens) == (-1.0, -0.5, ("a",))


def test_documents_have_them_too():
    (found,) = translate_emoji(["He/she ヌ 😀"], TranslatorDouble())
    assert found.text == "HE/SHE ヌ 😀"


def test_progress_counts_texts_once():
    counts = []

    def translate(texts, progress):
        if progress is not None:
            progress(len(texts))
        return TranslatorDouble()(texts)

    translate_placeables(["He/she sings.", "one"], translate, counts.append)
    assert counts == [2]


@pytest.mark.parametrize("bad", ["two cat", "two dog", "two cat/dog"])
def test_an_error_names_the_text(bad):
    double = TranslatorDouble({"two dog": None} if bad == "two cat/dog" else None)

    def refuse(texts, progress):
        if bad in texts:
            raise TextError("texts", texts.index(bad), "it is bad")
        return double(texts)

    with pytest.raises(TextError, match=r"texts\[1\].*it is bad"):
        translate_placeables(["one", "two cat/dog", "three mice/rats"], refuse)


@pytest.mark.parametrize(
    ("text", "translations", "found"),
    [("yes/no", ("sí", "No"), "sí/no"), ("tea/Tom", ("té", "Tom"), "té/Tom")],
)
def test_words_in_small_letters_stay_so(text, translations, found):
    double = TranslatorDouble(dict(zip(text.split("/"), translations, strict=True)))
    (translation,) = translate_alternatives([text], double, placeable_in_line(), None)
    assert translation.text == found
