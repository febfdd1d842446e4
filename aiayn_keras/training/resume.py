"""The conditions on which a training goes on: the same folder, text, tokenizer, model and recipe.

`inputs.json` in the folder holds a digest of each of these. What has changed since the training
began is refused by name, so that an interrupted training ends with the weights it would have had;
only the fields of the recipe that a section calls `changeable` may change.
"""

import hashlib
from typing import Annotated

import pydantic

from aiayn_keras.data import CorpusError
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training.checkpoints import list_checkpoints, newest_update
from aiayn_keras.training.recipe import RecipeError, load_recipe
from aiayn_keras.training.recipe_changes import differences, is_changeable
from aiayn_keras.training.training_data import digest_text
from aiayn_keras_light.files import read_bytes, write_text

_MAX_INPUTS_BYTES = 10_000
_MAX_RECIPE_BYTES = 1 << 20
_MAX_TOKENIZER_BYTES = 1 << 26

_Digest = Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]


# === Folder and recipe ===


def check_folder(folder):
    """Refuses a folder that is neither free nor holds a training.

    Args:
        folder: The `RunFolder`.

    Raises:
        FileExistsError: If it holds anything else, or a model whose training has no checkpoints.
    """
    if folder.is_free():
        return
    if not folder.recipe.is_file():
        raise FileExistsError(
            f"{folder.path} exists and does not hold a training: choose another folder."
        )
    has_checkpoints = list_checkpoints(folder.checkpoints) or list_checkpoints(folder.stopped)
    if (folder.path / "task.json").is_file() and not has_checkpoints:
        raise FileExistsError(
            f"{folder.path} holds a model but no training with checkpoints, which could go on: "
            "choose another folder. A training there may begin with this model (`model.initial`)."
        )


def with_begun_normalization(folder, recipe):
    """Gives a `Recipe` without a normalization the one that a training in a `RunFolder` has.

    The default was `"nmt_nfkc"` when older trainings began.

    Returns:
        A `Recipe`: the given one if the folder is new or the vocabulary comes from a model.

    Raises:
        RecipeError: If the recipe in the folder is not valid.
    """
    section = recipe.tokenizer
    is_named = recipe.model.initial is not None or "normalization" in section.model_fields_set
    if is_named or not folder.recipe.is_file():
        return recipe
    begun = load_recipe(folder.recipe).tokenizer.normalization
    section = section.model_copy(update={"normalization": begun})
    return recipe.model_copy(update={"tokenizer": section})


def check_recipe(folder, recipe):
    """Compares a recipe with that of the training in a `RunFolder`, if there is one.

    Returns:
        The changed fields, as `differences` gives them.

    Raises:
        FileExistsError: If fields differ that a training may not change, which the message names;
            or if the training is finished, and nothing differs.
        RecipeError: If the recipe in the folder is not valid, or asks for fewer updates than are
            done.
    """
    if not folder.recipe.is_file():
        return {}
    changes = differences(load_recipe(folder.recipe), recipe)
    refused = [
        f"`{name}` ({old} there, {new} here)"
        for name, (old, new) in changes.items()
        if not is_changeable(recipe, name) or (name == "corpus.shards" and None in (old, new))
    ]
    if refused:
        state = "a finished" if folder.evaluation.is_file() else "an unfinished"
        raise FileExistsError(
            f"{folder.path} holds {state} training of another recipe, which differs in "
            f"{'; '.join(refused)}: a training that has begun cannot change that. Choose another "
            f"folder, or go on with the recipe {folder.recipe}."
        )
    if folder.evaluation.is_file() and not changes:
        raise FileExistsError(
            f"{folder.path} holds a finished training: choose another folder, or delete it; or "
            "change the recipe to go on, as with `--set training.updates=NUMBER`."
        )
    done = max(newest_update(folder.checkpoints), newest_update(folder.stopped))
    if done > recipe.training.updates:
        raise RecipeError(
            f"`training.updates`={recipe.training.updates} must be at least {done:,}, the number "
            f"of updates that {folder.path} has done; or choose another folder."
        )
    return changes


# === Inputs ===


