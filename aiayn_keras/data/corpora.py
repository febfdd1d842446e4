"""Corpora that can be loaded by name, the treebank of CRAFT among them, and their files.

The files have addresses and checksums. `locate` looks in the user's folder or, if none is named,
calls `fetch`, which downloads, unpacks and verifies a file once.
"""

import dataclasses
import itertools
import os
import pathlib
import zipfile
import zlib
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import pooch

from aiayn_keras.data.demo import generate_demo_pairs
from aiayn_keras.data.parallel_text import SPLITS, ParallelText, read_parallel, splits_by_component
from aiayn_keras.parsing.trees import LEAF, linearize, read_trees
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.files import atomic_path, user_cache
from aiayn_keras_light.text_files import MAX_LINES, CorpusError, read_lines

_DATA_VARIABLE = "AIAYN_KERAS_DATA"
# The pinned commit comes first, since its files cannot change.
_MULTI30K_HOMES = tuple(
    f"https://raw.githubusercontent.com/multi30k/dataset/{revision}/data/task1"
    for revision in ("a3d2e0d26b56f3846f66a952536ffed4e401d05a", "master")
)
_MULTI30K_SPLITS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
# Checksums of the unpacked files, in the format of `sha256sum --check`.
_LINES = (resources.files("aiayn_keras.data") / "checksums.txt").read_text("utf-8").splitlines()
_SHA256 = {path: digest for digest, path in map(str.split, _LINES)}
# The checksums are those of release 5.
_CRAFT_HOME = "https://raw.githubusercontent.com/UCDenver-ccp/CRAFT/master"
_TATOEBA_HELD_OUT = 0.02
_PHRASES_HELD_OUT = 0.03
_CRAFT_SPLITS = dict(zip(SPLITS, ("train", "dev", "test"), strict=True))
CORPORA = {
    "demo": ("en", "de"),
    "multi30k-en-de": ("en", "de"),
    "multi30k-en-fr": ("en", "fr"),
    "tatoeba-en-es": ("en", "es"),
    "phrases-en-es": ("en", "es"),
    "craft-parsing": ("en", "trees"),
}
"""Languages of each corpus, by its name."""


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A file that can be downloaded.

    A URL that ends in `.gz` serves the file compressed; with `member`, it serves a `.zip` archive.

    Args:
        path: Path of the file in the data folder.
        sha256: Checksum of the unpacked file, in hexadecimal.
        urls: URLs of the file, in the order in which they are tried.
        member: Name of the file inside the `.zip` archive, or `None`.
    """

    path: str
    sha256: str
    urls: tuple[str, ...]
    member: str | None = None


def fetch(file: RemoteFile, cache_dir=None, retries: int = 3) -> pathlib.Path:
    """Returns the local path of a file, which is downloaded unless it is in the cache.

    The file appears in the cache complete and with the right checksum, or not at all, even if the
    download is interrupted or the process is killed.

    Args:
        file: A `RemoteFile`.
        cache_dir: Folder for downloads; the default is `user_cache()`.
        retries: Number of further attempts for each URL after a failure.

    Returns:
        Path of the unpacked file.

    Raises:
        CorpusError: If no URL serves the file with the right checksum.
    """
    target = pathlib.Path(cache_dir or user_cache()) / file.path
    if target.is_file() and pooch.file_hash(target) == file.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    for url in file.urls:
        try:
            with atomic_path(target) as temporary:
                unpacked = _download(url, file.member, temporary.parent, retries)
                found = pooch.file_hash(unpacked)
                if found != file.sha256:
                    raise ValueError(f"sha256 is {found}, expected {file.sha256}")
                unpacked.replace(temporary)
            return target
        # requests raises OSErrors, pooch ValueErrors, and unpacking the others.
        except (OSError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            failures.append(f"{url}: {error}")
    raise CorpusError(
        f"Could not download {file.path!r}. Put the file into a folder and set AIAYN_KERAS_DATA "
        f"to that folder, or try again later. Tried: {'; '.join(failures)}."
    )


def _download(url, member, folder, retries):
    """Downloads and unpacks a file into a folder; returns its path."""
    name = url.rsplit("/", 1)[-1]
    files = pooch.create(
        folder, base_url="", registry={name: None}, urls={name: url}, retry_if_failed=retries
    )
    if member is None:
        unpack = pooch.Decompress() if name.endswith(".gz") else None
        return pathlib.Path(files.fetch(name, unpack))
    members = files.fetch(name, pooch.Unzip([member]))
    if not members:
        raise ValueError(f"the archive does not contain {member}")
    return pathlib.Path(members[0])


def _multi30k_file(variant, split, language):
    # The raw files are served compressed, the tokenized ones are not.
    middle, ending = ("", ".gz") if variant == "raw" else (".lc.norm.tok", "")
    name = f"{variant}/{_MULTI30K_SPLITS[split]}{middle}.{language}"
    urls = tuple(f"{home}/{name}{ending}" for home in _MULTI30K_HOMES)
    return RemoteFile(f"multi30k/{name}", _SHA256[f"multi30k/{name}"], urls)


MULTI30K = {
    f"{variant}/{split}.{language}": _multi30k_file(variant, split, language)
    for variant in ("raw", "tok")
    for split in _MULTI30K_SPLITS
    for language in ("de", "en", "fr")
}
TATOEBA = RemoteFile(
    path="tatoeba-spa-eng/spa.txt",
    sha256=_SHA256["tatoeba-spa-eng/spa.txt"],
    urls=tuple(
        f"{scheme}://storage.googleapis.com/download.tensorflow.org/data/spa-eng.zip"
        for scheme in ("https", "http")
    ),
    member="spa-eng/spa.txt",
)
CRAFT = {
    path.removeprefix("craft/"): RemoteFile(
        path, digest, (f"{_CRAFT_HOME}/{path.removeprefix('craft/')}",)
    )
    for path, digest in _SHA256.items()
    if path.startswith("craft/")
}


def locate(file, data_dir=None):
    """Returns the path of a corpus file, which is downloaded if no folder is named.

    Args:
        file: A `RemoteFile`.
        data_dir: Folder with the file; the default is the one named by AIAYN_KERAS_DATA, if any.

    Raises:
        FileNotFoundError: If the file is missing from the folder.
        CorpusError: If the file cannot be downloaded.
    """
    folder, origin = data_dir, "`data_dir`"
    if folder is None:
        folder, origin = os.environ.get(_DATA_VARIABLE), f"the variable {_DATA_VARIABLE}"
    if not folder:
        return fetch(file)
    path = pathlib.Path(folder) / file.path
    if not path.is_file():
        raise FileNotFoundError(
            f"Corpus file {str(path)!r} does not exist; {origin} names the folder {str(folder)!r}. "
            f"Put the file there, or unset {_DATA_VARIABLE} and omit `data_dir` to download it."
        )
    return path


_PHRASES = Path(__file__).with_name("phrases_en_es.tsv")


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


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A parallel corpus, divided into training, validation and test text.

    Args:
        name: Name of the corpus, as passed to `load_corpus`.
        source_language: Two-letter code, such as `"en"`.
        target_language: Two-letter code, such as `"de"`; or `"trees"`.
        train: Text for training.
        validation: Text for selecting a model.
        test: Text for the final scores.
    """

    name: str
    source_language: str
    target_language: str
    train: ParallelText
    validation: ParallelText
    test: ParallelText


