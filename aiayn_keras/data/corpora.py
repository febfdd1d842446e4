"""The corpora this package knows by name."""

import dataclasses
import itertools

from aiayn_keras.data.corpus_files import MULTI30K, TATOEBA, locate
from aiayn_keras.data.demo import generate_demo_pairs
from aiayn_keras.data.parallel_text import SPLITS, ParallelText, read_parallel, splits_by_component
from aiayn_keras.data.treebanks import load_craft, tree_pairs
from aiayn_keras.parsing.trees import LEAF

# Share of Tatoeba's connected components for validation, and again for test.
TATOEBA_HELD_OUT = 0.02
LANGUAGES = {
    "demo": ("en", "de"),
    "multi30k-en-de": ("en", "de"),
    "multi30k-en-fr": ("en", "fr"),
    "tatoeba-en-es": ("en", "es"),
    "craft-parsing": ("en", "trees"),
}


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A parallel corpus with its three splits.

    Args:
        name: The corpus' name, as `load_corpus` takes it.
        source_language: Two-letter code, such as `"en"`.
        target_language: Two-letter code, such as `"de"`; or `"trees"`.
        train: Text to train on.
        validation: Text to choose a model by.
        test: Text to report BLEU on.
    """

    name: str
    source_language: str
    target_language: str
    train: ParallelText
    validation: ParallelText
    test: ParallelText


def corpus_names() -> tuple[str, ...]:
    """Names that `load_corpus` knows.

    Example:
    >>> corpus_names()
    ('demo', 'multi30k-en-de', 'multi30k-en-fr', 'tatoeba-en-es', 'craft-parsing')
    """
    return tuple(LANGUAGES)


def load_corpus(
    name: str,
    *,
    data_dir=None,
    variant: str = "tok",
    normalization: str | None = "NFC",
    tree_leaves: str = LEAF,
    train_size: int = 60_000,
    validation_size: int = 1_000,
    test_size: int = 1_000,
    seed: int = 0,
) -> Corpus:
    """Load a corpus by name.

    - `demo`: made on the spot by a grammar (see `generate_demo_pairs`); needs no file.
    - `multi30k-en-de`, `multi30k-en-fr`: image captions, task 1; 29,000 training pairs, 1,014 for
      validation, test set 2016 (1,000). For research use; see the data set's README.
    - `tatoeba-en-es`: 118,964 short sentences, CC-BY 2.0 FR (tatoeba.org, manythings.org/anki). It
      has no official split: about 2 % each go to validation and test, by connected components, so
      that no sentence of theirs, English or Spanish, is in the training text: not even with other
      capitals, spaces or punctuation. See `splits_by_component`.

    - `craft-parsing`: English sentences and their linearized constituency trees, of 97 biomedical
      articles; see `load_craft` and `tree_pairs`. The words stay as they are, whatever
      `normalization` says.

    Files are read from `data_dir`, or the folder that the variable AIAYN_KERAS_DATA names, laid
    out as `multi30k/raw/train.en`, `multi30k/tok/train.lc.norm.tok.en`, `tatoeba-spa-eng/spa.txt`
    and so on. They may be newer than ours, so their checksums are not compared. With neither
    folder the files are downloaded once from their public homes and checked by sha256.

    Args:
        name: One of `corpus_names()`.
        data_dir: Folder with the files; comes before AIAYN_KERAS_DATA.
        variant: For Multi30k: `"tok"` (lower-cased, normalised, tokenised; published BLEU figures
            use it) or `"raw"`. Other corpora have no variants and leave it aside.
        normalization: Unicode normal form of the text; see `read_parallel`.
        tree_leaves: For `craft-parsing`: `"XX"` or `"tags"`; see `linearize`.
        train_size: Number of training pairs of `demo`. Other corpora are loaded whole.
        validation_size: Number of validation pairs of `demo`.
        test_size: Number of test pairs of `demo`.
        seed: Seed of `demo`.

    Returns:
        A `Corpus`.

    Raises:
        ValueError: If `name`, `variant` or `tree_leaves` is not known.
        FileNotFoundError: If a file is missing from `data_dir` or AIAYN_KERAS_DATA.
        CorpusError: If a file is damaged or cannot be downloaded.

    Example:
    >>> corpus = load_corpus("demo", train_size=100, validation_size=5, test_size=5)
    >>> len(corpus.train), corpus.target_language
    (100, 'de')
    """
    if name not in LANGUAGES:
        raise ValueError(
            f"`name` must be one of {', '.join(corpus_names())}. Received: name={name!r}."
        )
    if variant not in ("tok", "raw"):
        raise ValueError(f"`variant` must be 'tok' or 'raw'. Received: variant={variant!r}.")
    source, target = LANGUAGES[name]
    if name == "demo":
        sizes = zip(SPLITS, (train_size, validation_size, test_size), strict=True)
        texts = [generate_demo_pairs(size, seed, split) for split, size in sizes]
    elif name == "craft-parsing":
        splits = zip(SPLITS, load_craft(data_dir), strict=True)
        texts = [tree_pairs(trees, tree_leaves, f"{name}-{split}") for split, trees in splits]
    elif name == "tatoeba-en-es":
        text = read_parallel(locate(TATOEBA, data_dir), normalization=normalization)
        texts = _split(text, name)
    else:
        texts = []
        for split in SPLITS:
            files = [MULTI30K[f"{variant}/{split}.{language}"] for language in (source, target)]
            paths = [locate(file, data_dir) for file in files]
            text = read_parallel(*paths, normalization=normalization)
            texts.append(dataclasses.replace(text, name=f"{name}-{split}"))
    return Corpus(name, source, target, *texts)


def _split(text, name):
    """The texts of the three splits."""
    splits = splits_by_component(text, TATOEBA_HELD_OUT)
    texts = []
    for split in SPLITS:
        own = [each == split for each in splits]
        sides = (itertools.compress(side, own) for side in (text.sources, text.targets))
        texts.append(ParallelText(*sides, name=f"{name}-{split}"))
    return texts
