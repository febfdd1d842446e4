"""The inputs of a training, bound to its folder: it goes on with the very same ones only."""

import hashlib
from typing import Annotated

import pydantic

from aiayn_keras.data import CorpusError
from aiayn_keras.files import read_bytes, write_text

CHUNK = 10_000
"""Sentences that are hashed at a time."""
MOST_BYTES = 10_000
MOST_RECIPE_BYTES = 1 << 20

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
        return RunInputs.model_validate_json(read_bytes(path, MOST_BYTES))
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
    content = read_bytes(folder.recipe, MOST_RECIPE_BYTES)
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
