"""The translations that `translate` prints and `evaluate` compares."""


def translate_texts(model, texts, names, lines_before=0, **options):
    """Translates texts; an error for one that cannot be translated names its file and line.

    Args:
        model: A `TransformerSeq2SeqLM`.
        texts: List of strings.
        names: List of the name of the file that they come from and, with prefixes, of theirs.
        lines_before: Number of lines of the files before them.
        **options: Of `TransformerSeq2SeqLM.translate`.

    Returns:
        List of `Translation`, one for each text.

    Raises:
        ValueError: For a text or prefix that cannot be used, or of whose translations none keeps
            the constraint.
    """
    from aiayn_keras.decoding.text_batches import TextError
    from aiayn_keras.models import NoTranslationError

    try:
        return model.translate(texts, **options)
    except TextError as error:
        name, line = names[error.argument == "prefixes"], lines_before + error.index + 1
        raise ValueError(f"{name}, line {line}: {error.reason}") from error
    except NoTranslationError as error:
        line = lines_before + error.rows[0] + 1
        raise ValueError(
            f"{names[0]}, line {line}: no translation keeps the constraint within --max-length and "
            "the model's positions, and begins with the prefix if there is one."
        ) from error


def translate_file(model, texts, name, **options):
    """Translates the lines of a file as `translate_texts` does, and shows the progress."""
    from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress

    with open_progress(SECONDS_BETWEEN_LINES, total=len(texts), unit=" sentences") as bar:
        return translate_texts(model, texts, [name], progress=bar.update, **options)
