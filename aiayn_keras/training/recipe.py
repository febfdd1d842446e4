"""Recipes: descriptions of a whole training in YAML, read, checked and explained.

A recipe consists of the sections of `recipe_sections`. `Recipe` adds the rules that concern several
of them; `load_recipe` reports wrong fields in one line.
"""

import difflib
import reprlib
import typing
from importlib import resources

import pydantic
import yaml

from aiayn_keras.backend import DevicesError, compiles_by_default, open_devices
from aiayn_keras.common.untrusted_yaml import MAX_YAML_BYTES, line_of_key, parse_yaml
from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerSeq2SeqLM
from aiayn_keras.optimization import LabelSmoothedCrossEntropy
from aiayn_keras.training.option_sections import DEFAULT_PRESET, EvaluationSection, ModelSection
from aiayn_keras.training.recipe_sections import (
    MAX_WEIGHTS,
    AugmentationSection,
    BatchesSection,
    CorpusSection,
    OptimizerSection,
    Section,
    TokenizerSection,
    TrainingSection,
)
from aiayn_keras_light.files import read_bytes

_LEARNED = ("vocabulary_size", "model_type", "whole_target_words")
"""Fields of `tokenizer` that are only for a vocabulary that is learned."""
_FOR_SOURCES = "clean_nfkc"
"""The normalization that is never meant for targets."""
_MAX_PROBLEMS = 3
"""Maximum number of wrong fields in a message."""
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100


class RecipeError(ValueError):
    """Raised for a recipe that cannot be used; names the wrong fields and the allowed values."""


