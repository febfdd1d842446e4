"""Files of models on hubs, such as Hugging Face's, by way of KerasHub's downloads and its cache."""

from pathlib import Path

SCHEMES = "hf://", "kaggle://", "modelscope://"


def is_address(preset):
    """Whether a preset is the address of a model on a hub, and no path."""
    return str(preset).startswith(SCHEMES)


def download(address, names, one_of=(), optional=()):
    """Downloads files of a model, or finds them in the cache.

    Args:
        address: Such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
        names: List of the files, with `/` between folders.
        one_of: List of files of which the first that is there is needed.
        optional: List of files that need not be there.

    Returns:
        `pathlib.Path` of the folder that they are in.

    Raises:
        FileNotFoundError: If the model has not got one of them, or the hub cannot be reached.
        OSError: If the model has changed meanwhile.
    """
    # The only place that uses what is not a public name of KerasHub.
    from keras_hub.src.utils.preset_utils import get_file

    try:
        folders = {_folder_of(get_file, address, name) for name in names}
    except FileNotFoundError as error:  # KerasHub's, which does not know why
        reason = " ".join(str(error).split())
        raise FileNotFoundError(f"{reason} Or the hub cannot be reached: try again.") from error
    if one_of:
        first = _first(get_file, address, one_of)
        if first is None:
            raise FileNotFoundError(f"{address} has neither {' nor '.join(one_of)}.")
        folders.add(first)
    folders.update(filter(None, (_first(get_file, address, [name]) for name in optional)))
    if len(folders) > 1:
        raise OSError(f"{address} has changed while it was downloaded: try again.")
    return folders.pop()


def _folder_of(get_file, address, name):
    """The folder in which the model's files are, of which this is one."""
    return Path(get_file(address, name)).parents[name.count("/")]


def _first(get_file, address, names):
    for name in names:
        try:
            return _folder_of(get_file, address, name)
        except FileNotFoundError:
            continue
    return None
