"""Prints the table of hard texts: each, and the sentences that the splitter finds in it.

Run from the repository's root:

    python -m tests.claims.documents

Exits with 1 if a text is not split as `tests/documents/hard_texts.py` says.
"""

import sys

from tests.documents.hard_texts import HARD_TEXTS


def main():
    import tensorflow as tf

    from aiayn_keras.documents.splitting import split_texts

    texts = tf.constant([each.text for each in HARD_TEXTS.values()])
    found = split_texts(
        texts, lambda sentences: tf.ones(tf.shape(sentences), tf.int64), 1
    ).sentences
    num_wrong = 0
    for (name, wanted), sentences in zip(HARD_TEXTS.items(), found.to_list(), strict=True):
        sentences = tuple(sentence.decode() for sentence in sentences)
        num_wrong += sentences != wanted.sentences
        limit = f" (known limit; desired: {wanted.limit})" if wanted.limit else ""
        print(f"{name}: {wanted.text!r}{limit}\n    {' | '.join(sentences) or 'none'}")
    limits = sum(bool(each.limit) for each in HARD_TEXTS.values())
    print(f"{len(HARD_TEXTS)} texts, {limits} of them known limits, {num_wrong} split differently")
    return num_wrong > 0


if __name__ == "__main__":
    sys.exit(main())