class Recipe(Section):
    """Description of a whole training.

    Attributes:
        corpus: The `CorpusSection`.
        augmentation: The `AugmentationSection`.
        tokenizer: The `TokenizerSection`.
        model: The `ModelSection`.
        batches: The `BatchesSection`.
        optimizer: The `OptimizerSection`.
        training: The `TrainingSection`.
        evaluation: The `EvaluationSection`.
    """

    corpus: CorpusSection
    augmentation: AugmentationSection = AugmentationSection()
    tokenizer: TokenizerSection
    model: ModelSection = ModelSection()
    batches: BatchesSection = BatchesSection()
    optimizer: OptimizerSection = OptimizerSection()
    training: TrainingSection
    evaluation: EvaluationSection = EvaluationSection()

    @property
    def is_of_trees(self):
        """True if the corpus is constituency trees, which are read as they are."""
        return _is_of_trees(self.corpus.tree_leaves, self.corpus.name)

    @property
    def vocabulary(self):
        """The section `tokenizer` for the text of the corpus, which is read in the form NFC.

        So `identity` composes, too, or a model would not know the same letters in another form.
        """
        names = () if self.is_of_trees else ("normalization", "target_normalization")
        fields = {name: "nfc" for name in names if getattr(self.tokenizer, name) == "identity"}
        return self.tokenizer.model_copy(update=fields)

    @pydantic.model_validator(mode="after")
    def _shards_or_text(self):
        if self.corpus.shards is not None and (names := self.fields_of_text()):
            raise ValueError(
                f"{names} needs text, which `corpus.shards` does not hold: leave one of them out"
            )
        return self

    def fields_of_text(self):
        """Names the given fields that prepared shards, which hold no text, cannot follow."""
        fields = {
            "`tokenizer.sampling_alpha`": self.tokenizer.sampling_alpha is not None,
            "`corpus.mix`": self.corpus.mix is not None,
            "`augmentation`": self.augmentation != AugmentationSection(),
        }
        return " and ".join(name for name, is_given in fields.items() if is_given)

    def fields_without_effect(self):
        """Says which fields are set that change nothing, in a list of sentences."""
        found = []
        default = BatchesSection.model_fields["max_shapes"].default
        if self.batches.packing and self.batches.max_shapes != default:
            found.append(
                "`batches.max_shapes` has no effect with `batches.packing`, which needs one shape."
            )
        alone = AugmentationSection(variants=self.augmentation.variants)
        if self.augmentation == alone != AugmentationSection():
            found.append(
                "`augmentation.variants` has no effect without a share of another field of "
                "`augmentation`: all variants of the text are the same."
            )
        return found

    @pydantic.model_validator(mode="before")
    @classmethod
    def _tokenizer_of_initial(cls, fields):
        """Makes the section `tokenizer` optional if the initial model brings its own."""
        model = fields.get("model") if isinstance(fields, dict) else None
        if isinstance(model, dict) and model.get("initial") is not None:
            return {"tokenizer": {}, **fields}
        return fields

    @pydantic.model_validator(mode="before")
    @classmethod
    def _default_normalizations(cls, fields):
        """Fills in the normalizations of trees, and of targets, where a vocabulary is learned."""
        sections = fields if isinstance(fields, dict) else {}
        corpus, tokenizer, model = (sections.get(n) for n in ("corpus", "tokenizer", "model"))
        if isinstance(model, dict) and model.get("initial") is not None:
            return fields
        if not isinstance(tokenizer, dict):
            return fields
        if isinstance(corpus, dict) and _is_of_trees(corpus.get("tree_leaves"), corpus.get("name")):
            # Others write some words as two, and a leaf belongs to each.
            return {**fields, "tokenizer": {"normalization": "identity", **tokenizer}}
        is_for_both = tokenizer.get("normalization", _FOR_SOURCES) != _FOR_SOURCES
        if is_for_both or tokenizer.get("target_normalization") is not None:
            return fields
        return {**fields, "tokenizer": {**tokenizer, "target_normalization": "nfc"}}

    @pydantic.model_validator(mode="after")
    def _vocabulary_or_initial(self):
        if self.model.initial is None:
            if self.tokenizer.vocabulary_size is None:
                raise ValueError("field `tokenizer.vocabulary_size` is missing")
            return self
        given = sorted(self.tokenizer.model_fields_set & set(_LEARNED))
        if given:
            raise ValueError(
                f"leave out `tokenizer.{given[0]}`: the tokenizer is that of `model.initial`="
                f"{self.model.initial}"
            )
        if self.corpus.shards is not None:
            raise ValueError(
                "`model.initial` needs text for its own tokenizer: leave out `corpus.shards`"
            )
        if self.model.lora_rank is not None and self.tokenizer.byte_fallback:
            raise ValueError(
                "`model.lora_rank` cannot be combined with `tokenizer.byte_fallback`: adapters do "
                "not train the embeddings that it adds"
            )
        if self.model.lora_rank is not None and self.training.devices == "model_parallel":
            raise ValueError(
                "`model.lora_rank` cannot be combined with `training.devices`=model_parallel: use "
                "data_parallel"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _model_divides(self):
        if self.model.initial is None:
            sizes = {**self.model.options, "vocabulary_size": self.tokenizer.vocabulary_size}
            check_division(sizes, self.training.model_parallel_size)
        return self

    @pydantic.model_validator(mode="after")
    def _model_has_a_size(self):
        if self.model.initial is not None:
            return self
        weights = self.model.count_weights(self.tokenizer.vocabulary_size)
        if weights > MAX_WEIGHTS:
            raise ValueError(
                f"the sizes of `model` make {weights:,} weights, more than {MAX_WEIGHTS:,}: choose "
                "smaller ones"
            )
        return self

    def build_model(self, vocabulary_size):
        """Makes a compiled `TransformerSeq2SeqLM` that takes token ids, with random weights."""
        return self.compile_model(self.model.build(vocabulary_size, self.training.dtype))

    def compile_model(self, backbone):
        """Makes a `TransformerSeq2SeqLM` from a backbone, compiled for training."""
        jit_compile = self.training.jit_compile
        label_smoothing = self.optimizer.label_smoothing
        if label_smoothing is None:
            preset = self.model.preset or DEFAULT_PRESET
            label_smoothing = TRANSFORMER_PRESETS[preset]["label_smoothing"]
        model = TransformerSeq2SeqLM(backbone)
        model.compile(
            optimizer=self.optimizer.build(backbone.hidden_dim),
            # A sum: the batches' weights already divide by the number of tokens (`UpdateBatches`).
            loss=LabelSmoothedCrossEntropy(label_smoothing, reduction="sum"),
            # Accuracy and perplexity would each pass over all logits again, 40 % of the time of
            # a tiny model; perplexity is measured on the validation sentences instead.
            weighted_metrics=[],
            jit_compile=compiles_by_default() if jit_compile is None else jit_compile,
        )
        return model

    def open_devices(self):
        """Opens the `Devices` to train on; see `aiayn_keras.backend.open_devices`.

        Raises:
            DevicesError: If they do not exist, or for `tokenizer.sampling_alpha` with several
                processes.
        """
        devices = open_devices(
            self.training.devices,
            self.training.model_parallel_size,
            self.optimizer.gradient_accumulation_steps,
        )
        if devices.num_processes > 1 and self.tokenizer.sampling_alpha is not None:
            raise DevicesError(
                "`tokenizer.sampling_alpha` must be left out with several processes, which would "
                f"draw different wordpieces. Received: {devices.num_processes} processes."
            )
        return devices

    def to_yaml(self):
        """Writes the whole recipe, defaults included, as YAML text."""
        exclude = None
        if self.model.initial is not None:
            tokenizer = self.tokenizer
            exclude = {"tokenizer": set(type(tokenizer).model_fields) - tokenizer.model_fields_set}
        fields = self.model_dump(mode="json", exclude=exclude)
        sections = {name: _given(getattr(self, name), fields[name]) for name in fields}
        return yaml.safe_dump(sections, sort_keys=False)


def _is_of_trees(tree_leaves, name):
    return tree_leaves is not None or name == "craft-parsing"


def _given(section, fields):
    """Leaves out the fields of a section that are `None` by default."""
    defaults = type(section).model_fields
    return {
        name: value
        for name, value in fields.items()
        if value is not None or defaults[name].default is not None
    }


def check_division(sizes, model_parallel_size):
    """Refuses sizes of a model that cannot be divided among the devices that share it.

    Args:
        sizes: Dictionary of arguments of `TransformerBackbone`.
        model_parallel_size: Number of devices, or `None`.

    Raises:
        ValueError: If a size is not a multiple of the number of devices.
    """
    for name in ("num_heads", "intermediate_dim", "vocabulary_size"):
        if sizes[name] % (model_parallel_size or 1):
            raise ValueError(
                f"`{name}`={sizes[name]} must be a multiple of `training.model_parallel_size`="
                f"{model_parallel_size}, the number of devices that share it"
            )


def recipe_names():
    """Lists the names of the recipes that ship with the package."""
    folder = resources.files("aiayn_keras.training") / "recipes"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir())


