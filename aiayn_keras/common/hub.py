"""Downloads of single model files from the Hugging Face Hub, through its own client and cache."""

from pathlib import Path

_HUGGING_FACE = "hf://"
_UNSUPPORTED = {"kaggle://": "kagglehub.model_download", "modelscope://": "ModelScope's client"}


def is_hub_address(preset):
    """Returns whether a preset is the address of a model on a hub rather than a path."""
    return str(preset).startswith((_HUGGING_FACE, *_UNSUPPORTED))


def download(address, names, one_of=(), optional=()):
    """Downloads files of a model, or finds them in the cache of `huggingface_hub`.

    Args:
        address: An address such as `"hf://Helsinki-NLP/opus-mt-en-de"`.
        names: List of required files, with `/` between folders.
        one_of: List of alternatives; the first one that exists is downloaded.
        optional: List of files that may be missing.

    Returns:
        `pathlib.Path` of the folder that holds the files.

    Raises:
        FileNotFoundError: If the model lacks a required file, or the hub cannot be reached.
        OSError: If the model changed during the download, or is private or gated.
        ValueError: If the address is not a valid one of the Hugging Face Hub.
    """
    handle = _handle_of(address)
    folders = {_folder_of(handle, name) for name in names}
    if one_of:
        first = next(filter(None, (_folder_if_there(handle, name) for name in one_of)), None)
        if first is None:
            raise FileNotFoundError(f"{address} has neither {' nor '.join(one_of)}.")
        folders.add(first)
    folders.update(filter(None, (_folder_if_there(handle, name) for name in optional)))
    if len(folders) > 1:
        raise OSError(f"{address} changed while it was being downloaded: try again.")
    return folders.pop()


def _handle_of(address):
    """The name of the repository at an address."""
    for scheme, client in _UNSUPPORTED.items():
        if address.startswith(scheme):
            raise ValueError(
                f"{address} cannot be downloaded: only {_HUGGING_FACE} addresses can. Download the "
                f"model with {client} and give its folder."
            )
    return address.removeprefix(_HUGGING_FACE)


def _folder_if_there(handle, name):
    """The model's folder, or `None` if the model does not have the file."""
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return _download(handle, name)
    except LocalEntryNotFoundError:  # the hub cannot be reached: the cache may know
        known = huggingface_hub.try_to_load_from_cache(handle, name)
        if known is not huggingface_hub._CACHED_NO_EXIST:
            raise _not_found(handle, name) from None
    except EntryNotFoundError:
        pass
    return None


def _folder_of(handle, name):
    """The model's folder, into which one of its files is downloaded."""
    from huggingface_hub.errors import EntryNotFoundError

    try:
        return _download(handle, name)
    except EntryNotFoundError:
        raise _not_found(handle, name) from None


def _not_found(handle, name):
    return FileNotFoundError(
        f"{_HUGGING_FACE}{handle} does not have the file {name}. Or the hub cannot be reached: "
        "try again."
    )


def _download(handle, name):
    import huggingface_hub
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    address = f"{_HUGGING_FACE}{handle}"
    try:
        path = huggingface_hub.hf_hub_download(handle, name)
    except EntryNotFoundError:
        raise
    except HFValidationError as error:
        raise ValueError(
            f"{address} is not an address of the form hf://USER/MODEL: {_line(error)}"
        ) from None
    except HfHubHTTPError as error:  # a missing, private or gated repository
        raise OSError(f"{address} cannot be downloaded: {_line(error)}") from error
    return Path(path).parents[name.count("/")]


def _line(error):
    return " ".join(str(error).split())[:300]
