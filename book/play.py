"""The page to type into: a static site with the model, run by ONNX Runtime Web.

python -m book.play    # downloads ONNX Runtime Web for the book and its tests
"""

import base64
import hashlib
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from string import Template

from book.sources import ROOT

FOLDER = "play"
"""Folder of the page in the built book."""
RUNTIME = "onnxruntime-web@1.30.0"
RUNTIME_DIGEST = (
    "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ=="
)
"""SHA-512 of the package, as npm's registry has it."""
RUNTIME_FILES = (
    "ort.wasm.min.mjs",
    "ort-wasm-simd-threaded.mjs",
    "ort-wasm-simd-threaded.wasm",
)
FORMATS = {"int8": "int8-weights", "float32": "float32"}
"""Number formats of the exported graphs, by the folder's name."""
CHOSEN = "float32"
"""The format whose files the browser keeps only for readers who have chosen it."""
SECONDS = 120
"""Maximum time to download a package."""
MAX_CHARACTERS = 2_000
"""Maximum length of a text; the page keeps it in its address."""

PACKAGES = ROOT / "build/npm"
"""Folder of packages that were downloaded."""
MISSING = f"it needs npm, which downloads {RUNTIME}, and a network."


def runtime_package(folder=PACKAGES):
    """Downloads ONNX Runtime Web with npm, unless the folder has it.

    Args:
        folder: `pathlib.Path` where the package is kept.

    Returns:
        `pathlib.Path` of the package, or None if npm is missing or cannot download it.

    Raises:
        ValueError: If the package is not the one that is expected.
    """
    package = folder / f"{RUNTIME.replace('@', '-')}.tgz"
    if not package.is_file():
        npm = shutil.which("npm")
        if npm is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", RUNTIME, "--silent", "--pack-destination", folder]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
        except (OSError, subprocess.SubprocessError):
            return None
    digest = base64.b64encode(hashlib.sha512(package.read_bytes()).digest()).decode("ascii")
    if digest != RUNTIME_DIGEST:
        raise ValueError(f"{package} is not {RUNTIME}: its SHA-512 is {digest}. Delete the file.")
    return package


def play_files(model, package):
    """Makes the files of the page.

    Args:
        model: A `TransformerSeq2SeqLM`.
        package: `pathlib.Path` of the package of ONNX Runtime Web.

    Returns:
        Dictionary from paths in the page's folder to bytes.
    """
    from aiayn_keras.decoding.search_options import SearchOptions
    from aiayn_keras.serving.local_page.page import VIEWS, PageFacts, onnx_files, page_files

    facts = PageFacts(
        engine="onnx",
        name=None,
        languages=("en", "es"),
        deploy=None,
        views=VIEWS,
        num_beams=SearchOptions.num_beams,
        length_penalty=SearchOptions.length_penalty,
        max_characters=MAX_CHARACTERS,
    )
    texts, _ = page_files(facts)
    texts |= onnx_files()
    worker = texts.pop("onnx/service_worker.js")  # its place decides which files it may keep
    files = {path: text.encode() for path, text in texts.items()}
    with tarfile.open(package) as archive:
        for name in RUNTIME_FILES:
            files[f"ort/{name}"] = archive.extractfile(f"package/dist/{name}").read()
    for name, weights in FORMATS.items():
        files |= {f"model/{name}/{path}": content for path, content in model_files(model, weights)}
    contents = [worker.encode(), *(files[path] for path in sorted(files))]
    digest = hashlib.sha256(b"".join(contents)).hexdigest()
    chosen = {CHOSEN: sorted(path for path in files if path.startswith(f"model/{CHOSEN}/"))}
    always = sorted({*files} - {*chosen[CHOSEN]})
    template = Template(worker).substitute(
        version=digest[:16], files=json.dumps(always), chosen=json.dumps(chosen)
    )
    return {**files, "service_worker.js": template.encode()}


def model_files(model, weights):
    """Pairs of path and content of the exported model, whose parts can be switched off."""
    from aiayn_keras.export.hugging_face_files import (
        write_configuration,
        write_page_settings,
        write_tokenizer_json,
        write_tokenizers,
    )
    from aiayn_keras.export.onnx import write_graphs

    tokenizer = model.preprocessor.tokenizer
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent)
        write_tokenizers(folder, tokenizer)
        # Without a network a file that never was looks like one that is lost: it is always there.
        targets = tokenizer.of_targets().proto
        write_tokenizer_json(folder / "target_tokenizer.json", targets, end=False)
        write_graphs(model.backbone, folder / "onnx", weights, attention=True, switches=True)
        write_configuration(folder, model, "q8")
        write_page_settings(folder, tokenizer)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                yield path.relative_to(folder).as_posix(), path.read_bytes()


if __name__ == "__main__":
    print(runtime_package() or f"The page to type into is left out: {MISSING}")
