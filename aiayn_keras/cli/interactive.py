"""`aiayn-keras translate` on a terminal: a text is typed, its translation is read."""

import functools
import re
import sys
import tempfile
import webbrowser
from pathlib import Path

import click

from aiayn_keras.cli.error_line import error_line

PROMPT = "> "
COMMAND = re.compile(r":([A-Za-z]+)\s*(.*)")
"""A colon and a letter; `:-)` is text."""
HELP = """\
:n N       print the N best translations of a text, with scores (1 for the best alone)
:explore   open a page that shows where the model looked for the last translation
           (:explore 2 for the second sentence of a longer text)
:help      print this
:quit      end, as Ctrl-D does
Scores are log-probabilities over length penalties, in nats. Ctrl-C cancels the line."""


def is_conversation():
    """Whether a person types at this process and reads it: both ends are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


class Conversation:
    """Reads texts and commands from the terminal until the person ends it.

    Args:
        model: A `TransformerSeq2SeqLM`.
        **options: Of `TransformerSeq2SeqLM.translate`.
    """

    def __init__(self, model, **options):
        self.model = model
        self.options = options
        self.last = None
        self.commands = {
            "n": self._set_num_hypotheses,
            "explore": self._explore,
            "help": lambda _: click.echo(HELP),
            "quit": self._quit,
        }
        self.is_over = False

    def run(self):
        """Answers line after line. An error ends the line, not the conversation."""
        click.echo("Type a text to translate it. :help tells more, Ctrl-D ends.")
        while not self.is_over:
            line = _read_line()
            if line is None:
                break
            try:
                self._answer(line.strip())
            except KeyboardInterrupt:
                click.echo()
            except Exception as error:
                click.echo(f"Error: {error_line(error)}", err=True)

    def translate(self, text):
        """Translates a line that was typed, sentence by sentence.

        Returns:
            `DocumentTranslation`; without TensorFlow Text, which finds sentences, the line is one.

        Raises:
            ValueError: If it is too long.
        """
        from aiayn_keras.decoding.text_batches import TextTooLongError
        from aiayn_keras.decoding.translating import DocumentTranslation
        from aiayn_keras.documents.splitting import can_split

        try:
            if can_split():
                return self.model.translate_documents([text], **self.options)[0]
            (translation,) = self.model.translate([text], **self.options)
            return DocumentTranslation(translation.text, (text,), (translation,))
        except TextTooLongError as error:
            raise ValueError(error.reason) from error

    def _answer(self, line):
        command = COMMAND.fullmatch(line)
        if command is not None:
            self._obey(command[1], command[2])
        elif line:
            self.last = self.translate(line)
            self._print(self.last)

    def _obey(self, name, argument):
        if name not in self.commands:
            known = ", ".join(f":{each}" for each in self.commands)
            raise ValueError(f"there is no command :{name}. There are {known}.")
        self.commands[name](argument)

    def _print(self, document):
        if self.options["num_return_sequences"] == 1:
            click.echo(document.text)
            return
        for number, translation in enumerate(document.translations, start=1):
            if len(document.translations) > 1:
                click.echo(f"Sentence {number}: {document.sources[number - 1]}")
            for hypothesis in translation.hypotheses:
                click.echo(f"{hypothesis.normalized_score:8.3f}  {hypothesis.text}")

    def _set_num_hypotheses(self, argument):
        most = self.options["num_beams"]
        if not argument.isdecimal() or not 1 <= int(argument) <= most:
            raise ValueError(
                f":n takes a number from 1 to {most}, the number of beams (--num-beams), "
                f"not {argument!r}."
            )
        self.options["num_return_sequences"] = int(argument)

    def _explore(self, argument):
        from aiayn_keras.plotting import attention_explorer

        most = 0 if self.last is None else len(self.last.sources)
        if not most:
            raise ValueError("there is no translation yet to explore. Type a text first.")
        argument = argument or "1"
        if not argument.isdecimal() or not 1 <= int(argument) <= most:
            raise ValueError(
                f":explore takes the number of a sentence, from 1 to {most}, not {argument!r}."
            )
        sentence = int(argument) - 1
        pair = self.last.sources[sentence], self.last.translations[sentence].text
        explorer = attention_explorer(self.model.attention_maps(*pair))
        # Left behind, as the browser shows it when this process has ended, too.
        path = Path(tempfile.mkdtemp(prefix="aiayn-keras-")) / "attention.html"
        explorer.save(path)
        click.echo(path)
        webbrowser.open(path.as_uri())

    def _quit(self, _):
        self.is_over = True


def _read_line():
    """The next line that is entered, or None at the end of input or a second Ctrl-C."""
    _line_editor()  # `input` edits lines from now on
    is_second = False
    while True:
        try:
            return input(PROMPT)
        except EOFError:
            click.echo()
            return None
        except KeyboardInterrupt:
            click.echo()
            if is_second and not _typed():
                return None
            is_second = True
        except UnicodeDecodeError as error:
            click.echo(f"Error: the line is not {error.encoding}.", err=True)


def _typed():
    """The line as far as it had been typed when Ctrl-C came, if that can be known."""
    editor = _line_editor()
    return "" if editor is None else editor.get_line_buffer()


@functools.cache
def _line_editor():
    """Python's `readline`, or None where it has none (Windows); lines are then not edited."""
    try:
        import readline
    except ImportError:
        return None
    return readline
