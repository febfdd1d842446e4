"""Test doubles of the page's translators: none of them has a model."""

import threading
from types import SimpleNamespace

from aiayn_keras.serving.local_page.sentences import (
    PageSentence,
    PageTranslation,
)
from aiayn_keras.serving.translation_client import ServedTranslation


class WaitingTranslatorDouble:
    """A test double: it translates nothing, and only when it is told to."""

    def __init__(self):
        self.started, self.may_end = threading.Semaphore(0), threading.Semaphore(0)
        self.texts, self.abandoned = [], []

    def translate(self, text, report):
        self.texts.append(text)
        self.started.release()
        try:
            while not self.may_end.acquire(timeout=0.01):
                report()
        except Exception:
            self.abandoned.append(text)
            self.started.release()
            raise
        sentence = PageSentence(text, (ServedTranslation(text, 0.0, 0.0),))
        return PageTranslation(text, (sentence,))


class FailingTranslatorDouble:
    """A test double with a fault of its own."""

    def translate(self, text, report):
        raise KeyError("secret")


class EchoTranslatorDouble:
    """A test double whose translation of every line is the line, with a second one behind it."""

    def translate(self, text, report):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        hypotheses = [
            (ServedTranslation(line, -1.0, -0.5), ServedTranslation(f"{line} 2", -2.0, -1.0))
            for line in lines
        ]
        return PageTranslation(text, tuple(map(PageSentence, lines, hypotheses)))

    def explore(self, source, target):
        return SimpleNamespace(page=f"<!DOCTYPE html>{target}", height=100)

    def steps(self, source):
        return SimpleNamespace(page=f"<!DOCTYPE html>steps of {source}", height=100)
