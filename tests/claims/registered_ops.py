"""Prints the ops that a wheel of TensorFlow or TensorFlow Text registers; needs only Python.

`python tests/claims/registered_ops.py WHEELS 2.18.1` unpacks the wheel of `tensorflow-cpu` 2.18.1
from the folder WHEELS, and prints the version of its graphs (a `VersionDef`) and its ops (an
`OpList`), serialized, in hexadecimal. If a version of TensorFlow Text is given as well, the ops are
those added by its libraries.
"""

import ctypes
import json
import sys
import tempfile
import zipfile
from pathlib import Path


class Buffer(ctypes.Structure):
    """`TF_Buffer`."""

    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("_", ctypes.c_void_p))

    def read(self):
        return ctypes.string_at(self.data, self.length)


class Library:
    """The C library of an unpacked TensorFlow wheel; a process can only load one."""

    def __init__(self, folder):
        for name in ("framework", "cc"):
            path = folder / "tensorflow" / f"libtensorflow_{name}.so.2"
            self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self._status = self._call("TF_NewStatus", ctypes.c_void_p)

    def _call(self, name, result, *arguments):
        function = getattr(self._library, name)
        function.restype = result
        pointers = [
            each if isinstance(each, bytes) else ctypes.c_void_p(each) for each in arguments
        ]
        return function(*pointers)

    def graph_def_version(self):
        graph = self._call("TF_NewGraph", ctypes.c_void_p)
        pointer = self._call("TF_NewBuffer", ctypes.c_void_p)
        self._call("TF_GraphVersions", None, graph, pointer, self._status)
        return Buffer.from_address(pointer).read()

    def ops(self):
        pointer = self._call("TF_GetAllOpList", ctypes.c_void_p)
        return Buffer.from_address(pointer).read()

    def ops_of(self, path):
        """Returns the ops that a further library registers."""
        library = self._call("TF_LoadLibrary", ctypes.c_void_p, str(path).encode(), self._status)
        if library is None:
            raise OSError(self._call("TF_Message", ctypes.c_char_p, self._status).decode())
        return self._call("TF_GetOpList", Buffer, library).read()


def unpack(wheels, package, version, folder):
    """Unpacks the shared libraries of a wheel."""
    (wheel,) = wheels.glob(f"{package}-{version}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".so" in name.rpartition("/")[2]]
        archive.extractall(folder, [n for n in names if "/python/" not in n or "text" in package])


def main(wheels, core, text=None):
    wheels = Path(wheels)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        unpack(wheels, "tensorflow_cpu", core, folder)
        library = Library(folder)
        if text is None:
            parts = [library.graph_def_version(), library.ops()]
        else:
            unpack(wheels, "tensorflow_text", text, folder)
            libraries = sorted(folder.glob("tensorflow_text/**/*.so"))
            parts = [b"", b"".join(map(library.ops_of, libraries))]
    print(json.dumps([part.hex() for part in parts]))


if __name__ == "__main__":
    main(*sys.argv[1:])
