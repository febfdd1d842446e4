import sys

from aiayn_keras.cli import progress
from aiayn_keras.cli.progress import show_progress


class Terminal:
    """The stream that pytest captures, said to be a terminal."""

    def __init__(self, stream):
        self.stream = stream

    def isatty(self):
        return True

    def __getattr__(self, name):
        return getattr(self.stream, name)


def test_a_file_gets_a_line_every_ten_seconds(monkeypatch, capsys):
    clock = iter([0.0, 4.0, 10.0, 19.0, 21.0, 30.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with show_progress(4000, "sentences") as update:
        for _ in range(5):
            update(640)
    assert capsys.readouterr().err.splitlines() == [
        "1,280 of 4,000 sentences, 128.0 a second, 21 s left",
        "2,560 of 4,000 sentences, 121.9 a second, 12 s left",
    ]


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    with show_progress(3, "sentences") as update:
        update(3)
    assert "3/3" in capsys.readouterr().err
