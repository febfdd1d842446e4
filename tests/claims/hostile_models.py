"""Models of CTranslate2 and fairseq that lie: each is right but for one thing.

Needs `ctranslate2` and PyTorch, which write the right ones.
"""

import json
import os
import struct

import numpy as np

from tests.claims.hostile_tensors import RunsCommand
from tests.convert import ctranslate2_models

NAN = float("nan")
QUERY = "encoder/layer_0/self_attention/linear_0/weight"


def hostile_engine_models(folder):
    """Yields what is wrong, the folder of a CTranslate2 model, and what the answer must say.

    Args:
        folder: A folder to write them into.
    """
    spec = ctranslate2_models.random_spec(num_layers=1)
    right = ctranslate2_models.write_spec(spec, folder / "right")
    variables = {name: value.numpy() for name, value in spec.variables().items()}
    files = {path.name: path.read_bytes() for path in right.iterdir()}
    changes = (_changed_bytes, _changed_variables, _changed_files)
    everything = (change for make in changes for change in make(files, variables, folder))
    for number, (name, changed, message) in enumerate(everything):
        model = folder / str(number)
        model.mkdir()
        for file, content in {**files, **changed}.items():
            if callable(content):
                content(model / file)
            elif content is not None:
                (model / file).write_bytes(content)
        yield name, model, message


