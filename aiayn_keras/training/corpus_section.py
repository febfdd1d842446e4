"""The section of a recipe on the text that it trains on."""

from typing import Literal

import pydantic

from aiayn_keras.data import corpus_names
from aiayn_keras.data.trees import TREE_LEAVES
from aiayn_keras.training import recipe_limits as limits
from aiayn_keras.training.recipe_limits import FilePair, count
from aiayn_keras.training.recipe_sections import Section

FIELDS_OF_CORPORA = {
    "variant": "multi30k",
    "train_size": "demo",
    "validation_size": "demo",
    "test_size": "demo",
    "tree_leaves": "craft-parsing",
}
"""The beginning of the names of the corpora that a field is for."""


class CorpusSection(Section):
    """The source of the pairs: a corpus by `name`, or files by path.

    Attributes:
        name: A name of `aiayn_keras.data.corpus_names()`.
        variant: Variant of Multi30k, `"tok"` or `"raw"`.
        train_size: Number of training pairs to generate for `demo`.
        validation_size: Likewise, of validation pairs.
        test_size: Likewise, of test pairs.
        train: Two files, or one TSV file, plain or .gz; likewise `validation` and `test`.
        validation: See `train`.
        test: See `train`.
        source_language: Language code of the sources, kept with the recipe.
        target_language: Language code of the targets.
        tree_leaves: If given, the text is constituency trees: `train`, `validation` and `test` are
            lists of one file or folder of bracketed trees each (see `read_trees`), words are the
            sources, and linearized trees the targets. Their leaves are `"XX"` or, with `"tags"`,
            parts of speech. For a treebank by `name`, `"XX"` if not given.
        shards: Folder that `aiayn-keras prepare` made of the training pairs, or its URL; their text
            is then not read.
    """

    name: str | None = None
    variant: Literal["tok", "raw"] | None = None
    train_size: count(limits.MOST_GENERATED) | None = None
    validation_size: count(limits.MOST_GENERATED) | None = None
    test_size: count(limits.MOST_GENERATED) | None = None
    train: FilePair | None = None
    validation: FilePair | None = None
    test: FilePair | None = None
    source_language: str | None = None
    target_language: str | None = None
    tree_leaves: Literal[TREE_LEAVES] | None = None
    shards: str | None = None

    @pydantic.model_validator(mode="after")
    def _name_or_files(self):
        if (self.name is None) == (self.train is None):
            raise ValueError("give either `name` or the files `train` and `validation`")
        if self.train is not None and self.validation is None:
            raise ValueError("`train` needs `validation`")
        for field in ("validation", "test"):
            if self.name is not None and getattr(self, field) is not None:
                raise ValueError(f"leave out `{field}`: a corpus by `name` brings its own")
        for field, name in FIELDS_OF_CORPORA.items():
            if self.name is None:
                is_other = field != "tree_leaves"
            else:
                is_other = self.name in corpus_names() and not self.name.startswith(name)
            if is_other and getattr(self, field) is not None:
                raise ValueError(f"leave out `{field}`: of the corpora by name it is for {name}")
        if self.train is not None and self.tree_leaves is not None:
            for split in ("train", "validation", "test"):
                if len(getattr(self, split) or "1") != 1:
                    raise ValueError(
                        f"with `tree_leaves`, `{split}` must be a list of one file or folder of "
                        "trees"
                    )
        return self
