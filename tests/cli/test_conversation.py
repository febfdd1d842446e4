"""The conversation of `aiayn-keras translate`, on a real terminal."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from aiayn_keras_cli.conversation import Conversation, is_conversation
from tests.cli.terminal import CTRL_A, CTRL_D, CTRL_P, Terminal

pytest.importorskip("pty")

DEMO = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
BROWSER = """#!/bin/sh
echo "$1" > "$VISITED"
"""
# Loads no model, so that it starts at once.
SHOUTING = """
from types import SimpleNamespace
from aiayn_keras_cli.conversation import Conversation
class ShoutingTestDouble(Conversation):
    def translate(self, text):
        return SimpleNamespace(text=text.upper())
ShoutingTestDouble(None, num_beams=4, num_return_sequences=1).run()
print("ended")
"""


@pytest.fixture
def conversation(tmp_path):
    """The command, and the file with the address that its browser was sent to."""
    browser, visited = tmp_path / "browser", tmp_path / "visited"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    environment = {"BROWSER": f"{browser} %s", "VISITED": str(visited), "TMPDIR": str(tmp_path)}
    environment["TF_CPP_MIN_LOG_LEVEL"] = "3"  # as without the setting of the tests
    with Terminal("-m", "aiayn_keras_cli", "translate", DEMO, **environment) as terminal:
        terminal.read_until("\n> ")
        yield terminal, visited


def test_a_conversation(conversation):
    terminal, visited = conversation
    (answer,) = terminal.ask(":explore")
    assert answer.startswith("Error: there is no translation yet")
    assert terminal.ask("The girl is happy.") == ["Das Mädchen ist glücklich."]
    assert terminal.ask("") == []
    (address,) = terminal.ask(":explore")
    assert "happy" in Path(address).read_text("utf-8")
    assert visited.read_text() == f"{Path(address).as_uri()}\n"

    assert terminal.ask(":n 2") == []
    best, other = (line.split(maxsplit=1) for line in terminal.ask("The girl is happy."))
    assert 0 >= float(best[0]) >= float(other[0])
    assert best[1] == "Das Mädchen ist glücklich." != other[1]
    assert terminal.ask("15") == ["15"]
    for wrong in ("", "5", "0", "two"):
        (answer,) = terminal.ask(f":n {wrong}")
        assert answer.startswith("Error: :n takes a number from 1 to 4")
    assert terminal.ask(":n1") == []

    (answer,) = terminal.ask(":frobnicate now")
    assert (
        answer == "Error: there is no command :frobnicate. Commands are :n, :explore, :help, :quit."
    )
    (answer,) = terminal.ask("  The man is happy. The woman is happy.")
    assert answer == "Der Mann ist glücklich. Die Frau ist glücklich."
    (answer,) = terminal.ask(":explore 3")
    assert answer == "Error: :explore takes the number of a sentence, from 1 to 2, not '3'."
    (address,) = terminal.ask(":explore 2")
    assert "woman" in Path(address).read_text("utf-8")
    (answer,) = terminal.ask("a\0b")
    assert answer.startswith("Error: ") or answer
    assert any(":explore" in line for line in terminal.ask(":help"))

    terminal.type("half a line")
    terminal.read_until("half a line")
    terminal.interrupt("\n> ")
    assert terminal.ask(f"woman is happy.{CTRL_A}The ") == ["Die Frau ist glücklich."]
    assert terminal.ask("The man is happy.") == ["Der Mann ist glücklich."]
    assert terminal.ask(f"{CTRL_P}{CTRL_P}") == ["Die Frau ist glücklich."]
    terminal.type(CTRL_D)
    assert terminal.exit_code() == 0


@pytest.fixture
def shouting():
    with Terminal("-c", SHOUTING) as terminal:
        terminal.read_until("\n> ")
        assert terminal.ask("hello :-)") == ["HELLO :-)"]
        yield terminal


@pytest.mark.parametrize("typed", [":quit\n", CTRL_D], ids=ascii)
def test_a_conversation_is_ended_by_a_command_or_the_end_of_input(shouting, typed):
    shouting.type(typed)
    shouting.read_until("ended")
    assert shouting.exit_code() == 0


def test_ctrl_c_cancels_a_line_and_on_an_empty_line_the_second_ends(shouting):
    for _ in range(3):
        shouting.type("half")
        shouting.read_until("half")
        shouting.interrupt("\n> ")
    assert shouting.ask(":-)") == [":-)"]
    shouting.interrupt("\n> ")
    assert shouting.ask("hello") == ["HELLO"]  # between the two, so that they are no pair
    shouting.interrupt("\n> ")
    shouting.interrupt("\nended")
    assert shouting.exit_code() == 0


class LinesTestDouble:
    """Translates lines, and finds no sentences."""

    def translate(self, texts, **options):
        return [SimpleNamespace(text=text.upper(), options=options) for text in texts]


def test_without_tensorflow_text_a_line_is_one_sentence(monkeypatch):
    monkeypatch.setattr("aiayn_keras.documents.splitting.can_split", lambda: False)
    document = Conversation(LinesTestDouble(), num_beams=3).translate("One. Two.")
    assert (document.text, document.sources) == ("ONE. TWO.", ("One. Two.",))
    assert document.translations[0].options == {"num_beams": 3}


class PretendedTerminal(io.StringIO):
    def isatty(self):
        return True


def test_a_conversation_needs_a_terminal_at_both_ends(monkeypatch):
    monkeypatch.setattr(sys, "stdin", PretendedTerminal())
    monkeypatch.setattr(sys, "stdout", PretendedTerminal())
    assert is_conversation()
    for stream in ("stdin", "stdout"):
        for other in (io.StringIO(), None):
            with monkeypatch.context() as context:
                context.setattr(sys, stream, other)
                assert not is_conversation()