def _changed_bytes(files, variables, folder):
    """Changes of the bytes of `model.bin`."""
    data = files["model.bin"]
    for size in (0, 3, 10, 40, len(data) // 2, len(data) - 1):
        yield f"cut to {size}", {"model.bin": data[:size]}, "model.bin: .* are left"
    yield "bytes behind", {"model.bin": data + b"x"}, "1 bytes too many"
    for version in (0, 1, 7, 2**32 - 1):
        changed = struct.pack("<I", version) + data[4:]
        yield f"version {version}", {"model.bin": changed}, f"version {version:,} of the layout"
    start = data.index(b"TransformerSpec") + len(b"TransformerSpec") + 1
    count = data[:start] + data[start : start + 4] + struct.pack("<I", 2**32 - 1)
    yield "2^32 variables", {"model.bin": count + data[start + 8 :]}, "4,294,967,295 variables"
    yield (
        "not a name",
        {"model.bin": data.replace(b"decoder/emb", b"\xff\xfe" * 5 + b"b", 1)},
        "not a name",
    )
    yield "a pickle", {"model.bin": b"\x80\2cos\nsystem\n."}, "of the layout"


def _changed_variables(files, variables, folder):
    """Changes of the variables, written as they are."""

    def write(changed, **options):
        path = folder / "changed.bin"
        kept = {name: a for name, a in {**variables, **changed}.items() if a is not None}
        ctranslate2_models.write_model_bin(path, kept, **options)
        return {"model.bin": path.read_bytes()}

    matrix = variables[QUERY]
    for value, what in ((NAN, "NaN"), (np.inf, "infinity")):
        changed = matrix.copy()
        changed[3, 4] = value
        yield what, write({QUERY: changed}), "self_attention/query/kernel.*not finite"
    yield "missing", write({QUERY: None}), f"`{QUERY}` is missing"
    renamed = {QUERY: None, QUERY.replace("linear_0", "linear_7"): matrix}
    yield "renamed", write(renamed), f"`{QUERY}` is missing"
    extra = {"encoder/layer_0/self_attention/relative_position_keys": matrix}
    yield (
        "relative positions",
        write(extra),
        "relative_position_keys` does not belong to a Transformer",
    )
    yield "too wide", write({QUERY: np.pad(matrix, ((0, 0), (0, 1)))}), "expected the shape"
    yield "not of three parts", write({QUERY: matrix[:-1]}), "35 rows"
    yield "one axis", write({QUERY: matrix.reshape(-1)}), "expected 2 axes"
    yield "a scalar", write({QUERY: np.float32(1)}), "expected 2 axes"
    yield "nine axes", write({QUERY: matrix.reshape(*[1] * 7, *matrix.shape)}), "cannot have"
    byte = np.ones(matrix.shape, "int8")
    yield "int8 without scale", write({QUERY: byte}), "not have a scale for each of its rows"
    for scale, what in ((0, "a scale of 0"), (NAN, "a scale of NaN")):
        changed = {QUERY: byte, f"{QUERY}_scale": np.full(len(byte), scale, "float32")}
        yield what, write(changed), "a scale that is 0 or not finite"
    few = {QUERY: byte, f"{QUERY}_scale": np.ones(2, "float32")}
    yield "two scales", write(few), "not have a scale for each of its rows"
    yield (
        "integers",
        write({QUERY: matrix.astype("int32") * 2**30}),
        "expected floating-point numbers, got int32",
    )
    yield "another model", write({}, specification="WhisperSpec"), "holds a `WhisperSpec`"
    yield "a long kind", write({}, specification="x" * 9999), "holds a `xxx"
    yield "revision 1", write({}, revision=1), "revision 1 of TransformerSpec"
    yield "revision 2^32", write({}, revision=2**32 - 1), "revision 4,294,967,295"
    for heads in (0, 5, -1, 32767):
        changed = {f"{side}/num_heads": np.int16(heads) for side in ("encoder", "decoder")}
        yield f"{heads} heads", write(changed), "`num_heads`"
    yield "unequal heads", write({"decoder/num_heads": np.int16(4)}), "encoder and decoder differ"
    yield "no layers", write({n: None for n in variables if "/layer_0/" in n}), "no layer"
    yield "fewer layers", write({n: None for n in variables if "decoder/layer_0/" in n}), "no layer"
    yield "another activation", write({"encoder/activation": np.int8(4)}), "activation number 4"
    gone = write({"decoder/projection/weight": matrix})
    yield "another output", gone, "do not match an output"
    yield "a bias of 3", write({"decoder/projection/bias": np.ones(3, "float32")}), "do not match"
    positions = {"encoder/position_encodings/encodings": np.ones((9, 7), "float32")}
    yield "other positions", write(positions), "positions do not have its width"
    yield (
        "no positions",
        write({"encoder/position_encodings/encodings": np.ones((0, 12), "float32")}),
        "`max_sequence_length`",
    )
    yield "an alias of nothing", write({}, aliases=[("a", "b")]), "cannot be another name"
    yield "an alias of itself", write({}, aliases=[("a", "a")]), "cannot be another name"
    yield "an alias of two", write({}, aliases=[(QUERY, QUERY)]), "cannot be another name"
    yield (
        "a scale of NaN for embeddings",
        write({"encoder/scale_embeddings": np.float32(NAN)}),
        "not finite",
    )


def _changed_files(files, variables, folder):
    """Changes of the vocabularies and the configuration."""
    name = "source_vocabulary.json"
    tokens = json.loads(files[name])
    for what, content, message in (
        ("no JSON", b"{", "not a list of tokens"),
        ("a table", b'{"a": 1}', "not a list of tokens"),
        ("numbers", b"[1, 2]", "not a list of tokens"),
        ("deep", b"[" * 10**6, "not a list of tokens"),
        ("a hole", json.dumps([*tokens[:3], None, *tokens[4:]]).encode(), "not a list of tokens"),
        (
            "a token twice",
            json.dumps([*tokens[:3], "ein", *tokens[3:]]).encode(),
            "'ein' is already token",
        ),
        ("too few", json.dumps(tokens[:-2]).encode(), "but the embeddings of .* have 9 rows"),
        ("too many", json.dumps([*tokens, "x"]).encode(), "have 9 rows"),
        (
            "no end token",
            json.dumps(["x", "y", "z", *tokens[3:]]).encode(),
            "lacks the token '</s>'",
        ),
        ("a long token", json.dumps([*tokens[:-1], "x" * 10**6]).encode(), "not a list of tokens"),
        ("10^8 tokens", _sparse, "more than 67,108,864 bytes"),
        ("an endless file", lambda path: path.symlink_to("/dev/zero"), "regular file"),
        ("a pipe", os.mkfifo, "regular file"),
        ("a folder", os.mkdir, "regular file"),
    ):
        yield f"vocabulary: {what}", {name: content}, f"{name}.*{message}"
    lines = "\n".join(tokens).encode()
    text = {name: None, "source_vocabulary.txt": lines.replace(b"zwei", b"\xff\xfe")}
    yield "vocabulary: no UTF-8", text, "line 5: not valid UTF-8"
    many = b"\n".join(b"%d" % i for i in range(2**20 + 1))
    text = {name: None, "source_vocabulary.txt": many}
    yield "vocabulary: a million lines", text, "more than 1,048,576"
    yield "vocabulary: none", {name: None}, "has none of the files"
    yield "weights: none", {"model.bin": None}, "no file .*model.bin"
    yield "weights: a pipe", {"model.bin": os.mkfifo}, "model.bin is not a regular file"
    config = json.loads(files["config.json"])
    for what, content, message in (
        ("no JSON", b"{", "not a configuration"),
        ("a list", b"[]", "not a configuration"),
        ("a start in the source", {**config, "add_source_bos": True}, "begin with a start token"),
        ("no start", {**config, "decoder_start_token": None}, "without a `decoder_start_token`"),
        ("an unknown start", {**config, "decoder_start_token": "<go>"}, "lacks the token '<go>'"),
        ("an ε of NaN", {**config, "layer_norm_epsilon": NAN}, "`layer_norm_epsilon`"),
        ("a negative ε", {**config, "layer_norm_epsilon": -1.0}, "`layer_norm_epsilon`"),
        ("2 MB", b" " * 2**21, "more than 1,048,576 bytes"),
    ):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        yield f"configuration: {what}", {"config.json": content}, message
    for what, content in (("nothing", b""), ("a pickle", b"\x80\2cos\nsystem\n.")):
        yield (
            f"SentencePiece: {what}",
            {"sentencepiece.model": content},
            "is not a SentencePiece model",
        )


def _sparse(path):
    with path.open("wb") as file:
        file.truncate(10**9)


def hostile_checkpoints(folder):
    """Yields what is wrong, the arguments of `convert_fairseq`, and what the answer must say.

    Args:
        folder: A folder to write them into.
    """
    import torch

    from tests.convert import fairseq_models as fairseq

    settings = fairseq.settings()
    state = fairseq.random_state(settings, 4 + len(fairseq.WORDS), num_layers=1)
    dictionary = folder / "dict.txt"
    fairseq.write_dictionary(dictionary, fairseq.WORDS)
    in_itself = {}
    in_itself["model"] = in_itself
    for number, (name, content, message) in enumerate(
        (
            ("tensors alone", state, "it has no `model`"),
            ("a list", [state], "it has no `model`"),
            ("no settings", {"model": state}, "neither `args` nor `cfg`"),
            ("a command as settings", {"model": state, "args": RunsCommand()}, "neither `args`"),
            (
                "a command as model",
                {"model": RunsCommand(), "args": settings},
                "not hold a dictionary",
            ),
            (
                "a command as a weight",
                {"model": {**state, "x": RunsCommand()}, "args": settings},
                "`x` is not a tensor",
            ),
            ("itself as model", {**in_itself, "args": settings}, "`model` is not a tensor"),
            ("heads of text", {"model": state, "args": {**settings, **_heads("many")}}, "_heads`"),
            ("heads of a list", {"model": state, "args": {**settings, **_heads([3])}}, "_heads`"),
            ("-1 heads", {"model": state, "args": {**settings, **_heads(-1)}}, "_heads`"),
            ("no heads", {"model": state, "args": {"arch": "transformer"}}, "_heads`"),
            ("no tensors", {"model": {}, "args": settings}, "not hold a dictionary of tensors"),
        )
    ):
        path = folder / f"{number}.pt"
        torch.save(content, path)
        yield name, (path, dictionary), message


def _heads(value):
    return {f"{side}_attention_heads": value for side in ("encoder", "decoder")}
