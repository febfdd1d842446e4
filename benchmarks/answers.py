"""The measured process' side of the talk with its parent: a JSON object a line, in and out."""

import json
import os
import sys


def answer_messages(answer_of):
    """Answers every line of standard input on standard output, until the input ends.

    Args:
        answer_of: Function from a message to an answer, dictionaries both. What it raises is
            answered as `{"error": ...}`.
    """
    # Whatever a library prints must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            answer = answer_of(json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
