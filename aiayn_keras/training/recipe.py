"""A training described by one YAML file, checked before anything runs."""

import difflib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import yaml
from pydantic import Field, PositiveInt

from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
FilePair = tuple[str] | tuple[str, str]


class RecipeError(ValueError):
    """A recipe that cannot be used; the message says which field and what it may be."""


class _Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class CorpusSection(_Section):
    """Where the pairs come from: a corpus by `name`, or files by path.

    Attributes:
        name: A name of `aiayn_keras.data.corpus_names()`.
        variant: Of Multi30k, `"tok"` or `"raw"`.
        train_size: Number of pairs to generate for `demo`.
        train: Two files, or one TSV file, plain or .gz; likewise `validation` and `test`.
        validation: See `train`.
        test: See `train`.
        source_language: Language code of the sources, for the model card.
        target_language: Language code of the targets.
    """

    name: str | None = None
    variant: Literal["tok", "raw"] | None = None
    train_size: PositiveInt | None = None
    train: FilePair | None = None
    validation: FilePair | None = None
    test: FilePair | None = None
    source_language: str | None = None
    target_language: str | None = None

    @pydantic.model_validator(mode="after")
    def _name_or_files(self):
        if (self.name is None) == (self.train is None):
            raise ValueError("give either `name` or the files `train` and `validation`")
        if self.train is not None and self.validation is None:
            raise ValueError("`train` needs `validation`")
        return self


class TokenizerSection(_Section):
    """The vocabulary, learned from both sides of the training text.

    Attributes:
        vocabulary_size: Number of tokens, the four special ones included.
        model_type: `"bpe"` or `"unigram"`.
        normalization: SentencePiece's name of a normalization.
    """

    vocabulary_size: Annotated[int, Field(ge=8)]
    model_type: Literal["bpe", "unigram"] = "bpe"
    normalization: str = "nmt_nfkc"


class ModelSection(_Section):
    """The architecture: a preset and what differs from it; see `TransformerBackbone`.

    Attributes:
        preset: A key of `TransformerBackbone.presets`.
    """

    preset: Literal[tuple(TRANSFORMER_PRESETS)] = "transformer_base"
    num_layers: PositiveInt | None = None
    num_heads: PositiveInt | None = None
    hidden_dim: PositiveInt | None = None
    intermediate_dim: PositiveInt | None = None
    key_dim: PositiveInt | None = None
    value_dim: PositiveInt | None = None
    dropout: Share | None = None
    attention_dropout: Share | None = None
    activation_dropout: Share | None = None
    normalize_first: bool | None = None
    position_embedding: Literal["sinusoidal", "learned"] | None = None
    max_sequence_length: PositiveInt | None = None

    def build(self, vocabulary_size, precision):
        """Makes the `TransformerBackbone`, with random weights."""
        overrides = self.model_dump(exclude={"preset"}, exclude_none=True)
        return TransformerBackbone.from_preset(
            self.preset,
            load_weights=False,
            vocabulary_size=vocabulary_size,
            dtype=precision,
            **overrides,
        )


class BatchesSection(_Section):
    """Batches of similar lengths (paper 5.1).

    Attributes:
        tokens_per_batch: Most positions of a batch on either side, padding included.
        max_shapes: Most distinct batch shapes.
        max_length: Pairs with a longer side, in tokens, are dropped.
        max_ratio: Pairs with a greater ratio of lengths are dropped; see `filter_pairs`.
    """

    tokens_per_batch: PositiveInt = 25_000
    max_shapes: PositiveInt = 8
    max_length: PositiveInt = 250
    max_ratio: Annotated[float, Field(ge=1.0)] | None = 3.0


class OptimizerSection(_Section):
    """Adam with the warm-up schedule, and the loss (paper 5.3 and 5.4).

    Attributes:
        warmup_steps: Updates until the peak of the learning rate.
        peak_learning_rate: The peak; `(hidden_dim · warmup_steps)^-0.5` if not given.
        label_smoothing: The paper's ε_ls.
    """

    warmup_steps: PositiveInt = 4000
    peak_learning_rate: Annotated[float, Field(gt=0.0)] | None = None
    label_smoothing: Share = 0.1


class TrainingSection(_Section):
    """How long, how precise, what is kept.

    Attributes:
        updates: Number of optimizer updates, a multiple of `checkpoint_every`.
        checkpoint_every: Updates between checkpoints, each with a validation loss.
        bleu_every: Updates between validation BLEUs, a multiple of `checkpoint_every`.
        average_checkpoints: The model is the mean of this many last checkpoints (paper 6.1).
        precision: A Keras dtype policy.
        jit_compile: Whether the training step is compiled by XLA on TensorFlow. JAX always is.
        seed: Of the weights, of the order of batches and of dropout.
    """

    updates: PositiveInt
    checkpoint_every: PositiveInt
    bleu_every: PositiveInt
    average_checkpoints: PositiveInt = 5
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = "float32"
    jit_compile: bool = False
    seed: Annotated[int, Field(ge=0)] = 1

    @pydantic.model_validator(mode="after")
    def _multiples(self):
        for name in ("updates", "bleu_every"):
            if getattr(self, name) % self.checkpoint_every:
                raise ValueError(
                    f"`{name}`={getattr(self, name)} must be a multiple of "
                    f"`checkpoint_every`={self.checkpoint_every}"
                )
        return self