def corpus_names() -> tuple[str, ...]:
    """Names of the corpora that `load_corpus` can load.

    Example:
    >>> corpus_names()
    ('demo', 'multi30k-en-de', 'multi30k-en-fr', 'tatoeba-en-es', 'phrases-en-es', 'craft-parsing')
    """
    return tuple(CORPORA)


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
    """Loads a corpus by name.

    - `demo`: generated on the spot by a grammar (see `generate_demo_pairs`); needs no files.
    - `multi30k-en-de`, `multi30k-en-fr`: image captions (task 1); 29,000 training pairs, 1,014
      validation pairs and the 1,000 pairs of the 2016 test set. For research use; see the data
      set's README.
    - `tatoeba-en-es`: 118,964 short sentences, CC-BY 2.0 FR (tatoeba.org, manythings.org/anki). It
      has no official split, so whole connected components are held out, about 2 % each for
      validation and test. None of their sentences, English or Spanish, occurs in the training
      text, not even with different capitalization, spacing or punctuation; see
      `splits_by_component`.
    - `phrases-en-es`: 49,784 texts that collections of sentences lack: chats and letters, labels,
      messages and instructions of programs, what shops, signs, menus and subtitles say, reports
      and news, acronyms and units, sentences with common words that Tatoeba does not have, and
      6,000 words on their own. Written for this package (CC0), and part of it. About 3 % each are
      held out.
    - `craft-parsing`: English sentences from 97 biomedical articles with their linearized
      constituency trees; see `load_craft` and `tree_pairs`. `normalization` does not apply.

    Files are read from `data_dir`, or from the folder named by the environment variable
    AIAYN_KERAS_DATA. The folder contains `multi30k/raw/train.en`,
    `multi30k/tok/train.lc.norm.tok.en`, `tatoeba-spa-eng/spa.txt` and so on. Its files may be newer
    releases, so their checksums are not verified. Without such a folder, the files are downloaded
    once from their public addresses and verified by SHA-256.

    Args:
        name: One of `corpus_names()`.
        data_dir: Folder with the files; takes precedence over AIAYN_KERAS_DATA.
        variant: For Multi30k, `"tok"` (lower-cased, normalized, tokenized; used for published BLEU
            scores) or `"raw"`. Ignored for other corpora.
        normalization: Unicode normalization form of the text; see `stream_parallel`.
        tree_leaves: For `craft-parsing`, `"XX"` or `"tags"`; see `linearize`.
        train_size: Number of training pairs for `demo`, at most 10 million. Other corpora are
            loaded whole.
        validation_size: Number of validation pairs for `demo`.
        test_size: Number of test pairs for `demo`.
        seed: Seed for `demo`.

    Returns:
        A `Corpus`.

    Raises:
        ValueError: If `name`, `variant` or `tree_leaves` is unknown, or a size out of range.
        FileNotFoundError: If a file is missing from `data_dir` or AIAYN_KERAS_DATA.
        CorpusError: If a file is corrupt or cannot be downloaded.

    Example:
    >>> corpus = load_corpus("demo", train_size=100, validation_size=5, test_size=5)
    >>> len(corpus.train), corpus.target_language
    (100, 'de')
    """
    if name not in CORPORA:
        raise ValueError(
            f"`name` must be one of {', '.join(corpus_names())}. Received: name={name!r}."
        )
    if variant not in ("tok", "raw"):
        raise ValueError(f"`variant` must be 'tok' or 'raw'. Received: variant={variant!r}.")
    source, target = CORPORA[name]
    if name == "demo":
        sizes = dict(zip(SPLITS, (train_size, validation_size, test_size), strict=True))
        for split, size in sizes.items():
            check_integer(f"{split}_size", size, 0, MAX_LINES)
        texts = [generate_demo_pairs(size, seed, split) for split, size in sizes.items()]
    elif name == "craft-parsing":
        splits = zip(SPLITS, load_craft(data_dir), strict=True)
        texts = [tree_pairs(trees, tree_leaves, f"{name}-{split}") for split, trees in splits]
    elif name == "tatoeba-en-es":
        text = read_parallel(locate(TATOEBA, data_dir), normalization=normalization)
        texts = _split(text, name, _TATOEBA_HELD_OUT)
    elif name == "phrases-en-es":
        texts = _split(read_parallel(_PHRASES), name, _PHRASES_HELD_OUT)
    else:
        texts = []
        for split in SPLITS:
            files = [MULTI30K[f"{variant}/{split}.{language}"] for language in (source, target)]
            paths = [locate(file, data_dir) for file in files]
            text = read_parallel(*paths, normalization=normalization)
            texts.append(dataclasses.replace(text, name=f"{name}-{split}"))
    return Corpus(name, source, target, *texts)


def _split(text, name, held_out):
    """Divides a text into the texts of the three splits."""
    splits = splits_by_component(text, held_out)
    texts = []
    for split in SPLITS:
        own = [each == split for each in splits]
        sides = (itertools.compress(side, own) for side in (text.sources, text.targets))
        texts.append(ParallelText(*sides, name=f"{name}-{split}"))
    return texts
