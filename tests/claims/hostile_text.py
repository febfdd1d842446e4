"""Text that nobody should send, and somebody will."""

import random

SPACES = " \t\n\r\v\f\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff"
SYMBOLS = ("<s>", "</s>", "<pad>", "<unk>", "▁", "</s></s>", "<s", "s>", "<0x41>", "[CLS]", "\\n")
RIGHT_TO_LEFT = "שלוםעולםمرحبابالعالم\u200f\u202e\u2067\u2069\u0591\u064b"
EMOJI = (
    "👩‍👩‍👧‍👦",
    "🏳️‍🌈",
    "👍🏽",
    "🇩🇪",
    "🇩",
    "❤️‍🔥",
    "\u200d",
    "🏴\U000e0067\U000e0062\U000e0065\U000e007f",
)
BROKEN_UTF8 = (
    b"\xff",
    b"\xc3",  # the first half of ä
    b"\xc0\x80",  # NUL, too long
    b"\xed\xa0\x80",  # a surrogate
    b"\xf4\x90\x80\x80",  # behind the last plane
    b"\x80\x80\x80",
    b"\xe2\x82",
)
LONGEST = 100_000  # characters


def hostile_texts(count, sentences, seed=0, longest=LONGEST, num_longest=8):
    """Many kinds of text in random order.

    Args:
        count: Number of texts.
        sentences: List of ordinary sentences, to be damaged.
        seed: Of the choice.
        longest: Number of characters of the longest texts.
        num_longest: How many of those there are.

    Returns:
        List of `count` bytes.
    """
    rng = random.Random(seed)
    texts = [b"", b" ", b"\x00", SPACES.encode(), *(symbol.encode() for symbol in SYMBOLS)]
    texts += [unit * (longest // len(unit.decode())) for unit in _long_units(num_longest)]
    kinds = (_spaces, _symbols, _plane, _right_to_left, _emoji, _broken, _bytes, _nul, _marks)
    kinds += (lambda rng: _damaged(rng, sentences), _control)
    while len(texts) < count:
        texts.append(kinds[len(texts) % len(kinds)](rng))
    texts = texts[:count]
    rng.shuffle(texts)
    return texts


def _long_units(count):
    units = ("a", "a ", "ä", "日", "👍🏽", " ", "</s>", "The bus. ")
    return [units[i % len(units)].encode() for i in range(count)]


def _some(rng, characters, most=30):
    return "".join(rng.choices(characters, k=rng.randint(1, most)))


def _spaces(rng):
    return _some(rng, SPACES).encode()


def _symbols(rng):
    return rng.choice(("", " ")).join(rng.choices(SYMBOLS, k=rng.randint(1, 8))).encode()


def _plane(rng):
    """Any characters of one of the 17 planes, assigned or not."""
    start = rng.randrange(17) << 16
    points = [start + rng.randrange(1 << 16) for _ in range(rng.randint(1, 20))]
    return "".join(chr(p) for p in points if not 0xD800 <= p < 0xE000).encode()


def _right_to_left(rng):
    return _some(rng, RIGHT_TO_LEFT + " abc").encode()


def _emoji(rng):
    return "".join(rng.choices(EMOJI, k=rng.randint(1, 8))).encode()


def _broken(rng):
    parts = [rng.choice((*BROKEN_UTF8, b"bus", b" ", "ä".encode())) for _ in range(8)]
    return b"".join(parts)


def _bytes(rng):
    return rng.randbytes(rng.randint(1, 30))


def _nul(rng):
    return _some(rng, "\x00a b").encode()


def _marks(rng):
    """Letters under heaps of marks."""
    return "".join(c + _some(rng, "\u0300\u0336\u0489\u20dd", 8) for c in "bus").encode()


def _control(rng):
    return _some(rng, "".join(map(chr, (*range(32), *range(0x7F, 0xA0), 0xFFFE, 0xFFFF)))).encode()


def _damaged(rng, sentences):
    sentence = list(rng.choice(sentences))
    for _ in range(rng.randint(0, 5)):
        sentence.insert(rng.randint(0, len(sentence)), chr(rng.choice((0, 0x301, 0x1F600, 60))))
    return "".join(sentence).encode()
