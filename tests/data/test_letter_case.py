import pytest

from aiayn_keras.data import ParallelText, augment
from aiayn_keras.data.typing_habits import LetterCase, has_case

TURKISH = ["Hasta çocuk İstanbul'da ılık süt içti.", "Geldi."]


def test_turkish_keeps_its_two_letters_apart():
    case = LetterCase(TURKISH)
    assert case.upper("ılık süt içti") == "ILIK SÜT İÇTİ"
    assert case.lower("ILIK İÇTİ") == "ılık içti"
    assert case.title("ılık içti") == "Ilık İçti"
    assert case.capitalized("istanbul'da") == "İstanbul'da"


def test_a_name_does_not_make_a_language_turkish():
    case = LetterCase(["He went to İstanbul.", *["It is ill."] * 20])
    assert case.upper("istanbul") == "ISTANBUL"
    assert case.lower("İstanbul") == "istanbul"
    assert case.lower("ILL") == "ill"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Πάω στην Αθήνα", "ΠΑΩ ΣΤΗΝ ΑΘΗΝΑ"),
        ("ναι ή όχι", "ΝΑΙ Ή ΟΧΙ"),
        ("Μαΐου, προϊόν", "ΜΑΪΟΥ, ΠΡΟΪΟΝ"),
        ("ᾧ ἄνθρωπος", "ΩΙ ΑΝΘΡΩΠΟΣ"),
        ("Straße, café", "STRASSE, CAFÉ"),
    ],
)
def test_greek_capitals_have_no_accents(text, expected):
    assert LetterCase([text]).upper(text) == expected


def test_a_georgian_word_does_not_begin_with_a_capital():
    assert LetterCase(["მე"]).capitalized("მე მივდივარ") == "მე მივდივარ"


@pytest.mark.parametrize(
    ("text", "expected"), [("an ox", True), ("OX", True), ("我回家", False), ("मैं घर", False)]
)
def test_some_scripts_have_no_case(text, expected):
    assert has_case(text) is expected


def test_targets_are_in_capitals_only_where_sources_can_be():
    pairs = ParallelText(["我回家。", "OK。"], ["I go home.", "All right."])
    assert list(augment(pairs, upper_cased=1.0)) == [
        ("我回家。", "I go home."),
        ("OK。", "ALL RIGHT."),
    ]


def test_turkish_targets_are_written_in_their_capitals():
    text = ParallelText(["It drank.", "It came."], TURKISH)
    assert augment(text, upper_cased=1.0)[0] == (
        "IT DRANK.",
        "HASTA ÇOCUK İSTANBUL'DA ILIK SÜT İÇTİ.",
    )
