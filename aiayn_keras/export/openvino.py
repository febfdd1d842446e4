"""A folder for OpenVINO, an engine for CPUs, GPUs and NPUs by Intel, and for ARM.

It stands alone as one format of its own; its graphs are converted from the ONNX ones.
"""

import tempfile
from pathlib import Path

from aiayn_keras.common.weight_files import check_number_format
from aiayn_keras.export.hugging_face_files import write_tokenizers
from aiayn_keras.export.onnx import check_model, facts, write_graphs
from aiayn_keras.export.preparation import check_packages, render
from aiayn_keras_light.files import check_is_new, check_is_utf8, check_room, new_folder

NAMES = {"encoder": "encoder_model", "decoder": "decoder_model"}


def export_openvino(model, filepath, weights="float32"):
    """Writes a folder with the model as OpenVINO graphs, and the tokenizer that they need.

    The graphs are those of `export_onnx`, `encoder_model.xml` and `decoder_model.xml` with weights
    in files `.bin` beside them. They do not search: the program that runs them does. The README in
    the folder shows how.

    Args:
        model: A `TransformerSeq2SeqLM` with a preprocessor.
        filepath: The folder to make.
        weights: Number format of the weights in the files: `"float32"`, or `"float16"`, which
            halves them.

    Returns:
        `pathlib.Path` of the folder.

    Raises:
        FileExistsError: If the folder exists already.
        ImportError: If `onnx`, `openvino` or `tokenizers` is not installed.
        ValueError: For unknown `weights`, a weight that float16 does not have, or a model that
            `export_onnx` refuses.
    """
    check_packages("onnx", "openvino", "tokenizers")
    check_number_format(weights)
    folder = Path(filepath)
    check_is_new(folder)
    check_is_utf8(folder)
    check_model(model, weights)
    with new_folder(folder) as written:
        write_tokenizers(written, model.preprocessor.tokenizer)
        _convert_graphs(model.backbone, written, weights)
        readme = render("openvino.md", name=folder.name, **NAMES, **facts(model))
        (written / "README.md").write_text(readme, encoding="utf-8")
    return folder


def _convert_graphs(backbone, folder, weights):
    import openvino

    core, is_half = openvino.Core(), weights == "float16"
    # OpenVINO says nothing of a full disk.
    check_room(folder, backbone.count_params() * (2 if is_half else 4))
    with tempfile.TemporaryDirectory() as temporary:
        graphs = Path(temporary) / "onnx"
        for part, name in write_graphs(backbone, graphs).items():
            graph = core.read_model(graphs / name)
            path = folder / f"{NAMES[part]}.xml"
            openvino.save_model(graph, path, compress_to_fp16=is_half)