def load_recipe(name_or_path, overrides=()):
    """Reads and checks a recipe.

    Args:
        name_or_path: A name of `recipe_names()`, or a path that ends in `.yaml` or `.yml`.
        overrides: Strings `section.field=value`, with the value in YAML; a field may be a section
            of fields itself, as in `corpus.mix.share=0.3`.

    Returns:
        A `Recipe`.

    Raises:
        RecipeError: If the name is unknown, the file is not a recipe, or a field or its value is
            wrong; the message lists what is allowed.
        FileNotFoundError: If the file does not exist.
    """
    text = _read(name_or_path)
    fields = _parse(text, name_or_path)
    if not isinstance(fields, dict):
        raise RecipeError(
            f"{name_or_path} must hold the sections {', '.join(Recipe.model_fields)}."
        )
    for override in overrides:
        _apply(fields, override)
    try:
        return Recipe.model_validate(fields)
    except pydantic.ValidationError as error:
        set_elsewhere = {override.partition("=")[0] for override in overrides}
        raise RecipeError(_explain(error, name_or_path, text, set_elsewhere)) from None


def _read(name_or_path):
    """Reads the bytes of a recipe."""
    if str(name_or_path).endswith((".yaml", ".yml")):
        try:
            return read_bytes(name_or_path, MAX_YAML_BYTES)
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no recipe file {str(name_or_path)!r}.") from None
    if name_or_path in recipe_names():
        file = resources.files("aiayn_keras.training") / "recipes" / f"{name_or_path}.yaml"
        return file.read_bytes()
    raise RecipeError(
        f"There is no recipe {str(name_or_path)!r}. Recipes are: "
        f"{', '.join(recipe_names())}; or give a path that ends in .yaml."
    )


