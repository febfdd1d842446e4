"""Files of `torch.save`, read without PyTorch and without running what they hold."""

from pathlib import Path

from aiayn_keras.common.files import check_regular_file
from aiayn_keras.convert.torch_legacy import open_torch_legacy
from aiayn_keras.convert.torch_tensors import Tensor
from aiayn_keras.convert.torch_zip import open_torch_zip

ZIP, PICKLE = b"PK\3\4", b"\x80\2"
"""First bytes of the two formats; `torch.save` writes pickles of protocol 2."""

MAX_SHARING = 16
"""Bound on the bytes read, and on those of the arrays, over the size of the file."""


def read_torch(path, choose):
    """Reads the tensors that are wanted of a file of `torch.save`.

    Args:
        path: The file.
        choose: Function of the object in the file that returns a dictionary from names to the
            `Tensor`s in it, and raises a `ValueError` where the object is not as wanted.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is damaged or is no such file; with its name.
    """
    path = Path(path)
    check_regular_file(path)
    with path.open("rb") as file:
        start = file.read(4)
    if not start.startswith((ZIP, PICKLE)):
        raise ValueError(f"{path} is no file of `torch.save`.")
    opened = open_torch_zip if start.startswith(ZIP) else open_torch_legacy
    try:
        with opened(path) as (content, read_storage):
            return _read_arrays(choose(content), read_storage, path.stat().st_size)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read: {reason:.300}.") from error


def tensors_of(content):
    """The `Tensor`s of a dictionary that holds nothing else, see `choose` of `read_torch`."""
    if not isinstance(content, dict) or not content:
        raise ValueError("it holds no dictionary of tensors")
    for name, value in content.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise ValueError(f"its entry `{name!s:.100}` is no tensor")
    return content


def _read_arrays(tensors, read_storage, file_bytes):
    room = MAX_SHARING * file_bytes
    arrays, storage, data = {}, None, b""
    for name, tensor in tensors.items():
        is_new = tensor.storage != storage
        room -= tensor.num_bytes + (tensor.storage.num_bytes if is_new else 0)
        if room < 0:
            raise ValueError(f"its tensors share their numbers too often: `{name:.100}`")
        if is_new:
            storage, data = tensor.storage, read_storage(tensor.storage)
        arrays[name] = tensor.array(data)
    return arrays
