"""How a model bears what people type and paste, beside what it makes of clean text.

    python -m benchmarks.quality.typed saved_models/tatoeba_en_es_keras --corpus tatoeba-en-es

Each kind of text is made from the test sentences of a corpus, in English, or from the frames below;
none of it is training text. A share of chrF2 is that of the changed text over that of the clean
text, against the same references (in capitals for sources in capitals). Numbers and copied texts
count as right if the translation holds them unchanged; with copied texts, the rest also has to be
the translation that the clean text has. A word is right if the words of its translation are linked
with it in the aligned training text, or, with `--dictionary`, if Apertium's dictionary has its
translation; a title with a name, if the translation has both. Two sentences as one text are
compared with the translations of each alone.
"""

import random
import re
import string
from collections import Counter
from typing import NamedTuple

import click
import numpy as np

from aiayn_keras.data import load_corpus
from aiayn_keras.data.added_text import count_phrases
from aiayn_keras.data.typing_habits import in_shorthand
from aiayn_keras.models import TransformerSeq2SeqLM
from aiayn_keras.training.translation_scores import corpus_bleu, corpus_chrf
from aiayn_keras_light.placeables import PLACEABLES
from benchmarks.quality.apertium import count_translations

FRAMES = (
    "It costs {} dollars.",
    "I have {} books.",
    "There were {} people at the party.",
    "The train leaves at platform {}.",
    "My room number is {}.",
    "He ran {} meters.",
    "We need {} chairs.",
    "She scored {} points.",
    "The bridge is {} feet long.",
    "Please turn to page {}.",
    "They sold {} tickets.",
    "I paid {} euros for it.",
    "The town has {} inhabitants.",
    "The bus number {} stops here.",
    "Add {} grams of sugar.",
    "He owns {} sheep.",
    "It weighs {} kilos.",
    "I counted {} cars.",
    "The answer is {}.",
    "Her house is number {}.",
)
FORMS = {
    "years": ("She was born in {}.", lambda draw: str(draw.randint(1500, 2099))),
    "prices": (
        "It costs {} euros.",
        lambda draw: f"{draw.randint(1, 999)}.{draw.randint(10, 99)}",
    ),
    "times": (
        "The train leaves at {}.",
        lambda draw: f"{draw.randint(1, 23)}:{draw.randint(10, 59)}",
    ),
    "phone numbers": (
        "Call me at {}.",
        lambda draw: f"{draw.randint(200, 999)}-{draw.randint(1000, 9999)}",
    ),
    "decimals": (
        "The result is {}.",
        lambda draw: f"{draw.randint(0, 99)}.{draw.randint(1, 999)}",
    ),
    "amounts with groups": (
        "The company paid ${}.",
        lambda draw: f"{draw.randint(1_000, 10_000_000):,}.{draw.randint(10, 99)}",
    ),
    "round amounts": (
        "They sold it for {} dollars.",
        lambda draw: (
            f"{draw.randint(1, 99) * 10 ** draw.randint(3, 6):,}{draw.choice(['', '.00'])}"
        ),
    ),
}
EMOJI = (
    *(
        "😀",
        "😂",
        "🤣",
        "😍",
        "🥺",
        "😭",
        "👍",
        "🙏",
        "🎉",
        "🔥",
        "❤",
        "✨",
        "🚀",
        "🐶",
        "🍕",
        "☕",
    ),
    *("🇪🇸", "👍🏽", "👨\u200d👩\u200d👧", "🤷"),
)
FOREIGN = (
    *("Москва", "Владимир", "東京", "こんにちは", "서울", "Αθήνα", "ירושלים", "القاهرة", "दिल्ली"),
    *("กรุงเทพ", "Łódź", "Reykjavík", "Nguyễn", "Škoda", "Zwolle", "Xochitl", "Oaxaca", "Kjetil"),
)
ACRONYMS = (
    *("IBM", "BBC", "MIT", "HTML", "PDF", "USB", "GPS", "VPN", "SMS", "CPU", "RAM", "KFC", "BMW"),
    *("SDK", "API", "URL", "PIN", "PC", "CV", "HDMI", "CEO", "UNICEF", "USB-C", "L.A."),
    *("WhatsApp", "PayPal", "YouTube", "LinkedIn", "PhD", "WiFi"),
)
ACRONYM_FRAMES = (
    "What does {} mean?",
    "My {} is broken.",
    "Tom likes {} a lot.",
    "The {} file is too big.",
    "They talked about {} yesterday.",
    "{} is expensive, isn't it?",
)
TITLES = {
    "Mr.": ("señor", "Sr."),
    "Mrs.": ("señora", "Sra."),
    "Dr.": ("doctor", "Dr.", "Dra."),
}
SURNAMES = ("Nguyen", "Okafor", "Schmidt", "Rossi", "Johnson", "Petrov", "Hernandez", "Park")
TITLED = ("{} is here.", "I met {} yesterday.", "Dear {},", "Good morning, {}.", "This is for {}.")
PARTNERS = {
    **{"he": "she", "He": "She", "his": "her", "mother": "father", "brother": "sister"},
    **{"boy": "girl", "man": "woman", "son": "daughter", "dog": "cat", "tea": "coffee"},
    **{"today": "tomorrow", "Monday": "Tuesday", "red": "blue", "big": "small", "and": "or"},
}
PARTNERED = re.compile(rf"\b(?:{'|'.join(PARTNERS)})\b")
INVISIBLE = "\u00ad\u200b\u200d\ufeff\u2060\u200e"
LETTERS = re.compile(r"[A-Za-z]{4,}")


