"""Translates lines with a SavedModel; needs tensorflow and tensorflow-text, not aiayn_keras.

python saved_models/translate.py saved_models/demo_en_de/1 < sentences.txt
"""

import argparse
import contextlib
import os
import sys
import tempfile


class ArgumentParser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message} (--help tells more)\n")


@contextlib.contextmanager
def quiet_start():
    """Keeps TensorFlow's start-up messages off stderr; if the block fails, they are shown."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as messages:
        os.dup2(messages.fileno(), 2)
        try:
            yield
        except Exception:
            messages.seek(0)
            os.write(stderr, messages.read())
            raise
        finally:
            os.dup2(stderr, 2)


@contextlib.contextmanager
def one_line(beginning):
    """Ends the program with one line if the block fails."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        sys.exit(f"{beginning}: {reason[:1000]}")


def main():
    """Prints score and translation of every line of standard input."""
    parser = ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", help="folder of the SavedModel, which holds saved_model.pb")
    parser.add_argument("--verbose", action="store_true", help="show TensorFlow's messages")
    arguments = parser.parse_args()
    path = arguments.path
    if not os.path.isfile(os.path.join(path, "saved_model.pb")):
        sys.exit(
            f"{path} is no SavedModel: it has no saved_model.pb. A kit's are in 1, 2 and so on."
        )
    with contextlib.nullcontext() if arguments.verbose else quiet_start():
        import tensorflow as tf
        import tensorflow_text  # noqa: F401 - brings the tokenizer's op

    with one_line(f"{path} cannot be loaded"):
        loaded = tf.saved_model.load(path)
        serve = loaded.signatures["serving_default"]
    lines = [line.rstrip(b"\r\n") for line in sys.stdin.buffer]
    with one_line(f"{path} cannot translate this"):
        answer = serve(text=tf.constant(lines, tf.string))
    for translation, score in zip(
        answer["translation"].numpy(), answer["score"].numpy(), strict=True
    ):
        print(f"{score:8.3f}  {translation.decode()}")


if __name__ == "__main__":
    main()
