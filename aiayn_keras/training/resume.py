"""The inputs of a training, bound to its folder: it goes on with the very same ones only."""

import hashlib
import logging
from dataclasses import dataclass
from typing import Annotated

import keras
import numpy as np
import pydantic

from aiayn_keras.backend import seed_torch_dropout
from aiayn_keras.common.files import read_bytes, write_text
from aiayn_keras.data import CorpusError
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training.checkpoints import (
    DamagedCheckpointError,
    check_digest,
    list_checkpoints,
    load_checked,
)
from aiayn_keras.training.recipe import load_recipe
from aiayn_keras.training.run_folder import read_history

CHUNK = 10_000
"""Sentences that are hashed at a time."""
MAX_BYTES = 10_000
MAX_RECIPE_BYTES = 1 << 20

Digest = Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]


class RunInputs(pydantic.BaseModel):
    """SHA-256 digests of a training's inputs, kept in its folder as `inputs.json`.

    Attributes:
        recipe: Of the recipe's file in the folder.
        tokenizer: Of the SentencePiece model.
        train: Of the training pairs in order, or of the index of prepared shards.
        validation: Of the validation pairs.
        test: Of the test pairs.
        initial: Of the weights of `model.initial`, if the training began with it.
        initial_config: Of the file with its sizes.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    recipe: Digest
    tokenizer: Digest
    train: Digest
    validation: Digest
    test: Digest
    initial: Digest | None = None
    initial_config: Digest | None = None

    def write(self, path):
        """Writes the file, whole or not at all."""
        write_text(path, self.model_dump_json(indent=1, exclude_none=True))


def digest_of_bytes(content):
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def digest_of_text(text):
    """SHA-256 of a `ParallelText`: its sentences and their order, not its name."""
    digest = hashlib.sha256(f"{len(text)}\n".encode())
    for side in (text.sources, text.targets):
        for start in range(0, len(side), CHUNK):
            digest.update(("\n".join(side[start : start + CHUNK]) + "\n").encode())
    return digest.hexdigest()


def inputs_of(recipe, corpus, tokenizer, initial=None):
    """Computes the `RunInputs` of a `Recipe`, its `RecipeCorpus`, tokenizer and `InitialModel`."""
    return RunInputs(
        recipe=digest_of_bytes(recipe.to_yaml().encode()),
        tokenizer=digest_of_bytes(tokenizer.proto + (tokenizer.target_proto or b"")),
        train=corpus.train.digest(),
        validation=digest_of_text(corpus.validation),
        test=digest_of_text(corpus.test),
        initial=initial.weights if initial else None,
        initial_config=initial.config if initial else None,
    )


def read_inputs(folder):
    """Reads the `RunInputs` of a `RunFolder`; `None` if it has none.

    Raises:
        ValueError: If the file holds something else.
        OSError: If it cannot be read.
    """
    path = folder.inputs
    if not path.exists():
        return None
    try:
        return RunInputs.model_validate_json(read_bytes(path, MAX_BYTES))
    except pydantic.ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ValueError(
            f"{path} is damaged: {reason}. If you know that neither corpus nor tokenizer has "
            "changed since the training began, delete it and start again."
        ) from None


def check_inputs(folder, recipe, inputs):
    """Refuses inputs that are not those of the training in a folder.

    Args:
        folder: The `RunFolder`; of one without `inputs.json`, everything is taken.
        recipe: The `Recipe`.
        inputs: The `RunInputs` of now.

    Raises:
        CorpusError: If a part of the corpus or the tokenizer is another; the message names it.
        ValueError: If the model that the training began with is another.
    """
    begun = read_inputs(folder)
    if begun is None:
        return
    _check_initial(folder, recipe, begun, inputs.initial, inputs.initial_config)
    changed = [
        f"`corpus.{split}` ({_origin(recipe.corpus, split)})"
        for split in ("train", "validation", "test")
        if getattr(begun, split) != getattr(inputs, split)
    ]
    if not changed and begun.tokenizer != inputs.tokenizer:
        changed = ["the vocabulary"]
    if changed:
        raise CorpusError(
            f"{folder.path} holds a training of other inputs: since it began, pairs or their order "
            f"have changed in {', '.join(changed)}. Put back what was there (every process must "
            "read the same), or choose another folder to train anew."
        )


def check_initial(folder, recipe, initial):
    """Refuses an `InitialModel` that is not the one with which the training in a folder began."""
    begun = read_inputs(folder)
    if begun is not None and initial is not None:
        _check_initial(folder, recipe, begun, initial.weights, initial.config)


def _check_initial(folder, recipe, begun, weights, config):
    for file, then, now in (
        ("weights", begun.initial, weights),
        ("config.json", begun.initial_config, config),
    ):
        if then != now:
            raise ValueError(
                f"{folder.path} holds a fine-tuning of another model: since it began, the {file} "
                f"of {recipe.model.initial} (`model.initial`) have changed, SHA-256 {then} then, "
                f"{now} now. Put back what was there, or choose another folder to train anew."
            )


def check_tokenizer(folder, proto):
    """Refuses the content of a folder's tokenizer file if it is not what the training wrote.

    Raises:
        ValueError: If its digest is another than that in `inputs.json`.
    """
    begun = read_inputs(folder)
    if begun is not None and digest_of_bytes(proto) != begun.tokenizer:
        raise ValueError(
            f"{folder.tokenizer} is damaged or replaced: it is not the tokenizer with which the "
            "training began. Put that one back; or delete the file, and `aiayn-keras train` "
            "learns it again from the same text."
        )


def read_recipe_text(folder):
    """Reads a folder's recipe file, which must be what the training wrote.

    Raises:
        ValueError: If its digest is another than that in `inputs.json`.
        OSError: If it cannot be read.
    """
    content = read_bytes(folder.recipe, MAX_RECIPE_BYTES)
    begun = read_inputs(folder)
    if begun is not None and digest_of_bytes(content) != begun.recipe:
        raise ValueError(
            f"{folder.recipe} is damaged or replaced: it is not the recipe with which the training "
            "began. Put that one back."
        )
    return content.decode("utf-8")


def _origin(section, split):
    """The place from which a recipe's `CorpusSection` has a split."""
    if split == "train" and section.shards is not None:
        return section.shards
    files = getattr(section, split) or section.validation
    return ", ".join(files) if files else section.name


