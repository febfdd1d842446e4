"""Translates lines with a SavedModel; needs tensorflow and tensorflow-text, not aiayn_keras.

python saved_models/translate.py saved_models/demo_en_de/1 < sentences.txt
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf
import tensorflow_text  # noqa: F401  (brings the tokenizer's op)


def main(path):
    """Prints score and translation of every line of standard input."""
    serve = tf.saved_model.load(path).signatures["serving_default"]
    lines = [line.rstrip("\r\n") for line in sys.stdin]
    answer = serve(text=tf.constant(lines, tf.string))
    for translation, score in zip(
        answer["translation"].numpy(), answer["score"].numpy(), strict=True
    ):
        print(f"{score:8.3f}  {translation.decode()}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
