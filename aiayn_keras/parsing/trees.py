"""Constituency trees, their files, and their linear form, which a model can write (paper 6.3).

Trees are linearized as in Vinyals et al. 2015 (https://arxiv.org/abs/1412.7449): a constituent
becomes an opening and a closing bracket with its label, and a word becomes a leaf. Tokens are
separated by spaces, so `(S (NP (NNS Cats)) (VP (VBP sleep)))` becomes
`(S (NP XX )NP (VP XX )VP )S`.

Files hold trees in the bracket notation of the Penn Treebank.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from aiayn_keras_light.text_files import CorpusError, stream_lines

LEAF = "XX"
"""The leaf for every word if parts of speech are not kept."""
TREE_LEAVES = (LEAF, "tags")
ROOT_LABELS = frozenset(["", "TOP", "ROOT", "S1"])
"""Labels of brackets that only enclose a tree and are not constituents."""
_EMPTY_TAG = "-NONE-"
"""Part of speech of a trace, which does not represent a word."""
MAX_DEPTH = 200
"""Maximum depth of a tree; those of real sentences stay below 50."""
_SUFFIXES = (".tree", ".mrg", ".parse", ".ptb", ".txt")
"""Endings of the files in a folder that are read as trees."""
_TOKEN = re.compile(r"[()]|[^() \t\r\n\f\v]+")
_WORD_MARK = "▁"


class Tree(NamedTuple):
    """A constituent, or a word with its part of speech.

    Attributes:
        label: Label of a constituent, such as `"NP"`, or part of speech of a word, such as `"NN"`.
        children: Tuple of the `Tree`s in a constituent; for a word, a tuple of one string.
    """

    label: str
    children: tuple

    @property
    def is_word(self):
        """True for a word with its part of speech."""
        return isinstance(self.children[0], str)

    def leaves(self):
        """Returns the words with their parts of speech, in order: a list of `Tree`s."""
        if self.is_word:
            return [self]
        return [leaf for child in self.children for leaf in child.leaves()]

    def words(self):
        """Returns the words, in order: a list of strings."""
        return [leaf.children[0] for leaf in self.leaves()]

    def __str__(self):
        return f"({self.label} {' '.join(map(str, self.children))})"


def clean_tree(tree):
    """Removes traces and constituents without words, and functions and indices from labels.

    `NP-SBJ-1` and `NP=2` become `NP`. Labels that begin with a hyphen (`-LRB-`), parts of speech
    and chains of constituents with a single child do not change.

    Args:
        tree: A `Tree`.

    Returns:
        A `Tree`, or `None` if there are only traces.

    Example:
        >>> noun, trace = Tree("NP-SBJ-1", (Tree("NN", ("it",)),)), Tree("-NONE-", ("*",))
        >>> str(clean_tree(Tree("S", (noun, Tree("NP", (trace,))))))
        '(S (NP (NN it)))'
    """
    if tree.is_word:
        return None if tree.label == _EMPTY_TAG else tree
    children = tuple(child for child in map(clean_tree, tree.children) if child is not None)
    return Tree(_plain_label(tree.label), children) if children else None


def _plain_label(label):
    return label if label.startswith("-") else re.split("[-=|]", label)[0]


def linearize(tree, tree_leaves=LEAF):
    """Writes a tree as a line of brackets with labels and leaves, separated by spaces.

    Args:
        tree: A `Tree`.
        tree_leaves: `"XX"` writes every word as `XX`; `"tags"` writes its part of speech.

    Returns:
        A string.

    Raises:
        ValueError: If `tree_leaves` is unknown.

    Example:
        >>> linearize(Tree("NP", (Tree("DT", ("a",)), Tree("NN", ("cat",)))), "tags")
        '(NP DT NN )NP'
    """
    if tree_leaves not in TREE_LEAVES:
        raise ValueError(
            f"`tree_leaves` must be 'XX' or 'tags'. Received: tree_leaves={tree_leaves!r}."
        )
    return " ".join(_tokens(tree, keep_tags=tree_leaves != LEAF))


def _tokens(tree, keep_tags):
    if tree.is_word:
        yield tree.label if keep_tags else LEAF
        return
    yield f"({tree.label}"
    for child in tree.children:
        yield from _tokens(child, keep_tags)
    yield f"){tree.label}"


class MalformedTreeError(ValueError):
    """A line that is not a linearized tree for its sentence; the message gives the reason."""


def parse_linearized(text, words):
    """Parses the linearized tree of a sentence.

    Args:
        text: A line as written by `linearize`.
        words: List of the words in the sentence.

    Returns:
        A `Tree` whose leaves are the words, with the tokens in the line as their parts of speech.

    Raises:
        MalformedTreeError: If brackets are unbalanced or have different labels, a constituent is
            empty, there is not exactly one root, the numbers of leaves and words differ, or the
            tree is deeper than `MAX_DEPTH`.
        TypeError: If `words` is a string.

    Example:
        >>> str(parse_linearized("(S (NP XX )NP )S", ["Cats"]))
        '(S (NP (XX Cats)))'
    """
    _check_words(words)
    stack, words_left = [("", [])], iter(words)
    for number, token in enumerate(text.split(), start=1):
        label, children = stack[-1]
        if token.startswith("("):
            if len(stack) > MAX_DEPTH:
                raise MalformedTreeError(f"token {number}: deeper than {MAX_DEPTH} constituents")
            stack.append((token[1:], []))
        elif not token.startswith(")"):
            word = next(words_left, None)
            if word is None:
                raise MalformedTreeError(f"token {number}: more leaves than the {len(words)} words")
            children.append(Tree(token, (word,)))
        elif len(stack) == 1 or token[1:] != label:
            raise MalformedTreeError(f"token {number}: {token!r} closes no open constituent")
        elif not children:
            raise MalformedTreeError(f"token {number}: {token!r} closes an empty constituent")
        else:
            stack.pop()
            stack[-1][1].append(Tree(label, tuple(children)))
    roots = stack[0][1]
    if len(stack) > 1:
        raise MalformedTreeError(f"'({stack[-1][0]}' is not closed")
    if len(roots) != 1 or roots[0].is_word:
        raise MalformedTreeError(f"{len(roots)} trees or leaves side by side, not one tree")
    if next(words_left, None) is not None:
        raise MalformedTreeError(f"fewer leaves than the {len(words)} words")
    return roots[0]


def _check_words(words):
    if isinstance(words, str):
        raise TypeError(
            "`words` must be a list of words, such as `sentence.split()`. "
            f"Received: the string {words!r:.60}."
        )


def repair_linearized(text, words, root="S"):
    """Parses any line of tokens as a tree that is as close to the line as possible.

    A closing bracket closes the innermost open constituent with its label, and everything open
    inside it; without such a constituent, it is ignored. Surplus leaves are ignored, words without
    a leaf are added to the root, and open constituents are closed at the end. Constituents without
    a word, or deeper than `MAX_DEPTH`, are omitted. Several trees become children of one root.

    Args:
        text: A line of brackets and leaves.
        words: Non-empty list of the words in the sentence.
        root: Label of the root if the line does not have exactly one.

    Returns:
        A `Tree` whose leaves are the words. For a well-formed line, it is the same as that from
        `parse_linearized`.

    Raises:
        TypeError: If `words` is a string.

    Example:
        >>> str(repair_linearized("(S (NP XX )S XX", ["Cats", "sleep"]))
        '(S (S (NP (XX Cats))) (XX sleep))'
    """
    _check_words(words)
    stack, words_left = [("", [])], iter(words)

    def close():
        label, children = stack.pop()
        if children:
            stack[-1][1].append(Tree(label, tuple(children)))

    for token in text.split():
        if token.startswith("("):
            if len(stack) <= MAX_DEPTH:
                stack.append((token[1:], []))
        elif not token.startswith(")"):
            word = next(words_left, None)
            if word is not None:
                stack[-1][1].append(Tree(token, (word,)))
        elif token[1:] in [label for label, _ in stack[1:]]:
            while stack[-1][0] != token[1:]:
                close()
            close()
    while len(stack) > 1:
        close()
    rest = [Tree(LEAF, (word,)) for word in words_left]
    roots = stack[0][1]
    if len(roots) == 1 and not roots[0].is_word:
        return Tree(roots[0].label, roots[0].children + tuple(rest))
    return Tree(root, tuple(roots + rest))


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
            f"No tree files in the folder {str(path)!r}: file names must end in "
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
