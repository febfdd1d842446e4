"""Words in brackets, which are translated as texts of their own."""

import pytest

from aiayn_keras_light.placeable_patterns import placeable_in_line
from aiayn_keras_light.placeables import translate_placeables
from aiayn_keras_light.text_batches import TextError
from aiayn_keras_light.text_parts import with_asides, without_asides
from aiayn_keras_light.translating import Hypothesis, as_translation

ONE, TWO = "\U000f0000", "\U000f0001"


@pytest.mark.parametrize(
    ("text", "main", "asides"),
    [
        ("my son (who is ill) sleeps", f"my son {ONE} sleeps", ["who is ill"]),
        ("two cats (both old) and a dog (new).", f"two cats {ONE} and a dog {TWO}.", None),
        ("(now) go", f"{ONE} go", ["now"]),
        # All words are in brackets; brackets of code, lists and signs; brackets without words.
        ("(not now)!", "(not now)!", []),
        ("call f(all of it) now", "call f(all of it) now", []),
        ("`a (b c) d` is code", "`a (b c) d` is code", []),
        ("she smiles (: so much) now", "she smiles (: so much) now", []),
        ("the union (EU) is old", "the union (EU) is old", []),
        ("a point (12:30) or (a)", "a point (12:30) or (a)", []),
        ("not closed (so it stays", "not closed (so it stays", []),
        (f"icon {ONE} (of a font) stays", f"icon {ONE} (of a font) stays", []),
    ],
)
def test_words_in_brackets_are_taken_out(text, main, asides):
    asides = ["both old", "new"] if asides is None else asides
    assert without_asides(text, placeable_in_line()) == (main, asides)
    assert with_asides(main, asides) == text


def test_words_whose_sign_was_lost_are_at_the_end():
    assert with_asides("all", ["some", "none"]) == "all (some) (none)"


class TranslatorDouble:
    """In the place of a model's `translate`: capitals, and known translations."""

    def __init__(self, **known):
        self.known, self.calls = known, []

    def __call__(self, texts, progress):
        self.calls += texts
        return [
            as_translation([Hypothesis(self.known.get(text, text.upper()), -1.0, -1.0, ())])
            for text in texts
        ]


def translate(text, **known):
    (found,) = translate_placeables([text], TranslatorDouble(**known))
    return found.text


def test_they_stand_where_they_stood():
    assert translate("my son (who is ill) sleeps") == "MY SON (WHO IS ILL) SLEEPS"
    assert translate("two (old) cats (and 😀 dogs).") == "TWO (OLD) CATS (AND 😀 DOGS)."
    assert translate("see (on x.org) it, at a.org!") == "SEE (ON x.org) IT, AT a.org!"


def test_the_last_ones_stay_before_the_mark():
    known = {"it rains!": "¡LLUEVE!", "it rains 😀!": "😀 ¡LLUEVE!"}
    assert translate("it rains (so much)!", **known) == "¡LLUEVE (SO MUCH)!"


def test_a_small_first_letter_stays_small():
    assert translate("he (my son) sleeps", **{"my son": "Mi hijo"}) == "HE (mi hijo) SLEEPS"


def test_an_error_in_brackets_names_the_text():
    def refuse(texts, progress):
        if "bad" in texts:
            raise TextError("texts", texts.index("bad"), "it is bad")
        return TranslatorDouble()(texts, progress)

    with pytest.raises(TextError, match=r"texts\[1\].*it is bad"):
        translate_placeables(["one", "two (bad) three", "four (good)"], refuse)
