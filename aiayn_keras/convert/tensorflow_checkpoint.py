"""Checkpoints of TensorFlow: variables by their names, read by TensorFlow's own reader.

TensorFlow is imported here, whatever backend runs: the format is its own.
"""

import math
import re
from pathlib import Path

from aiayn_keras.files import check_regular_file, read_bytes

INDEX = ".index"
STATE = "checkpoint"
"""File of a folder of checkpoints that names the newest."""

MOST_STATE_BYTES = 1 << 20
MOST_INDEX_BYTES = 1 << 26


def find_checkpoint(path):
    """Finds a checkpoint's prefix, which the names of its files begin with.

    Args:
        path: The prefix, such as `run/ckpt-5000`; its file `*.index`; or a folder, whose newest
            checkpoint is meant.

    Returns:
        A `pathlib.Path`.

    Raises:
        OSError: If there is none.
        ValueError: If a folder has several and does not say which is the newest.
    """
    path = Path(path)
    if not path.is_dir():
        prefix = path.with_name(path.name.removesuffix(INDEX))
        check_regular_file(_index_of(prefix))
        return prefix
    names = sorted(file.name.removesuffix(INDEX) for file in path.glob(f"*{INDEX}"))
    if not names:
        raise FileNotFoundError(
            f"{path} has no checkpoint of TensorFlow: no file there has a name that ends in "
            f"{INDEX}."
        )
    if len(names) == 1:
        return path / names[0]
    newest = _newest(path / STATE)
    if newest not in names:
        raise ValueError(
            f"{path} has several checkpoints, and no file `{STATE}` says which is the newest: name "
            f"one, such as {path / names[-1]}."
        )
    return path / newest


def read_checkpoint(prefix, choose):
    """Reads variables of a checkpoint.

    Args:
        prefix: What `find_checkpoint` returns.
        choose: Function from the list of all names to a dictionary, from the names of those that
            are wanted to what they are called in the result.

    Returns:
        Dictionary from names to float32 arrays.

    Raises:
        ImportError: If TensorFlow is not installed.
        OSError: If a file is missing.
        ValueError: If one is damaged, or a variable holds no floating-point numbers.
    """
    try:
        import tensorflow as tf
    except ImportError:
        raise ImportError(
            f"{prefix} is a checkpoint of TensorFlow, which is not installed: pip install "
            "tensorflow-cpu. What becomes of it runs without."
        ) from None
    if _index_of(prefix).stat().st_size > MOST_INDEX_BYTES:
        raise ValueError(f"{_index_of(prefix)} has more than {MOST_INDEX_BYTES:,} bytes.")
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        _check_size(prefix, shapes, dtypes)
        names = choose(sorted(shapes))
        for name in names:
            if not dtypes[name].is_floating:
                raise ValueError(f"`{name:.200}` holds no floating-point numbers.")
        return {new: reader.get_tensor(name).astype("float32") for name, new in names.items()}
    except (tf.errors.OpError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{prefix}: {reason:.300}") from None


def _check_size(prefix, shapes, dtypes):
    """Refuses shapes of more numbers than the files have, before room is made for them."""
    num_bytes = sum(file.stat().st_size for file in prefix.parent.glob(f"{prefix.name}.data-*"))
    stated = sum(math.prod(shape) * dtypes[name].size for name, shape in shapes.items())
    if stated > num_bytes:
        raise ValueError(
            f"its variables have {stated:,} bytes, but its files `{prefix.name}.data-*` have "
            f"{num_bytes:,}."
        )


def _newest(path):
    """Name of the checkpoint that a file `checkpoint` calls the newest, or None."""
    if not path.is_file():
        return None
    content = read_bytes(path, MOST_STATE_BYTES).decode("utf-8", errors="replace")
    match = re.search(r'^model_checkpoint_path: "(.*)"', content, re.MULTILINE)
    return match and Path(match[1]).name


def _index_of(prefix):
    return prefix.with_name(prefix.name + INDEX)
