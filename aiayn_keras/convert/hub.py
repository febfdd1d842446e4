"""Files of models on Hugging Face's hub, by way of KerasHub's downloads and its cache."""

from pathlib import Path

ADDRESS = "hf://"


def download(address, names, one_of=()):
    """Downloads files of a model, or finds them in the cache.

    Args:
        address: Such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
        names: List of the files.
        one_of: List of files of which the first that is there is needed.

    Returns:
        `pathlib.Path` of the folder that they are in.

    Raises:
        FileNotFoundError: If the model has not got one of them, or the hub cannot be reached.
    """
    # The only place that uses what is not a public name of KerasHub.
    from keras_hub.src.utils.preset_utils import get_file

    try:
        folders = {Path(get_file(address, name)).parent for name in names}
    except FileNotFoundError as error:  # KerasHub's, which does not know why
        reason = " ".join(str(error).split())
        raise FileNotFoundError(f"{reason} Or the hub cannot be reached: try again.") from error
    if one_of:
        folders.add(_first(get_file, address, one_of).parent)
    if len(folders) > 1:
        raise OSError(f"{address} has changed while it was downloaded: try again.")
    return folders.pop()


def _first(get_file, address, names):
    for name in names:
        try:
            return Path(get_file(address, name))
        except FileNotFoundError:
            continue
    raise FileNotFoundError(f"{address} has neither {' nor '.join(names)}.")
