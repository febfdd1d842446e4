"""Settings of a CTranslate2 model, of which `model.bin` holds some and `config.json` others."""

from dataclasses import dataclass

import pydantic

from aiayn_keras.common.checks import parse
from aiayn_keras.common.files import read_bytes

HEADS_OF_SPECIFICATION = {"": 8, "TransformerBase": 8, "TransformerBig": 16}
"""Heads of old models, whose specification says them; a `TransformerSpec` holds their number."""

ACTIVATIONS = {0: "relu", 2: "silu", 3: "gelu", 5: "tanh", 6: "sigmoid"}
"""CTranslate2's codes; its approximations of GELU, 1 and 4, are not in our models."""

ZEROS = "decoder/start_from_zero_embedding"
"""Switch of models whose translations begin with zeros, which are Marian's."""

NEWEST_REVISION = 7
FIRST_VERSION_WITH_CONFIG = 6
MAX_CONFIG_BYTES = 1 << 20


class Config(pydantic.BaseModel):
    """The file `config.json`; the defaults are CTranslate2's for models without it."""

    unk_token: str = "<unk>"
    bos_token: str = "<s>"
    eos_token: str = "</s>"
    decoder_start_token: str | None = "<s>"
    add_source_bos: bool = False
    add_source_eos: bool = False
    layer_norm_epsilon: float | None = pydantic.Field(default=None, gt=0, lt=1)


@dataclass(frozen=True)
class Settings:
    """Numbers and switches of both sides."""

    num_layers: int
    num_heads: int
    normalize_first: bool
    activation: str


def read_config(folder, model_bin, variables):
    """Reads `config.json`, or what old models have in its place.

    Of a model that begins with zeros, `decoder_start_token` becomes None, and `add_source_eos`
    True: Marian reads an end behind each source, which CTranslate2's converter for Transformers
    leaves to the caller.

    Raises:
        ValueError: For a model that reads or writes in a way that ours do not.
    """
    path = folder / "config.json"
    if model_bin.version < FIRST_VERSION_WITH_CONFIG:
        config, path = _config_of_variables(variables), model_bin.path
    elif path.exists():
        config = parse(Config, read_bytes(path, MAX_CONFIG_BYTES), path, "It is no configuration.")
    else:
        config = Config()
    if config.add_source_bos:
        raise ValueError(f"{path}: sources that begin with a start token cannot be converted.")
    if variables.find([ZEROS], 0, 0):
        return config.model_copy(update={"decoder_start_token": None, "add_source_eos": True})
    if config.decoder_start_token is None:
        raise ValueError(
            f"{path}: models without a `decoder_start_token`, which take it with each text, "
            "cannot be converted."
        )
    if config.decoder_start_token == config.eos_token and not config.add_source_eos:
        raise ValueError(
            f"{path}: models whose sources have no end, but whose translations begin with it "
            "(M2M-100 and NLLB by CTranslate2's converter for Transformers), take the end and the "
            "language with each text, and cannot be converted."
        )
    return config


def _config_of_variables(variables):
    flags = {
        name: variables.find([name], 0, default)
        for name, default in (
            ("with_source_bos", 0),
            ("with_source_eos", 0),
            ("with_target_bos", 1),
            ("user_decoder_start_tokens", 0),
        )
    }
    names = {}
    for field in ("unk_token", "bos_token", "eos_token"):
        code = variables.find([field], 1)
        if code is not None:
            names[field] = code.astype("int8").tobytes().decode("utf-8", errors="replace")
    config = Config(
        add_source_bos=flags["with_source_bos"], add_source_eos=flags["with_source_eos"]
    )
    config = config.model_copy(update=names)
    start = config.bos_token if flags["with_target_bos"] else config.eos_token
    if flags["user_decoder_start_tokens"]:
        start = None
    return config.model_copy(update={"decoder_start_token": start})


def read_settings(model_bin, variables):
    """Reads the numbers and switches of a `ModelBin`.

    Raises:
        ValueError: For another kind of model, or two sides that differ.
    """
    path = model_bin.path
    kind, revision = model_bin.specification, model_bin.revision
    if kind not in (*HEADS_OF_SPECIFICATION, "TransformerSpec"):
        raise ValueError(f"{path} holds a `{kind:.60}`, but only a Transformer can be converted.")
    if not 2 <= revision <= NEWEST_REVISION:
        raise ValueError(
            f"{path}: revision {revision:,} of {kind} is not read, only 2 to {NEWEST_REVISION}."
        )
    encoder, decoder = (
        _side_settings(side, variables, HEADS_OF_SPECIFICATION.get(kind, 8))
        for side in ("encoder", "decoder")
    )
    if encoder != decoder:
        raise ValueError(f"{path}: encoder and decoder differ, {encoder} and {decoder}.")
    return encoder


def _side_settings(side, variables, num_heads):
    def find(name, default):
        return variables.find([f"{side}/{name}", name], 0, default)

    activation = find("activation", 0)
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"{variables.path}: the activation number {activation} is none of "
            f"{', '.join(f'{code} ({name})' for code, name in ACTIVATIONS.items())}."
        )
    num_layers = variables.count_layers(f"{side}/layer_")
    if not num_layers:
        raise ValueError(f"{variables.path} has no layer `{side}/layer_0`.")
    return Settings(
        num_layers, find("num_heads", num_heads), bool(find("pre_norm", 1)), ACTIVATIONS[activation]
    )