logger = logging.getLogger(__name__)

MAX_TOKENIZER_BYTES = 1 << 26


def check_folder(folder, recipe):
    """Refuses a folder that is neither free nor holds an unfinished training of the same recipe.

    Raises:
        FileExistsError: If the `RunFolder` holds anything else.
        RecipeError: If the recipe in it is not valid.
    """
    if folder.is_free():
        return
    if not folder.recipe.is_file():
        raise FileExistsError(
            f"{folder.path} exists and is not empty, and is no training: choose another folder."
        )
    if (folder.path / "task.json").is_file() and not folder.checkpoints.is_dir():
        raise FileExistsError(
            f"{folder.path} holds a model and no training: choose another folder."
        )
    if folder.evaluation.is_file():
        raise FileExistsError(
            f"{folder.path} holds a finished training: choose another folder, or delete it."
        )
    differences = _differences(load_recipe(folder.recipe), recipe)
    if differences:
        raise FileExistsError(
            f"{folder.path} holds an unfinished training of another recipe, which differs in "
            f"{'; '.join(differences)}. Choose another folder, or go on with the recipe "
            f"{folder.recipe}."
        )


def _differences(theirs, ours):
    """Texts `section.field (theirs, ours)` of the fields in which two recipes differ."""
    theirs, ours = (recipe.model_dump(mode="json") for recipe in (theirs, ours))
    return [
        f"`{section}.{field}` ({theirs[section][field]} there, {value} here)"
        for section, fields in ours.items()
        for field, value in fields.items()
        if theirs[section][field] != value
    ]


def read_tokenizer(folder):
    """The tokenizer of the training in a `RunFolder`, or `None` if it has none yet.

    Raises:
        ValueError: If it is not the one with which the training began.
        OSError: If it cannot be read.
    """
    if not folder.tokenizer.exists():
        return None
    proto = read_bytes(folder.tokenizer, MAX_TOKENIZER_BYTES)
    check_tokenizer(folder, proto)
    return TransformerTokenizer(proto=proto)


def set_aside_damaged_checkpoints(folder):
    """Renames damaged checkpoints, with a warning, until the newest one is whole."""
    for _, path in reversed(list_checkpoints(folder)):
        try:
            check_digest(path)
            return
        except DamagedCheckpointError as error:
            aside = path.with_name(f"damaged-{path.name}")
            path.rename(aside)
            logger.warning("%s It is %s now; the one before is used.", error, aside.name)


def load_last_checkpoint(model, folder):
    """Loads the newest checkpoint that is whole; newer ones are renamed, with a warning.

    Args:
        model: The model that the checkpoints are of.
        folder: Folder with the checkpoints.

    Returns:
        The checkpoint's update; 0 if there is none, which leaves the model unchanged.
    """
    set_aside_damaged_checkpoints(folder)
    return _load_newest(model, folder)


def _load_newest(model, folder):
    checkpoints = list_checkpoints(folder)
    if not checkpoints:
        return 0
    update, path = checkpoints[-1]
    load_checked(model, path)
    return update


@dataclass(frozen=True)
class StartingPoint:
    """The place at which a training begins or goes on.

    Attributes:
        updates: Number of updates done.
        history: List of dictionaries, one for a checkpoint up to there.
    """

    updates: int
    history: list

    @property
    def is_measured(self):
        """Whether the history's last row is that of the checkpoint to go on from."""
        return bool(self.history) and self.history[-1]["updates"] == self.updates


def resume(model, folder):
    """Loads the newest checkpoint, if there is one, and finds the place at which to go on.

    Damaged checkpoints and histories must have been set aside, by one process for all.

    Args:
        model: The model to train.
        folder: The `RunFolder`.

    Returns:
        The `StartingPoint`.
    """
    updates = _load_newest(model, folder.checkpoints)
    if updates:
        logger.info("Going on from update %s.", f"{updates:,}")
    start = StartingPoint(updates, read_history(folder.history, updates))
    if updates and not start.is_measured:
        logger.warning(
            "%s does not have the figures of update %s: the choice of the best checkpoint and "
            "the end of patience follow from those that it has.",
            folder.history,
            f"{updates:,}",
        )
    return start


class SeedDropout(keras.callbacks.Callback):
    """Sets dropout's random state at the first batch of every epoch, by the epoch's number.

    Args:
        recipe: The `Recipe`.
    """

    def __init__(self, recipe):
        super().__init__()
        self._seed, self._epoch = recipe.training.seed, 0
        self._batches_per_epoch = (
            recipe.training.checkpoint_every * recipe.optimizer.gradient_accumulation_steps
        )

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        # Not before the first batch: PyTorch's data loader draws from the same generator, once.
        if batch == 0:
            seed_torch_dropout(self._seed, self._epoch)
            _set_seed_counts(self.model, self._epoch * self._batches_per_epoch)


def _set_seed_counts(model, batches):
    """Sets the states `(seed, count)` of Keras' seed generators, which count batches."""
    for variable in model.variables:
        if variable.path.endswith("seed_generator_state"):
            seed, _ = keras.ops.convert_to_numpy(variable)
            variable.assign(np.array([seed, batches]))
