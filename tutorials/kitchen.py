"""Kitchen instructions in English and German, the new domain of notebook 20.

`kitchen_pairs` builds them from a few patterns. As in the demo language, each English sentence has
exactly one German translation; the model `demo_en_de` knows few of the words and none of the
imperatives.
"""

import itertools
import random

from aiayn_keras.data import ParallelText

# English, German accusative with its article, German and English pronoun.
_FOODS = [
    *(("onions", "die Zwiebeln"), ("carrots", "die Karotten"), ("potatoes", "die Kartoffeln")),
    *(("mushrooms", "die Pilze"), ("beans", "die Bohnen"), ("tomatoes", "die Tomaten")),
    *(("fish", "den Fisch"), ("garlic", "den Knoblauch"), ("cabbage", "den Kohl")),
    *(("meat", "das Fleisch"), ("chicken", "das Hähnchen"), ("pumpkin", "den Kürbis")),
]
_PRONOUNS = {"die": ("them", "sie"), "den": ("it", "ihn"), "das": ("it", "es")}
_PREPARATIONS = [("wash", "wasche"), ("chop", "hacke"), ("slice", "schneide"), ("weigh", "wiege")]
_COOKING = [
    ("fry", "brate", "brätst"),
    ("boil", "koche", "kochst"),
    ("steam", "dünste", "dünstest"),
]
_LIQUIDS = [("butter", "Butter"), ("oil", "Öl"), ("broth", "Brühe"), ("wine", "Wein")]
_MINUTES = [("five", "fünf"), ("ten", "zehn"), ("twelve", "zwölf"), ("twenty", "zwanzig")]
_SPICES = [
    *(("salt", "Salz"), ("pepper", "Pfeffer"), ("thyme", "Thymian"), ("parsley", "Petersilie")),
    *(("lemon juice", "Zitronensaft"), ("mustard", "Senf")),
]
_VESSELS = [
    ("pan", "die Pfanne"),
    ("pot", "den Topf"),
    ("oven", "den Ofen"),
    ("bowl", "die Schüssel"),
]


def _all_pairs():
    """Every sentence of the patterns."""
    for food, acc in _FOODS:
        it, es = _PRONOUNS[acc[:3]]
        for (prepare, bereite), (cook, koche, kochst) in itertools.product(_PREPARATIONS, _COOKING):
            start, anfang = f"{prepare.capitalize()} the {food}", f"{bereite.capitalize()} {acc}"
            yield f"{start} before you {cook} {it}.", f"{anfang}, bevor du {es} {kochst}."
            for (liquid, in_), (number, zahl) in itertools.product(_LIQUIDS, _MINUTES):
                yield (
                    f"{start} and {cook} {it} in {liquid} for {number} minutes.",
                    f"{anfang} und {koche} {es} {zahl} Minuten in {in_}.",
                )
        for (spice, mit), (other, und) in itertools.permutations(_SPICES, 2):
            yield (
                f"Season the {food} with {spice} and {other}.",
                f"Würze {acc} mit {mit} und {und}.",
            )
        for (vessel, in_), (spice, mit) in itertools.product(_VESSELS, _SPICES):
            yield (
                f"Put the {food} into the {vessel} and add {spice}.",
                f"Gib {acc} in {in_} und füge {mit} hinzu.",
            )


def kitchen_pairs(train_size=1_500, test_size=100, seed=1):
    """Draws different sentences for training and for testing.

    Args:
        train_size: Number of pairs for training.
        test_size: Number of pairs for testing.
        seed: Seed of the draw.

    Returns:
        Two `ParallelText`s without a sentence in common.

    Raises:
        ValueError: If the patterns have fewer sentences.
    """
    drawn = random.Random(seed).sample(list(_all_pairs()), train_size + test_size)
    parts = drawn[:train_size], drawn[train_size:]
    return [ParallelText(*zip(*part, strict=True), name="kitchen") for part in parts]
