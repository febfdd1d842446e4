"""A training described by one YAML file, checked before anything runs."""

import difflib
from importlib import resources
from pathlib import Path

import pydantic
import yaml

from aiayn_keras.backend import compiles_by_default, open_devices
from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerSeq2SeqLM
from aiayn_keras.optimization import LabelSmoothedCrossEntropy
from aiayn_keras.training.recipe_sections import (
    BatchesSection,
    CorpusSection,
    EvaluationSection,
    ModelSection,
    OptimizerSection,
    Section,
    TokenizerSection,
    TrainingSection,
)


class RecipeError(ValueError):
    """Raised for a recipe that cannot be used; names the fields and their allowed values."""


class Recipe(Section):
    """Description of a whole training; see the sections."""

    corpus: CorpusSection
    tokenizer: TokenizerSection
    model: ModelSection = ModelSection()
    batches: BatchesSection = BatchesSection()
    optimizer: OptimizerSection = OptimizerSection()
    training: TrainingSection
    evaluation: EvaluationSection = EvaluationSection()

    @pydantic.model_validator(mode="after")
    def _shards_or_sampling(self):
        if self.corpus.shards is not None and self.tokenizer.sampling_alpha is not None:
            raise ValueError(
                "`tokenizer.sampling_alpha` needs text, which `corpus.shards` does not hold: "
                "leave one of them out"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _model_divides(self):
        devices = self.training.model_parallel_size or 1
        sizes = {**self.model.options, "vocabulary_size": self.tokenizer.vocabulary_size}
        for name in ("num_heads", "intermediate_dim", "vocabulary_size"):
            if sizes[name] % devices:
                raise ValueError(
                    f"`{name}`={sizes[name]} must be a multiple of `training.model_parallel_size`="
                    f"{devices}, among which it is divided"
                )
        return self

    def build_model(self, vocabulary_size):
        """Makes the compiled `TransformerSeq2SeqLM` that takes token ids, with random weights."""
        jit_compile = self.training.jit_compile
        label_smoothing = self.optimizer.label_smoothing
        if label_smoothing is None:
            label_smoothing = TRANSFORMER_PRESETS[self.model.preset]["label_smoothing"]
        backbone = self.model.build(vocabulary_size, self.training.dtype)
        model = TransformerSeq2SeqLM(backbone)
        model.compile(
            optimizer=self.optimizer.build(backbone.hidden_dim),
            # A sum: the batches' weights already divide by the number of tokens (`UpdateBatches`).
            loss=LabelSmoothedCrossEntropy(label_smoothing, reduction="sum"),
            # Accuracy and perplexity would each pass over all logits again, 40 % of a tiny
            # model's time; perplexity is measured on the validation sentences instead.
            weighted_metrics=[],
            jit_compile=compiles_by_default() if jit_compile is None else jit_compile,
        )
        return model

    def open_devices(self):
        """The `Devices` to train on; see `aiayn_keras.backend.open_devices`."""
        return open_devices(
            self.training.devices,
            self.training.model_parallel_size,
            self.optimizer.gradient_accumulation_steps,
        )

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
            value; the message lists what is allowed.
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


def _parse_yaml(text, origin):
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
        raise RecipeError(f"A setting must look like section.field=value. Received: {override!r}.")
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