def _parse(text, origin):
    try:
        return parse_yaml(text, origin)
    except ValueError as error:
        raise RecipeError(str(error)) from None


def _apply(fields, override):
    key, equals, value = override.partition("=")
    *sections, field = key.split(".")
    if not (equals and sections and all(sections) and field):
        raise RecipeError(
            f"A setting must look like section.field=value. Received: {_shown(override)}."
        )
    value = _parse(value, _shown(override))
    for number, section in enumerate(sections, start=1):
        fields = fields.setdefault(section, {})
        if not isinstance(fields, dict):
            raise RecipeError(f"`{'.'.join(sections[:number])}` must be a section of fields.")
    fields[field] = value


def _explain(error, origin, text, set_elsewhere):
    """Explains a `pydantic.ValidationError` in one line, with the names of a recipe's fields.

    Args:
        error: The error.
        origin: Name of the recipe.
        text: Its YAML, in which the lines of the fields are looked up.
        set_elsewhere: Set of the fields whose values are not those of the text.
    """
    problems = []
    for problem in error.errors()[:_MAX_PROBLEMS]:
        path = [part for part in problem["loc"] if isinstance(part, str)]
        line = None
        if path and ".".join(path) not in set_elsewhere:
            line = line_of_key(text, path)
        problems.append(f"line {line}: {_explain_one(problem)}" if line else _explain_one(problem))
    more = error.error_count() - len(problems)
    problems += [f"And {more} more."] if more else []
    return f"Recipe {origin}: {' '.join(problems)}"


def _explain_one(problem):
    path = [str(part) for part in problem["loc"] if isinstance(part, str)]
    where = ".".join(path) or "recipe"
    received = f" Received: {_shown(problem['input'])}."
    if problem["type"] == "extra_forbidden":
        allowed = _allowed_names(path[:-1])
        close = difflib.get_close_matches(path[-1][:100], allowed, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        if places := _places(path[-1]):
            hint = f" Did you mean `{places[0]}`?"
        return f"unknown field `{where[:100]}`.{hint} Allowed: {', '.join(allowed)}."
    if problem["type"] == "missing":
        return f"field `{where}` is missing."
    if problem["type"] == "model_type":
        return f"`{where}`: must be a section of fields.{received}"
    message = problem["msg"].removeprefix("Value error, ").removesuffix(".") + "."
    if not path:  # of several sections, which the message names
        return message
    return f"`{where}`: {message}{'' if isinstance(problem['input'], dict) else received}"


def _shown(value):
    """Shortens a value for a message."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python refuses to write thousands of digits.
        return "a huge number"


def _places(name):
    """Lists the fields of sections that have a name."""
    sections = {section: _allowed_names([section]) for section in Recipe.model_fields}
    return [f"{section}.{name}" for section, names in sections.items() if name in names]


def _allowed_names(path):
    """Lists the fields of a section, or the sections."""
    model = Recipe
    for part in path:
        annotation = model.model_fields[part].annotation
        kinds = annotation, *typing.get_args(annotation)  # a section may be left out: `| None`
        model = next(kind for kind in kinds if hasattr(kind, "model_fields"))
    return list(model.model_fields)
