"""Tensors by their names, from files of the formats that models are shared in."""

from pathlib import Path

from aiayn_keras.common.files import check_regular_file
from aiayn_keras.convert.safetensors_file import read_safetensors
from aiayn_keras.convert.torch_file import PICKLE, ZIP, read_torch, tensors_of


def read_tensors(path):
    """Reads all tensors of a file: safetensors, or `torch.save`'s old or new format.

    The format is known by the file's first bytes. Nothing in the file is run; numbers of every
    format become float32.

    Args:
        path: The file, such as `model.safetensors` or `pytorch_model.bin`.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        OSError: If there is no such regular file.
        ValueError: If it is damaged, or holds anything but tensors; with the file's name and, as
            far as it is known, the tensor's.
    """
    check_regular_file(path)
    with Path(path).open("rb") as file:
        start = file.read(9)
    if start.startswith((ZIP, PICKLE)):
        return read_torch(path, tensors_of)
    if start[8:] == b"{":
        return read_safetensors(path)
    raise ValueError(f"{path} is no file of tensors: neither safetensors nor from `torch.save`.")