class RunInputs(pydantic.BaseModel):
    """A training's inputs, kept in its folder as `inputs.json`; all but two as SHA-256 digests.

    Attributes:
        recipe: The recipe file in the folder.
        tokenizer: The SentencePiece model.
        train: The training pairs in order, or the index of prepared shards.
        validation: The validation pairs.
        test: The test pairs.
        initial: The weights of `model.initial`, if the training began with it.
        initial_config: The file with the sizes of `model.initial`.
        copy_without_letters: The tokenizer's attribute, which follows from the training text.
        learned_length: The tokenizer's attribute, which follows from the training text.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    recipe: _Digest
    tokenizer: _Digest
    train: _Digest
    validation: _Digest
    test: _Digest
    initial: _Digest | None = None
    initial_config: _Digest | None = None
    copy_without_letters: bool | None = None
    learned_length: pydantic.PositiveInt | None = None

    def write(self, path):
        """Writes the file, whole or not at all."""
        write_text(path, self.model_dump_json(indent=1, exclude_none=True))


def digest_inputs(recipe, corpus, tokenizer, initial=None):
    """Computes the `RunInputs` of a `Recipe`, its `RecipeCorpus`, tokenizer and `InitialModel`."""
    return RunInputs(
        recipe=_digest(recipe.to_yaml().encode()),
        tokenizer=_digest(tokenizer.proto + (tokenizer.target_proto or b"")),
        train=corpus.train.digest(),
        validation=digest_text(corpus.validation),
        test=digest_text(corpus.test),
        initial=initial.weights if initial else None,
        initial_config=initial.config if initial else None,
        copy_without_letters=tokenizer.copy_without_letters,
        learned_length=tokenizer.learned_length,
    )


def _digest(content):
    return hashlib.sha256(content).hexdigest()


def read_inputs(folder):
    """Reads the `RunInputs` in a `RunFolder`; returns `None` if it has none.

    Raises:
        ValueError: If the file holds something else.
        OSError: If it cannot be read.
    """
    path = folder.inputs
    if not path.exists():
        return None
    try:
        return RunInputs.model_validate_json(read_bytes(path, _MAX_INPUTS_BYTES))
    except pydantic.ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ValueError(
            f"{path} is damaged: {reason}. Put back the file that the training wrote, or choose "
            "another folder to start a new training."
        ) from None


def check_inputs(folder, recipe, inputs):
    """Refuses inputs that are not those of the training in a folder.

    Args:
        folder: The `RunFolder`; without `inputs.json` and checkpoints in it, any inputs are
            accepted.
        recipe: The `Recipe`.
        inputs: The `RunInputs` of this start.

    Raises:
        CorpusError: If a part of the corpus or the tokenizer has changed; the message names it.
        FileNotFoundError: If there are checkpoints and no `inputs.json` to compare with.
        ValueError: If the initial model has changed.
    """
    begun = read_inputs(folder)
    if begun is None:
        if list_checkpoints(folder.checkpoints) or list_checkpoints(folder.stopped):
            raise FileNotFoundError(
                f"{folder.inputs} is missing, which says what the checkpoints were trained on. Put "
                "it back; or choose another folder, where `model.initial` may be the mean of the "
                "checkpoints (`aiayn-keras average`)."
            )
        return
    _check_initial(folder, recipe, begun, inputs.initial, inputs.initial_config)
    changed = [
        f"`corpus.{split}` ({_source_of(recipe.corpus, split)})"
        for split in ("train", "validation", "test")
        if getattr(begun, split) != getattr(inputs, split)
    ]
    if not changed and begun.tokenizer != inputs.tokenizer:
        changed = ["the vocabulary"]
    if changed:
        raise CorpusError(
            f"{folder.path} holds a training with other inputs: since it began, pairs or their "
            f"order have changed in {', '.join(changed)}. Put back what was there (every process "
            "must read the same), or choose another folder to start a new training."
        )


def _source_of(section, split):
    """Names the files, folder or corpus that a `CorpusSection` takes a split from."""
    if split == "train" and section.shards is not None:
        return section.shards
    files = getattr(section, split) or section.validation
    return ", ".join(files) if files else section.name


def check_initial(folder, recipe, initial):
    """Refuses an `InitialModel` other than the one that the training in a folder began with.

    Raises:
        ValueError: If its weights or its sizes have changed.
    """
    begun = read_inputs(folder)
    if begun is not None:
        _check_initial(folder, recipe, begun, initial.weights, initial.config)


def _check_initial(folder, recipe, begun, weights, config):
    for file, then, now in (
        ("weights", begun.initial, weights),
        ("config.json", begun.initial_config, config),
    ):
        if then != now:
            raise ValueError(
                f"{folder.path} holds a fine-tuning of another model: since it began, the {file} "
                f"of {recipe.model.initial} (`model.initial`) changed from SHA-256 {then} to "
                f"{now}. Put back what was there, or choose another folder to start a new training."
            )


def read_tokenizer(folder):
    """Reads the tokenizer in a `RunFolder`; returns `None` if it has none yet.

    Raises:
        ValueError: If it is not the one that the training began with.
        OSError: If it cannot be read.
    """
    if not folder.tokenizer.exists():
        return None
    proto, target_proto = read_bytes(folder.tokenizer, _MAX_TOKENIZER_BYTES), None
    if folder.target_tokenizer.exists():
        target_proto = read_bytes(folder.target_tokenizer, _MAX_TOKENIZER_BYTES)
    begun = read_inputs(folder)
    if begun is not None and _digest(proto + (target_proto or b"")) != begun.tokenizer:
        raise ValueError(
            f"{folder.tokenizer} or {folder.target_tokenizer.name} beside it is damaged, replaced "
            "or missing: together they are not the tokenizer that the training began with. Put "
            "back what was there; or delete both, and `aiayn-keras train` learns it again from the "
            "same text."
        )
    tokenizer = TransformerTokenizer(proto=proto, target_proto=target_proto)
    if begun is not None:
        tokenizer.copy_without_letters = bool(begun.copy_without_letters)
        tokenizer.learned_length = begun.learned_length
    return tokenizer


def read_recipe_text(folder):
    """Reads the recipe in a `RunFolder` as text.

    Raises:
        ValueError: If it is not the one that the training began with.
        OSError: If it cannot be read.
    """
    content = read_bytes(folder.recipe, _MAX_RECIPE_BYTES)
    begun = read_inputs(folder)
    if begun is not None and _digest(content) != begun.recipe:
        raise ValueError(
            f"{folder.recipe} is damaged or replaced: it is not the recipe that the training began "
            "with. Put that one back."
        )
    return content.decode("utf-8")