class Figure(NamedTuple):
    """One figure of a model.

    Attributes:
        kind: Kind of text.
        value: The figure: a share, or for clean text chrF2 or BLEU, 0 to 100.
        meaning: What it is of.
    """

    kind: str
    value: float
    meaning: str


def quoted(text, draw):
    marks = draw.choice(("“”", "„“", "«»", "‘’"))
    return f"{marks[0]}{text.replace(chr(39), '’')}{marks[1]}"


def dashed(text, draw):
    return f"{text[:-1]} {draw.choice('–—')} {text}"


def with_invisible(text, draw):
    place = draw.randrange(len(text))
    return text[:place] + draw.choice(INVISIBLE) + text[place:]


def mistyped(text, draw):
    words = list(LETTERS.finditer(text))
    if not words:
        return text
    word = draw.choice(words)
    place = draw.randrange(word.start(), word.end() - 1)
    left, right = text[place], text[place + 1]
    return text[:place] + draw.choice((right + left, right, left * 2 + right)) + text[place + 2 :]


def without_final_mark(text, draw=None):
    return text.rstrip(".!?")


def with_shorthand(text, draw):
    return in_shorthand(text, np.random.default_rng(draw.getrandbits(32)))


@click.command(help=__doc__)
@click.argument("models", nargs=-1, required=True)
@click.option("--corpus", default="tatoeba-en-es", show_default=True, help="Name of a corpus.")
@click.option("--sentences", default=400, show_default=True, help="Number of test sentences.")
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--placeables",
    type=click.Choice(PLACEABLES),
    default="translate",
    show_default=True,
    help="As in `TransformerSeq2SeqLM.translate`; `aiayn-keras translate` keeps them.",
)
@click.option("--dictionary", is_flag=True, help="Also ask Apertium's dictionary about words.")
def main(models, corpus, sentences, seed, placeables, dictionary):
    corpus = load_corpus(corpus)
    pairs, words = choose_texts(corpus, corpus.test, sentences, seed)
    for name in models:
        print(f"{name}: {len(pairs)} sentences")
        model = TransformerSeq2SeqLM.from_preset(name)
        for kind, value, meaning in measure(model, pairs, words, seed, placeables, dictionary):
            shown = f"{value:.1f}" if kind == "clean text" else f"{value:.3f}"
            print(f"  {kind:34} {shown:>6} {meaning}", flush=True)


