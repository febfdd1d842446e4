"""The translations that `translate` prints and `evaluate` compares."""


def translate_texts(model, texts, name, lines_before=0, **options):
    """Translates texts; an error for one that is too long names its file and line.

    Args:
        model: A `TransformerSeq2SeqLM`.
        texts: List of strings.
        name: Of the file that they come from.
        lines_before: Number of lines of the file before them.
        **options: Of `TransformerSeq2SeqLM.translate`.

    Returns:
        List of `Translation`, one for each text.

    Raises:
        ValueError: For a text that is too long.
    """
    from aiayn_keras.models import TextTooLongError

    try:
        return model.translate(texts, **options)
    except TextTooLongError as error:
        line = lines_before + error.index + 1
        raise ValueError(f"{name}, line {line}: {error.reason}") from error


def translate_file(model, texts, name, **options):
    """Translates the lines of a file as `translate_texts` does, and shows the progress."""
    from aiayn_keras.progress import SECONDS_BETWEEN_LINES, open_progress

    with open_progress(SECONDS_BETWEEN_LINES, total=len(texts), unit=" sentences") as bar:
        return translate_texts(model, texts, name, progress=bar.update, **options)
