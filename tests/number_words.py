"""Number words in two languages: a translation task that is learned in seconds."""

import random

from aiayn_keras.models import TransformerTokenizer

GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
DICTIONARY = dict(zip(GERMAN, ENGLISH, strict=True))


def number_words(num_pairs, seed):
    """Pairs of texts of one to five number words."""
    choose = random.Random(seed)
    sources = [choose.choices(GERMAN, k=choose.randint(1, 5)) for _ in range(num_pairs)]
    return [(" ".join(ws), " ".join(DICTIONARY[w] for w in ws)) for ws in sources]


def train_tokenizer():
    texts = [text for pair in number_words(500, 1) for text in pair]
    return TransformerTokenizer.train(texts, 96, normalization="nmt_nfkc")
