"""Emoji within a sentence: which translation is taken, and where they stand in it."""

import pytest

from aiayn_keras_light.inner_emoji import with_emoji, without_emoji
from aiayn_keras_light.placeables import translate_placeables
from aiayn_keras_light.translating import Hypothesis, as_translation

ONE = {"😀": "🐶"}


def translation(*texts, score=-1.0):
    return as_translation([Hypothesis(text, score, score, ()) for text in texts])


def put_in(text, other, words=None, source="a 😀 b", **scores):
    plain = translation(text, score=scores.get("plain", -1.0))
    made = with_emoji(plain, translation(other), words or ONE, source)
    return made and made.text


@pytest.mark.parametrize(
    ("text", "words", "plain"),
    [
        ("I like 😀 tea", {"😀": "🏖️"}, "I like tea"),
        ("well 😀, and 🎉 you?", {"😀": "👍🏽", "🎉": "☕"}, "well, and you?"),
        ("no😀way", ONE, "noway"),
        ("thanks for it 😀 dear", {"😀": "❤️"}, "thanks for it dear"),
        ("I 😀 tea", {"😀": "❤️"}, None),
        ("it is so. We 😀 tea", {"😀": "💚"}, None),
        ("one 😀 two", {"😀": "➔"}, None),
        ("I like 😀 and 🎉 tea", {"😀": "🐶", "🎉": "®"}, None),
        ("no emoji", {}, None),
    ],
)
def test_emoji_are_left_out(text, words, plain):
    assert without_emoji(text, words) == plain


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        # Behind the same word, or before it.
        ("Tengo que conocerlo.", "Tengo que 😀 verle a él.", "Tengo que 😀 conocerlo."),
        ("Quiero el gato.", "Me gusta 😀 el perro.", "Quiero 😀 el gato."),
        ("Ayer vine.", "😀 Ayer fui.", "😀 Ayer vine."),
        # With other signs and letters, and a word that occurs twice.
        ("¡Gracias por las flores!", "gracias 😀 ¡Para las flores!", "¡Gracias 😀 por las flores!"),
        ("la casa y la flor", "la casa y 😀 la flor", "la casa y 😀 la flor"),
        # Before the marks that follow it, and before the last one.
        ("Hola, ¿cómo estás?", "Hola 😀, ¿qué tal?", "Hola 😀, ¿cómo estás?"),
        ("Me voy.", "Yo me voy 😀", "Me voy 😀."),
        # No word is the same: the place in proportion.
        ("uno dos tres cuatro", "ein 😀 zwei", "uno dos 😀 tres cuatro"),
        # No spaces beside letters of scripts without.
        ("我喜欢茶", "我喜欢😀酒", "我喜欢😀茶"),
        ("我喜欢茶", "我喜欢 😀 酒", "我喜欢 😀 茶"),
    ],
)
def test_an_emoji_stands_beside_the_same_words(text, other, expected):
    assert put_in(text, other) == expected


def test_several_emoji_keep_their_order():
    words = {"😀": "🐶", "🎉": "☕"}
    assert put_in("uno dos", "uno 😀 🎉 zwei", words) == "uno 😀 🎉 dos"
    assert put_in("uno dos tres", "uno 🎉 dos 😀 drei", words) == "uno 🎉 dos 😀 tres"


def test_the_place_is_that_of_the_source_if_the_emoji_was_lost():
    assert put_in("uno Tom dos", "uno Tom dos", source="one Tom 😀 two") == "uno Tom 😀 dos"
    assert put_in("uno Tom dos", "😀 uno 😀", source="one Tom 😀 two") == "uno Tom 😀 dos"


def test_a_much_worse_translation_without_the_emoji_is_not_taken():
    assert put_in("Mi está enfermo.", "Mi 😀 está enfermo.", plain=-1.6) is None
    assert put_in("Mi está enfermo.", "Mi 😀 está mal.", plain=-1.4) == "Mi 😀 está enfermo."


class TranslatorDouble:
    """In the place of a model's `translate`: known translations, and capitals for other texts."""

    def __init__(self, known):
        self.known, self.calls = known, []

    def __call__(self, texts, progress):
        self.calls.append(texts)
        return [translation(*self.known.get(text, [text.upper()])) for text in texts]


def test_texts_with_inner_emoji_are_translated_without_them():
    double = TranslatorDouble(
        {"see ヌ 😀 now": ["VED ヌ 😀 AHORA"], "see ヌ now": ["MIRA ヌ YA", "ヌ"]}
    )
    found = translate_placeables(["at end 🐶", "see a@b.org 👍🏽 now", "no emoji"], double)
    assert double.calls == [["at end", "see ヌ 😀 now", "no emoji"], ["see ヌ now"]]
    assert [each.text for each in found[1].hypotheses] == ["MIRA a@b.org 👍🏽 YA", "a@b.org 👍🏽"]
    assert (found[0].text, found[2].text) == ("AT END 🐶", "NO EMOJI")


def test_the_translation_with_emoji_is_taken_if_the_other_loses_a_placeable():
    double = TranslatorDouble({"see ヌ now": ["MIRA YA"]})
    (found,) = translate_placeables(["see a@b.org 👍🏽 now"], double)
    assert found.text == "SEE a@b.org 👍🏽 NOW"


def test_a_text_that_lost_its_emoji_has_it_again():
    double = TranslatorDouble({"see 😀 it now": ["VEDLO"]})
    (found,) = translate_placeables(["see 🏖️ it now"], double)
    assert found.text == "SEE 🏖️ IT NOW"