def choose_texts(corpus, text, sentences, seed):
    """Chooses the sentences and words that a model is to translate.

    Args:
        corpus: A `Corpus`.
        text: The `ParallelText` of it to choose from, not the training text, which models know.
        sentences: Number of pairs.
        seed: Seed of the choice.

    Returns:
        List of pairs, and a dictionary from the 3,000 commonest source words of the training text
        to counters of the translations that alignment finds.
    """
    pairs = [pair for pair in text if 4 <= len(pair[0].split()) <= 20]
    pairs = random.Random(seed).sample(pairs, min(sentences, len(pairs)))
    words = Counter(re.findall(r"[a-z']+", " ".join(corpus.train.sources).lower()))
    known = count_phrases(list(corpus.train))
    return pairs, {word: known[word] for word, _ in words.most_common(3000)}


def measure(model, pairs, words, seed, placeables="translate", dictionary=False):
    """Yields every `Figure` of a model; the texts are those of `choose_texts`."""
    sources, references = map(list, zip(*pairs, strict=True))

    def translate(texts):
        return [found.text for found in model.translate(texts, placeables=placeables)]

    def chrf(texts, wanted=references):
        return corpus_chrf(texts, wanted).score

    clean = translate(sources)
    score = chrf(clean)
    yield Figure("clean text", score, "chrF2")
    yield Figure("clean text", corpus_bleu(clean, references).score, "BLEU")
    kinds = {
        "invisible characters": with_invisible,
        "capitals": lambda text, draw: text.upper(),
        "title case": lambda text, draw: string.capwords(text, " "),
        "lower case": lambda text, draw: text.lower(),
        "no final mark": without_final_mark,
        "a typing error": mistyped,
        "chat shorthand": with_shorthand,
    }
    compared = {"capitals": str.upper, "no final mark": without_final_mark}
    for kind, change in kinds.items():
        draw = random.Random(seed)
        found = translate([change(text, draw) for text in sources])
        form = compared.get(kind, str)
        wanted = [form(text) for text in references]
        base = chrf([form(text) for text in clean], wanted)
        if kind == "no final mark":
            found = [form(text) for text in found]
        yield Figure(kind, chrf(found, wanted) / base, "of clean chrF2")
    draw = random.Random(seed)
    plain = translate([f'"{text}"' for text in sources])
    found = translate([quoted(text, draw) for text in sources])
    yield Figure("typographic quotes", chrf(found) / chrf(plain), "of chrF2 with typewriter quotes")
    draw = random.Random(seed)
    commas = translate([f"{text[:-1]}, {text}" for text in sources])
    found = translate([dashed(text, draw) for text in sources])
    twice = [f"{text[:-1]}, {text}" for text in references]
    yield Figure("dashes", chrf(found, twice) / chrf(commas, twice), "of chrF2 with commas")
    joined, alone, wanted = (
        [f"{one} {other}" for one, other in zip(texts[::2], texts[1::2], strict=False)]
        for texts in (sources, clean, references)
    )
    share = chrf(translate(joined), wanted) / chrf(alone, wanted)
    yield Figure("two sentences", share, "of chrF2 of each alone")
    told = [text[:-1] for text in sources if text.endswith(".")]
    kept = [text.endswith("...") for text in translate([f"{text}..." for text in told])]
    yield Figure("an ellipsis at the end", np.mean(kept), "kept")
    found = translate([f"{text}... {text}." for text in told])
    yield Figure("an ellipsis inside", np.mean(["... " in text for text in found]), "kept")
    again = [f"{text} {text}" for text in translate([f"{text}." for text in told])]
    share = chrf([text.replace("... ", ". ") for text in found], again)
    yield Figure("an ellipsis inside", share / 100, "chrF2 against the sentences alone")
    yield from _copied(translate, sources, clean, seed)
    yield _alternatives(translate, sources)
    yield from _numbers(translate, seed)
    yield from _words(translate, words, dictionary)


