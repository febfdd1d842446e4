import pytest

from aiayn_keras.data.demo.grammar import (
    english_number,
    english_time,
    german_number,
    german_time,
)

NUMBERS = [
    (0, "zero", "null"),
    (1, "one", "eins"),
    (2, "two", "zwei"),
    (7, "seven", "sieben"),
    (11, "eleven", "elf"),
    (12, "twelve", "zwölf"),
    (16, "sixteen", "sechzehn"),
    (17, "seventeen", "siebzehn"),
    (20, "twenty", "zwanzig"),
    (21, "twenty-one", "einundzwanzig"),
    (30, "thirty", "dreißig"),
    (46, "forty-six", "sechsundvierzig"),
    (60, "sixty", "sechzig"),
    (77, "seventy-seven", "siebenundsiebzig"),
    (99, "ninety-nine", "neunundneunzig"),
    (100, "one hundred", "einhundert"),
    (101, "one hundred and one", "einhunderteins"),
    (112, "one hundred and twelve", "einhundertzwölf"),
    (121, "one hundred and twenty-one", "einhunderteinundzwanzig"),
    (300, "three hundred", "dreihundert"),
    (
        999,
        "nine hundred and ninety-nine",
        "neunhundertneunundneunzig",
    ),
    (1000, "one thousand", "eintausend"),
    (1001, "one thousand and one", "eintausendeins"),
    (1100, "one thousand one hundred", "eintausendeinhundert"),
    (2016, "two thousand and sixteen", "zweitausendsechzehn"),
    (21_000, "twenty-one thousand", "einundzwanzigtausend"),
    (
        42_705,
        "forty-two thousand seven hundred and five",
        "zweiundvierzigtausendsiebenhundertfünf",
    ),
    (100_000, "one hundred thousand", "einhunderttausend"),
    (100_001, "one hundred thousand and one", "einhunderttausendeins"),
    (101_000, "one hundred and one thousand", "einhunderteintausend"),
    (
        201_031,
        "two hundred and one thousand and thirty-one",
        "zweihunderteintausendeinunddreißig",
    ),
    (
        999_999,
        "nine hundred and ninety-nine thousand nine hundred and ninety-nine",
        "neunhundertneunundneunzigtausendneunhundertneunundneunzig",
    ),
]

TIMES = [
    (1, 0, "one o'clock", "ein Uhr"),
    (3, 0, "three o'clock", "drei Uhr"),
    (3, 5, "five past three", "fünf nach drei"),
    (3, 15, "a quarter past three", "Viertel nach drei"),
    (1, 20, "twenty past one", "zwanzig nach eins"),
    (3, 30, "half past three", "halb vier"),
    (12, 30, "half past twelve", "halb eins"),
    (3, 40, "twenty to four", "zwanzig vor vier"),
    (12, 45, "a quarter to one", "Viertel vor eins"),
    (11, 55, "five to twelve", "fünf vor zwölf"),
]


@pytest.mark.parametrize(("number", "english", "german"), NUMBERS)
def test_number_is_spelled_as_by_hand(number, english, german):
    assert english_number(number) == english
    assert german_number(number) == german


@pytest.mark.parametrize(("hour", "minute", "english", "german"), TIMES)
def test_time_is_spoken_as_by_hand(hour, minute, english, german):
    assert english_time(hour, minute) == english
    assert german_time(hour, minute) == german


def test_no_two_numbers_share_their_words():
    numbers = [*range(20_000), *range(20_000, 1_000_000, 97)]
    assert len({english_number(number) for number in numbers}) == len(numbers)
    assert len({german_number(number) for number in numbers}) == len(numbers)


@pytest.mark.parametrize("number", [-1, 1_000_000])
def test_number_out_of_range_is_refused(number):
    for spell in (english_number, german_number):
        with pytest.raises(ValueError, match=f"number={number}"):
            spell(number)


@pytest.mark.parametrize(("hour", "minute"), [(0, 0), (13, 0), (3, 25), (3, 7), (3, 60)])
def test_time_out_of_range_is_refused(hour, minute):
    for speak in (english_time, german_time):
        with pytest.raises(ValueError, match=f"hour={hour}, minute={minute}"):
            speak(hour, minute)
