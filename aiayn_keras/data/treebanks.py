"""Treebanks as parallel text: sentences as sources, linearized trees as targets (paper 6.3)."""

from typing import NamedTuple

from aiayn_keras.common.text_files import CorpusError, read_lines
from aiayn_keras.data.corpus_files import CRAFT, locate
from aiayn_keras.data.parallel_text import SPLITS, ParallelText
from aiayn_keras.parsing.bracket_files import read_trees
from aiayn_keras.parsing.trees import LEAF, linearize

_CRAFT_SPLITS = dict(zip(SPLITS, ("train", "dev", "test"), strict=True))


class Treebank(NamedTuple):
    """Trees of the three splits of a treebank: lists of `Tree`s as returned by `read_trees`."""

    train: list
    validation: list
    test: list


def load_craft(data_dir=None) -> Treebank:
    """Loads the CRAFT treebank: 30,830 sentences from 97 biomedical articles (CC BY 3.0).

    Verspoor et al. 2012 (https://doi.org/10.1186/1471-2105-13-207), release 5 of
    https://github.com/UCDenver-ccp/CRAFT. The articles are divided by the official split: 60 for
    training, 7 for validation and 30 for test.

    Args:
        data_dir: Folder that contains the folder `craft`. The default is the one named by the
            variable AIAYN_KERAS_DATA; without it, the files are downloaded once from their public
            address and verified by SHA-256.

    Raises:
        FileNotFoundError: If a file is missing from the folder.
        CorpusError: If a file is corrupt or cannot be downloaded, or if the split lists an unknown
            article.
    """
    return Treebank(*(_craft_trees(split, data_dir) for split in _CRAFT_SPLITS.values()))


def _craft_trees(split, data_dir):
    path = locate(CRAFT[f"articles/ids/craft-ids-{split}.txt"], data_dir)
    trees = []
    for number, article in enumerate(read_lines(path), start=1):
        file = CRAFT.get(f"structural-annotation/treebank/penn/{article}.tree")
        if file is None:
            raise CorpusError(f"{path}, line {number}: CRAFT has no article {article[:50]!r}.")
        trees += read_trees(locate(file, data_dir))
    return trees


def tree_pairs(trees, tree_leaves=LEAF, name="trees") -> ParallelText:
    """Builds parallel text from trees: the words, separated by spaces, and the linearized tree.

    Args:
        trees: Iterable of `Tree`s.
        tree_leaves: `"XX"` or `"tags"`; see `linearize`.
        name: Name of the text, used in messages.

    Raises:
        ValueError: If `tree_leaves` is unknown.

    Example:
        >>> from aiayn_keras.parsing.trees import Tree
        >>> tree_pairs([Tree("NP", (Tree("DT", ("a",)), Tree("NN", ("cat",))))])[0]
        ('a cat', '(NP XX XX )NP')
    """
    sources, targets = [], []
    for tree in trees:
        sources.append(" ".join(tree.words()))
        targets.append(linearize(tree, tree_leaves))
    return ParallelText(sources, targets, name=name)
