"""Models read texts with letters for entities, and with months and days of the week in full."""

import pytest

from aiayn_keras_light.placeable_patterns import placeable_in_line
from aiayn_keras_light.source_words import as_read


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Fri, Jun 3, 2024", "Friday, June 3, 2024"),
        ("On Sept. 5th we left.", "On September 5th we left."),
        ("Mon 3rd Aug. 2024, or 5 Dec.", "Monday 3rd August 2024, or 5 December."),
        ("Mar 3 at noon", "March 3 at noon"),
        ("Sun May 5", "Sunday May 5"),
        ("The caf&eacute; of Oct 2024", "The café of October 2024"),
        ("I will come on 3 Dec.", "I will come on 3 December."),
        ("Posted Jun 3", "Posted June 3"),
    ],
)
def test_months_beside_a_day_or_year_are_read_in_full(text, wanted):
    assert as_read(text, placeable_in_line()) == wanted


@pytest.mark.parametrize(
    "text",
    [
        *("Jan has 5 cats", "Mar y sol", "in the Sun", "Jun  3 12:00:01 host sshd[1]: tea"),
        *("Mon Jun 3 10:15:00 2024", "Fri, 3 May 2024 10:15:00 +0200", "see `Jun 3`", "Apr-5"),
        *("5. Sep 2024", "Dec 5.2", "jun 3", "Mar 3 juin", "Mar. 12 dic", "Mar 3 de mayo"),
    ],
)
def test_other_words_and_stamps_stay(text):
    assert as_read(text, placeable_in_line()) == text


@pytest.mark.parametrize(
    "text",
    [
        *("Le 3 Oct 2024, nous partons.", "Il 3 Apr sono andato.", "Nos vemos el 3 Oct"),
        *("Sun, 5 Dec wir gehen", "Jan 3 mal angerufen.", "Jan 5 Bücher", "Mar 12: cena con Anna"),
        *("Jan. 2024", "5 Dec 2024", "Aug. 20. a nemzeti ünnep", "We waren in Dec 2024 in Parijs."),
        *("slip and slide du 3 Oct", "¡Salid! Oct 3", "3 Dec 公園"),
    ],
)
def test_nothing_is_read_as_english_in_a_text_that_may_be_in_another_language(text):
    assert as_read(text, placeable_in_line()) == text
