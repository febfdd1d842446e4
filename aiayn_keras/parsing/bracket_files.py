"""Files of constituency trees in the brackets of the Penn Treebank, read tree by tree."""

import re
from collections.abc import Iterator
from pathlib import Path

from aiayn_keras.common.text_files import CorpusError, stream_lines
from aiayn_keras.parsing.trees import MAX_DEPTH, ROOT_LABELS, Tree, clean_tree

SUFFIXES = (".tree", ".mrg", ".parse", ".ptb", ".txt")
"""Endings of the files with trees in a folder."""
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
_WORD_MARK = "▁"


def read_trees(path) -> list[Tree]:
    """Reads the trees of a file, or of a folder's files in the order of their names, cleaned.

    Args:
        path: A file of trees such as `(S (NP-SBJ (NNS Cats)) (VP (VBP sleep)))`, plain or `.gz`,
            each on one line or several, with or without brackets around it that have no label
            (or the labels `TOP`, `ROOT` or `S1`). Or a folder with such files, whose names end in
            `.tree`, `.mrg`, `.parse`, `.ptb` or `.txt`, in itself or its subfolders.

    Returns:
        List of `Tree`s as `clean_tree` makes them, without a root of no label, `TOP`, `ROOT` or
        `S1`. Trees that have only traces are left out.

    Raises:
        FileNotFoundError: If there is no such file or folder, or no file of trees in it.
        CorpusError: For a malformed tree, with its file and line; and as `stream_lines` does.
    """
    return [
        tree for file in _files(Path(path)) for tree in map(clean_tree, stream_trees(file)) if tree
    ]


def _files(path):
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise FileNotFoundError(
            f"There is no file of trees in the folder {str(path)!r}: no name ends in "
            f"{', '.join(SUFFIXES)}."
        )
    return files


def stream_trees(path) -> Iterator[Tree]:
    """Gives the trees of one file as they are, without a root that has no name of its own.

    Args:
        path: The file; see `read_trees`.

    Yields:
        `Tree`s.

    Raises:
        FileNotFoundError: If there is no such file.
        CorpusError: When it is reached: for a malformed tree, with its file and line; and as
            `stream_lines` does.
    """
    stack, place = [], None
    for number, line in enumerate(stream_lines(path), start=1):
        place = f"{path}, line {number}"
        for token in _TOKEN.findall(line):
            if token == "(":
                if len(stack) == MAX_DEPTH:
                    raise CorpusError(f"{place}: brackets open more than {MAX_DEPTH} deep.")
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
        raise CorpusError(f"{stack[0][0]}: this tree's brackets are not all closed.")


def _close(parts, is_root, place):
    """The tree of the parts between two brackets: where they open, strings and trees."""
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
            f"{place}: `({label}` must hold one word, or constituents. Received: {found!r}."
        )
    return Tree(label, tuple(trees))


def _word(token, place):
    """A word without the spaces of Unicode inside it, which would split it in a sentence."""
    word = "".join(token.split())
    if not word or _WORD_MARK in word:
        raise CorpusError(
            f"{place}: {token!r} is no word: it is only spaces, or has SentencePiece's word mark "
            f"{_WORD_MARK}. Write another character."
        )
    return word
