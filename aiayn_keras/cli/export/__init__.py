"""`aiayn-keras export`: one subcommand, and one file here, for each format."""

import click

from aiayn_keras.cli.export.ctranslate2 import ctranslate2
from aiayn_keras.cli.export.hf_marian import hf_marian
from aiayn_keras.cli.export.litert import litert
from aiayn_keras.cli.export.onnx import onnx
from aiayn_keras.cli.export.openvino import openvino
from aiayn_keras.cli.export.preset import preset
from aiayn_keras.cli.export.saved_model import saved_model

FORMATS = (saved_model, preset, ctranslate2, hf_marian, onnx, openvino, litert)


@click.group(commands=FORMATS)
def export():
    """Write a model for use without this package."""
