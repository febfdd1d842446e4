"""Builds and runs `predict.c`, the client of our SavedModels that has no Python in it."""

import io
import math
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).with_name("predict.c")
OP_LIBRARIES = ("_sentencepiece_tokenizer.so", "_state_based_sentence_breaker_op.so")


def build_c_client(folder):
    """Compile the client against the TensorFlow wheel; skip the test where that cannot be done.

    Args:
        folder: Existing folder which receives the program and links to TensorFlow's libraries.

    Returns:
        Path of the program.
    """
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler: neither $CC nor `cc` is on the PATH")
    import tensorflow as tf

    wheel = Path(tf.sysconfig.get_lib())
    libraries = Path(folder) / "lib"
    libraries.mkdir()
    for name in ("tensorflow_cc", "tensorflow_framework"):
        versioned = wheel / f"lib{name}.so.2"
        if not versioned.exists():
            pytest.skip(f"this TensorFlow wheel has no {versioned.name} to link against")
        (libraries / f"lib{name}.so").symlink_to(versioned)

    program = Path(folder) / "predict"
    command = [compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += ["-isystem", tf.sysconfig.get_include(), str(SOURCE), "-o", str(program)]
    command += [f"-L{libraries}", "-ltensorflow_cc", "-ltensorflow_framework"]
    command += [f"-Wl,-rpath,{wheel}"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{built.stderr}")
    return program


def run_c_client(program, saved_model_dir, signature, inputs, op_libraries=OP_LIBRARIES):
    """Run one signature of a SavedModel.

    Args:
        program: Path from `build_c_client`.
        saved_model_dir: Folder that holds `saved_model.pb`.
        signature: Its name.
        inputs: Dictionary of arrays, of strings or of integers.
        op_libraries: Names of the libraries of tensorflow_text whose ops the graph uses.

    Returns:
        Dictionary of arrays, the signature's outputs.
    """
    import tensorflow_text

    ops = Path(tensorflow_text.__file__).parent / "python" / "ops"
    input_tensors, output_tensors = signature_tensors(saved_model_dir, signature)
    command = [str(program), str(saved_model_dir), *(str(ops / name) for name in op_libraries)]
    command += ["--", *(input_tensors[name] for name in inputs), "--", *output_tensors.values()]
    stdin = b"".join(_written(np.asarray(value)) for value in inputs.values())
    # Only the PATH: nothing of this process' Python environment reaches the program.
    environment = {"PATH": os.defpath, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ran = subprocess.run(command, input=stdin, capture_output=True, env=environment)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.decode(errors="replace"))
    stdout = io.BytesIO(ran.stdout)
    outputs = {name: _read(stdout) for name in output_tensors}
    assert not stdout.read()
    return outputs


def signature_tensors(saved_model_dir, signature):
    """Names of the tensors behind a signature's inputs and outputs, by their names in it."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((Path(saved_model_dir) / "saved_model.pb").read_bytes())
    signature = saved_model.meta_graphs[0].signature_def[signature]
    return tuple(
        {name: tensor.name for name, tensor in tensors.items()}
        for tensors in (signature.inputs, signature.outputs)
    )


def _written(array):
    """An array as `predict` reads it."""
    if array.dtype.kind in "OU":
        texts = [text.encode() for text in array.flat]
        elements = [b"%d %s" % (len(text), text) for text in texts]
        kind = "string"
    else:
        elements, kind = [b"%d" % number for number in array.flat], "int32"
    head = " ".join(map(str, (kind, array.ndim, *array.shape))).encode()
    return b"".join(line + b"\n" for line in (head, *elements))


def _read(stdout):
    """The next array that `predict` wrote."""
    kind, _, *dims = stdout.readline().decode().split()
    shape = tuple(map(int, dims))
    if kind == "string":
        elements = []
        for _ in range(math.prod(shape)):
            length = b"".join(iter(lambda: stdout.read(1), b" "))
            elements.append(stdout.read(int(length)).decode())
            assert stdout.read(1) == b"\n"
        return np.array(elements, dtype=object).reshape(shape)
    numbers = [stdout.readline() for _ in range(math.prod(shape))]
    return np.array(numbers, dtype="float32" if kind == "float" else "int32").reshape(shape)
