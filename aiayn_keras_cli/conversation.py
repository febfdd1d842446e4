"""`aiayn-keras translate` on a terminal: type a text, read its translation."""

import functools
import re
import sys
import tempfile
import webbrowser
from pathlib import Path

import click

from aiayn_keras_cli.running import error_line

_PROMPT = "> "
_COMMAND = re.compile(r":([A-Za-z]+)\s*(.*)")
"""A colon and a letter, so that `:-)` is text."""
_HELP = """\
:n N       print the N best translations of a text, with scores (1 for only the best)
:explore   open a page that shows where the model looked for the last translation
           (:explore 2 for the second sentence of a longer text)
:help      print this
:quit      end the conversation, as Ctrl-D does
Scores are log-probabilities divided by length penalties, in nats. Ctrl-C cancels the line."""


def is_conversation():
    """Tells whether standard input and output are terminals, so that a person types and reads."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


class Conversation:
    """Reads texts and commands from the terminal until the person ends the conversation.

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
            "help": lambda _: click.echo(_HELP),
            "quit": self._quit,
        }
        self.is_over = False

    def run(self):
        """Answers one line after another. An error does not end the conversation."""
        click.echo("Type a text to translate it. :help shows more, Ctrl-D ends.")
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
        """Translates a typed line, sentence by sentence.

        Returns:
            `DocumentTranslation`; of one sentence if TensorFlow Text is not there to find several.

        Raises:
            ValueError: If a sentence is too long.
        """
        from aiayn_keras.documents.splitting import can_split
        from aiayn_keras_light.text_batches import TextTooLongError
        from aiayn_keras_light.translating import DocumentTranslation

        try:
            if can_split():
                return self.model.translate_documents([text], **self.options)[0]
            (translation,) = self.model.translate([text], **self.options)
            return DocumentTranslation(translation.text, (text,), (translation,))
        except TextTooLongError as error:
            raise ValueError(error.reason) from error

    def _answer(self, line):
        command = _COMMAND.fullmatch(line)
        if command is not None:
            self._obey(command[1], command[2])
        elif line:
            self.last = self.translate(line)
            self._print(self.last)

    def _obey(self, name, argument):
        if name not in self.commands:
            known = ", ".join(f":{each}" for each in self.commands)
            raise ValueError(f"there is no command :{name}. Commands are {known}.")
        self.commands[name](argument)

    def _print(self, document):
        if self.options["num_return_sequences"] == 1 or not document.translations:
            click.echo(document.text)  # a text without letters has no sentences
            return
        for number, translation in enumerate(document.translations, start=1):
            if len(document.translations) > 1:
                click.echo(f"Sentence {number}: {document.sources[number - 1]}")
            for hypothesis in translation.hypotheses:
                click.echo(f"{hypothesis.normalized_score:8.3f}  {hypothesis.text}")

    def _set_num_hypotheses(self, argument):
        maximum = self.options["num_beams"]
        if not argument.isdecimal() or not 1 <= int(argument) <= maximum:
            raise ValueError(
                f":n takes a number from 1 to {maximum}, the number of beams (--num-beams), "
                f"not {argument!r}."
            )
        self.options["num_return_sequences"] = int(argument)

    def _explore(self, argument):
        from aiayn_keras.plotting import attention_explorer

        maximum = 0 if self.last is None else len(self.last.sources)
        if not maximum:
            raise ValueError("there is no translation yet to explore. Type a text first.")
        argument = argument or "1"
        if not argument.isdecimal() or not 1 <= int(argument) <= maximum:
            raise ValueError(
                f":explore takes the number of a sentence, from 1 to {maximum}, not {argument!r}."
            )
        sentence = int(argument) - 1
        pair = self.last.sources[sentence], self.last.translations[sentence].text
        explorer = attention_explorer(self.model.attention_maps(*pair))
        # Never deleted, since the browser may show it after this process has ended.
        path = Path(tempfile.mkdtemp(prefix="aiayn-keras-")) / "attention.html"
        explorer.save(path)
        click.echo(path)
        webbrowser.open(path.as_uri())

    def _quit(self, _):
        self.is_over = True


def _read_line():
    """Reads the next line; None at the end of input or after a second Ctrl-C."""
    _line_editor()  # from now on, `input` edits lines
    is_second = False
    while True:
        try:
            return input(_PROMPT)
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
    """Gives the unfinished line at the time of Ctrl-C, as far as Python can tell."""
    editor = _line_editor()
    return "" if editor is None else editor.get_line_buffer()


@functools.cache
def _line_editor():
    """Imports `readline`; None on Windows, where lines cannot be edited then."""
    try:
        import readline
    except ImportError:
        return None
    return readline