class EvaluationSection(_Section):
    """How translations are searched and measured (paper 6.1).

    Attributes:
        num_beams: Number of beams.
        length_penalty: The exponent α of the length penalty.
        bleu_tokenizer: sacreBLEU's tokenizer; `"none"` for text that is tokenised.
        lowercase: Whether BLEU ignores case.
    """

    num_beams: PositiveInt = 4
    length_penalty: Annotated[float, Field(ge=0.0)] = 0.6
    bleu_tokenizer: str = "13a"
    lowercase: bool = False


class Recipe(_Section):
    """All that decides a training; see the sections."""

    corpus: CorpusSection
    tokenizer: TokenizerSection
    model: ModelSection = ModelSection()
    batches: BatchesSection = BatchesSection()
    optimizer: OptimizerSection = OptimizerSection()
    training: TrainingSection
    evaluation: EvaluationSection = EvaluationSection()

    def to_yaml(self):
        """The whole recipe, defaults included, as YAML text."""
        return yaml.safe_dump(self.model_dump(mode="json", exclude_none=True), sort_keys=False)


def recipe_names():
    """Names of the recipes that ship with the package."""
    folder = resources.files("aiayn_keras.training") / "recipes"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir())


def load_recipe(name_or_path, overrides=()):
    """Reads and checks a recipe.

    Args:
        name_or_path: A name of `recipe_names()`, or a path that ends in `.yaml` or `.yml`.
        overrides: Strings `section.field=value`, the value in YAML.

    Returns:
        A `Recipe`.

    Raises:
        RecipeError: For an unknown name, a file that is not a recipe, an unknown field or a wrong
            value; each with what is allowed.
        FileNotFoundError: For a path without a file.
    """
    if str(name_or_path).endswith((".yaml", ".yml")):
        path = Path(name_or_path)
        if not path.is_file():
            raise FileNotFoundError(f"There is no recipe file {str(path)!r}.")
        text = path.read_text(encoding="utf-8")
    elif name_or_path in recipe_names():
        file = resources.files("aiayn_keras.training") / "recipes" / f"{name_or_path}.yaml"
        text = file.read_text(encoding="utf-8")
    else:
        raise RecipeError(
            f"There is no recipe {str(name_or_path)!r}. Recipes are: "
            f"{', '.join(recipe_names())}; or give a path that ends in .yaml."
        )
    fields = _parse_yaml(text, name_or_path)
    for override in overrides:
        _apply(fields, override)
    try:
        return Recipe.model_validate(fields)
    except pydantic.ValidationError as error:
        raise RecipeError(_explain(error, name_or_path)) from None


def _parse_yaml(text, origin) -> dict[str, Any]:
    try:
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RecipeError(f"{origin} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(fields, dict):
        raise RecipeError(f"{origin} must hold the sections {', '.join(Recipe.model_fields)}.")
    return fields


def _apply(fields, override):
    key, equals, value = override.partition("=")
    section, dot, field = key.partition(".")
    if not (equals and dot):
        raise RecipeError(
            f"A setting must look like section.field=value. Received: {override!r}."
        )
    try:
        value = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise RecipeError(f"{override!r} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(fields.setdefault(section, {}), dict):
        raise RecipeError(f"`{section}` must be a section of fields.")
    fields[section][field] = value


def _explain(error, origin):
    lines = []
    for problem in error.errors():
        path = [str(part) for part in problem["loc"] if isinstance(part, str)]
        where = ".".join(path) or "recipe"
        if problem["type"] == "extra_forbidden":
            allowed = _allowed_names(path[:-1])
            close = difflib.get_close_matches(path[-1], allowed, n=1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            lines.append(f"unknown field `{where}`.{hint} Allowed: {', '.join(allowed)}.")
        elif problem["type"] == "missing":
            lines.append(f"field `{where}` is missing.")
        else:
            message = problem["msg"].removeprefix("Value error, ")
            received = problem["input"]
            shown = "" if isinstance(received, dict) else f" Received: {received!r}."
            lines.append(f"`{where}`: {message}.{shown}")
    return f"Recipe {origin}: " + " ".join(lines)


def _allowed_names(path):
    model = Recipe
    for part in path:
        model = model.model_fields[part].annotation
    return list(model.model_fields)
