"""Files of constituency trees in the bracket notation of the Penn Treebank."""

import re
from collections.abc import Iterator
from pathlib import Path

from aiayn_keras.parsing.trees import MAX_DEPTH, ROOT_LABELS, Tree, clean_tree
from aiayn_keras_light.text_files import CorpusError, stream_lines

_SUFFIXES = (".tree", ".mrg", ".parse", ".ptb", ".txt")
"""Endings of the files in a folder that are read as trees."""
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
_WORD_MARK = "▁"


def read_trees(path) -> list[Tree]:
    """Reads and cleans the trees in a file, or in all files of a folder sorted by name.

    Args:
        path: A file of trees such as `(S (NP-SBJ (NNS Cats)) (VP (VBP sleep)))`, plain or `.gz`. A
            tree may extend over several lines and may be enclosed in a pair of brackets without a
            label, or with the label `TOP`, `ROOT` or `S1`. Or a folder that contains such files,
            directly or in subfolders, with names that end in `.tree`, `.mrg`, `.parse`, `.ptb` or
            `.txt`.

    Returns:
        List of `Tree`s, cleaned by `clean_tree` and without the enclosing brackets. Trees that
        consist only of traces are omitted.

    Raises:
        FileNotFoundError: If the file or folder does not exist, or the folder contains no trees.
        CorpusError: If a tree is malformed (the message names the file and the line), and for the
            reasons given in `stream_lines`.
    """
    return [
        tree for file in _files(Path(path)) for tree in map(clean_tree, _stream_trees(file)) if tree
    ]


def _files(path):
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    if not files:
        raise FileNotFoundError(
            f"There is no file of trees in the folder {str(path)!r}: file names must end in "
            f"{', '.join(_SUFFIXES)}."
        )
    return files


def _stream_trees(path) -> Iterator[Tree]:
    """Yields the trees of one file, uncleaned but without enclosing brackets."""
    stack, place = [], None
    for number, line in enumerate(stream_lines(path), start=1):
        place = f"{path}, line {number}"
        for token in _TOKEN.findall(line):
            if token == "(":
                if len(stack) == MAX_DEPTH:
                    raise CorpusError(f"{place}: brackets are nested more than {MAX_DEPTH} deep.")
                stack.append([place])
            elif not stack:
                raise CorpusError(f"{place}: {token[:50]!r} is outside all brackets.")
            elif token != ")":
                stack[-1].append(token)
            else:
                tree = _close(stack.pop(), is_root=not stack, place=place)
                if stack:
                    stack[-1].append(tree)
                else:
                    yield tree
    if stack:
        raise CorpusError(f"{stack[0][0]}: the brackets of this tree are not all closed.")


def _close(parts, is_root, place):
    """Builds the tree between two brackets from its parts: its place, then strings and trees."""
    label, children = "", parts[1:]
    if children and isinstance(children[0], str):
        label, *children = children
    trees = [child for child in children if isinstance(child, Tree)]
    if is_root and label in ROOT_LABELS and len(trees) == len(children) == 1:
        return trees[0]
    if not label:
        raise CorpusError(f"{place}: a constituent has no label.")
    if len(children) == 1 and not trees:
        return Tree(label, (_word(children[0], place),))
    if not children or len(trees) != len(children):
        found = " ".join(map(str, children))[:50]
        raise CorpusError(
            f"{place}: `({label}` must contain one word or constituents. Received: {found!r}."
        )
    return Tree(label, tuple(trees))


def _word(token, place):
    """Removes Unicode spaces from a word, because they would split it in a sentence."""
    word = "".join(token.split())
    if not word or _WORD_MARK in word:
        raise CorpusError(
            f"{place}: {token!r} is not a word: it consists of spaces or contains SentencePiece's "
            f"word mark {_WORD_MARK}. Use a different character."
        )
    return word
