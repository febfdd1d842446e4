"""Modules of the user's own, which a recipe or an option of the command names.

A file of its own, since this is the only place where the package runs code by its name.
"""

import importlib
import os
import sys


def import_own_module(name):
    """Imports a module from where Python looks, or else from the current folder.

    Args:
        name: Name of the module, such as `"my_parts"`.

    Returns:
        The module.

    Raises:
        ImportError: If the module does not exist or cannot be imported.
    """
    folder = os.getcwd()
    is_added = folder not in sys.path
    if is_added:
        sys.path.append(folder)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ImportError(
            f"The module {name} cannot be imported: {type(error).__name__}: {error}. It was looked "
            f"for where Python looks, and in the current folder, {folder}."
        ) from error
    finally:
        if is_added:
            sys.path.remove(folder)