def _copied(translate, sources, clean, seed):
    for kind, options, put in (
        ("emoji", EMOJI, lambda text, copied, _: f"{text} {copied}"),
        ("emoji inside", EMOJI, _inside),
        ("foreign words", FOREIGN, lambda text, copied, _: f"{text} {copied}"),
    ):
        draw = random.Random(seed)
        chosen = [draw.choice(options) for _ in sources]
        found = translate(
            [put(text, copied, draw) for text, copied in zip(sources, chosen, strict=True)]
        )
        kept = [copied in text for text, copied in zip(found, chosen, strict=True)]
        same = [
            "".join(text.replace(copied, "").split()) == "".join(rest.split())
            for text, copied, rest in zip(found, chosen, clean, strict=True)
        ]
        yield Figure(kind, np.mean(kept), "kept")
        yield Figure(kind, np.mean(same), "with the rest as without them")
    names = ("I saw {} yesterday.", "{} is my friend.", "Do you know {}?", "We live in {}.")
    for kind, frames, words in (
        ("foreign words inside", names, FOREIGN),
        ("acronyms", ACRONYM_FRAMES, ACRONYMS),
    ):
        texts = [(frame, word) for frame in frames for word in words]
        found = translate([frame.format(word) for frame, word in texts])
        kept = [word in text for (_, word), text in zip(texts, found, strict=True)]
        yield Figure(kind, np.mean(kept), "kept")


def _alternatives(translate, sources):
    """The figure of texts such as `He/She is here.`, beside those with one of the two words."""
    cases = [(text, match) for text in sources if (match := PARTNERED.search(text))]

    def with_words(form):
        """Translations of the texts with one of two words, or both."""
        return translate(
            [
                text[: match.start()]
                + form.format(match[0], PARTNERS[match[0]])
                + text[match.end() :]
                for text, match in cases
            ]
        )

    first, others, found = map(with_words, ("{0}", "{1}", "{0}/{1}"))
    words = [[set(re.findall(r"\w+", text)) for text in texts] for texts in (first, others, found)]
    kept = [one ^ other <= whole for one, other, whole in zip(*words, strict=True) if one != other]
    return Figure("two words with a slash", np.mean(kept), f"of {len(kept)} with all that differs")


def _inside(text, copied, draw):
    words = text.split()
    words.insert(draw.randrange(1, len(words)), copied)
    return " ".join(words)


def _words(translate, words, dictionary):
    """Yields what becomes of words alone: a dictionary of counters of their translations."""
    found = translate([*words])
    empty = sum(not text.strip() for text in found)
    linked = {word: {w for text in links for w in text.split()} for word, links in words.items()}
    right = {
        word: bool(spoken := re.findall(r"\w+", text.lower())) and set(spoken) <= linked[word]
        for word, text in zip(words, found, strict=True)
        if linked[word]
    }
    yield Figure("commonest words", empty / len(words), "empty")
    yield Figure("commonest words", np.mean([*right.values()]), "with linked words alone")
    if dictionary:
        listed, known = count_translations(dict(zip(words, found, strict=True)))
        either = [right.get(word, False) or word in listed for word in {*right, *known}]
        yield Figure("commonest words", np.mean(either), "linked or in Apertium's dictionary")
    cases = [
        (frame.format(f"{title} {name}"), name, spoken)
        for frame in TITLED
        for title, spoken in TITLES.items()
        for name in SURNAMES
    ]
    found = translate([text for text, _, _ in cases])
    right = [
        name in text and any(each in text for each in spoken)
        for text, (_, name, spoken) in zip(found, cases, strict=True)
    ]
    yield Figure("titles with names", np.mean(right), "right")


def _numbers(translate, seed):
    draw = random.Random(seed)
    cases = [(frame, str(draw.randrange(10 ** draw.randint(1, 4)))) for frame in FRAMES * 20]
    yield _unchanged(translate, "numbers 0 to 9,999", cases, str.__contains__)
    for kind, (frame, number) in FORMS.items():
        cases = [(frame, number(draw)) for _ in range(100)]
        yield _unchanged(translate, kind, cases, _holds_in_either_notation)


def _unchanged(translate, kind, cases, holds):
    found = translate([frame.format(number) for frame, number in cases])
    right = [holds(text, number) for text, (_, number) in zip(found, cases, strict=True)]
    return Figure(kind, np.mean(right), "unchanged")


def _holds_in_either_notation(text, number):
    """True if a text holds a number, with the separators of English or of other languages."""
    return number in text or number.translate(str.maketrans(",.", ".,")) in text


if __name__ == "__main__":
    main()
