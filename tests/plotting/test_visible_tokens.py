"""Nothing in a token is invisible, and nothing that shapes letters is lost."""

import pytest

from aiayn_keras.plotting.figures import visible


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("▁Haus", "▁Haus"),
        (17, "17"),
        ("", "⟨empty⟩"),
        ("a b", "a␣b"),
        ("a\n\t", "a⏎⇥"),
        ("\xa0", "⟨U+00A0⟩"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("\u200d", "⟨U+200D⟩"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("\ufe0f", "⟨U+FE0F⟩"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u3164", "⟨U+3164⟩"),
        ("\x00", "⟨U+0000⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\u0301", "◌\u0301"),
        ("\u0e31", "◌\u0e31"),
    ],
)
def test_every_character_has_ink(token, shown):
    assert visible(token) == shown
