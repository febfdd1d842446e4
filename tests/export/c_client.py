"""Builds and runs `translate.c`, the client of our SavedModels that has no Python in it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("translate.c")
OP_LIBRARIES = ("_sentencepiece_tokenizer.so",)


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

    program = Path(folder) / "translate"
    command = [compiler, "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]
    command += ["-isystem", tf.sysconfig.get_include(), str(SOURCE), "-o", str(program)]
    command += [f"-L{libraries}", "-ltensorflow_cc", "-ltensorflow_framework"]
    command += [f"-Wl,-rpath,{wheel}"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{built.stderr}")
    return program


def run_c_client(program, saved_model_dir, lines, op_libraries=OP_LIBRARIES):
    """Translate lines with `serving_default` of a SavedModel.

    Args:
        program: Path from `build_c_client`.
        saved_model_dir: Folder that holds `saved_model.pb`.
        lines: Source sentences, without newlines.
        op_libraries: Names of the libraries of tensorflow_text whose ops the graph uses.

    Returns:
        List of `(score, translation)`, one for each line.
    """
    import tensorflow_text

    ops = Path(tensorflow_text.__file__).parent / "python" / "ops"
    command = [str(program), str(saved_model_dir), *serving_tensor_names(saved_model_dir)]
    command += [str(ops / name) for name in op_libraries]
    source = "".join(f"{line}\n" for line in lines).encode()
    # Only the PATH: nothing of this process' Python environment reaches the program.
    environment = {"PATH": os.defpath, "TF_CPP_MIN_LOG_LEVEL": "2"}
    ran = subprocess.run(command, input=source, capture_output=True, env=environment)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.decode(errors="replace"))
    rows = (row.split("\t", 1) for row in ran.stdout.decode().split("\n")[:-1])
    return [(float(score), translation) for score, translation in rows]


def serving_tensor_names(saved_model_dir):
    """Names of the tensors behind `text`, `translation` and `score` of `serving_default`."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((Path(saved_model_dir) / "saved_model.pb").read_bytes())
    signature = saved_model.meta_graphs[0].signature_def["serving_default"]
    outputs = signature.outputs
    return [signature.inputs["text"].name, outputs["translation"].name, outputs["score"].name]
