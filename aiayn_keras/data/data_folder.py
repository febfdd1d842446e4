"""The place of a corpus file: the user's data folder, or else the download cache."""

import os
import pathlib

from aiayn_keras.data.downloads import fetch

DATA_VARIABLE = "AIAYN_KERAS_DATA"


def locate(file, data_dir=None):
    """Finds the path of a corpus file, which is downloaded where no folder is named.

    Args:
        file: A `RemoteFile`.
        data_dir: The user's folder; by default the one that AIAYN_KERAS_DATA names.

    Raises:
        FileNotFoundError: If it is missing from the folder.
        CorpusError: If it cannot be downloaded.
    """
    folder, origin = data_dir, "`data_dir`"
    if folder is None:
        folder, origin = os.environ.get(DATA_VARIABLE), f"the variable {DATA_VARIABLE}"
    if not folder:
        return fetch(file)
    path = pathlib.Path(folder) / file.path
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no corpus file {str(path)!r}; {origin} names the folder {str(folder)!r}. "
            f"Put the file there, or unset {DATA_VARIABLE} and leave `data_dir` out to download it."
        )
    return path
