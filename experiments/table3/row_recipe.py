"""The recipe of one run: the base model's with its row's changes and a seed."""

import hashlib
from pathlib import Path

import yaml

from aiayn_keras.training import load_recipe
from aiayn_keras.training.option_sections import ModelSection
from aiayn_keras.training.recipe_sections import OptimizerSection

_NORMALIZATION = "nmt_nfkc"
"""That of both sides in all results; it was the default when the first ones were made."""


def row_recipe(row, base, seed):
    """Makes the `Recipe` of a row.

    A row whose model or schedule has a class of its own differs from its YAML text only in that
    class, so only this package can continue such a training.

    Args:
        row: A `Row`.
        base: Path of the base model's recipe.
        seed: Seed of the first weights, the order of batches and dropout.

    Returns:
        A `Recipe`.
    """
    # The files of the rows are older than these two choices, and so are their results.
    older = ("training.keep=average", f"tokenizer.normalization={_NORMALIZATION}")
    settings = (*row.settings, *older, f"training.seed={seed}")
    recipe = load_recipe(base, settings)
    sections = {}
    if row.backbone_cls is not None:
        sections["model"] = _model_section(row.backbone_cls), recipe.model
    if row.schedule_cls is not None:
        sections["optimizer"] = _optimizer_section(row.schedule_cls), recipe.optimizer
    return recipe.model_copy(
        update={
            name: section_cls.model_validate(section.model_dump(exclude_none=True))
            for name, (section_cls, section) in sections.items()
        }
    )


def fingerprint(row, base):
    """SHA-256 of everything but the seed that determines a row's figures."""
    settings = yaml.safe_load(Path(base).read_text("utf-8"))
    if settings["tokenizer"].get("normalization") == _NORMALIZATION:
        del settings["tokenizer"]["normalization"]  # which results go without
    classes = [each and each.__name__ for each in (row.backbone_cls, row.schedule_cls)]
    return hashlib.sha256(repr((settings, row.settings, classes)).encode()).hexdigest()


def _model_section(backbone_cls):
    class Section(ModelSection):
        def build(self, vocabulary_size, dtype):
            return backbone_cls(vocabulary_size, dtype=dtype, **self.options)

    return Section


def _optimizer_section(schedule_cls):
    class Section(OptimizerSection):
        def build(self, hidden_dim):
            optimizer = super().build(hidden_dim)
            names = ("warmup_steps", "peak_learning_rate", "gradient_accumulation_steps")
            arguments = {name: getattr(self, name) for name in names}
            optimizer.learning_rate = schedule_cls(hidden_dim, **arguments)
            return optimizer

    return Section
