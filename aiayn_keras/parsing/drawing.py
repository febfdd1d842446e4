"""Drawings of two constituency trees for the same sentence, above and below its words."""

import textwrap
from collections import Counter

from aiayn_keras.plotting.figures import COLORS, finish, new_figure, plain, visible

_CHARACTER, _GAP, _LEVEL = 0.085, 0.14, 0.36  # inches: a letter, a space, a level of the tree
_MIN_WIDTH = 0.36  # inches: a word, with room for a label above it
SHARED, OWN = COLORS[0], COLORS[1]


def plot_tree_pair(reference, tree, path=None, title=None, names=("reference", "model")):
    """Draws two trees for one sentence: the reference above its words, the other one below.

    Constituents with the same label and words in both trees are blue. Those in only one tree are
    red, with bold labels and dashed lines.

    Args:
        reference: A tree, that is, an object with a `label` and a tuple of `children`, which are
            trees; a word is a tree whose only child is a string. See `aiayn_keras.data.Tree`.
        tree: A second tree with the same words.
        path: PNG file to write, or `None`.
        title: Title of the figure, or `None`.
        names: Names of the two trees.

    Returns:
        A Figure.

    Raises:
        TypeError: For anything but trees, such as the `None` of `clean_tree`.
        ValueError: If the trees have different words.

    Example:
        >>> from collections import namedtuple
        >>> Tree = namedtuple("Tree", "label children")
        >>> tree = Tree("S", (Tree("NNS", ("Cats",)), Tree("VBP", ("sleep",))))
        >>> [text.get_text() for text in plot_tree_pair(tree, tree).axes[0].texts]
        ['Cats', 'sleep', 'S', 'S', 'reference', 'model']
    """
    for argument, value in (("reference", reference), ("tree", tree)):
        if not getattr(value, "children", ()):
            raise TypeError(
                f"`{argument}` must be a tree: an object with `label` and `children`. "
                f"Received: {value!r:.60}."
            )
    upper, lower = _Layout(reference), _Layout(tree)
    if upper.words != lower.words:
        raise ValueError(
            "`tree` must have the same words as `reference`. "
            f"Received: {' '.join(lower.words)!r:.60} and {' '.join(upper.words)!r:.60}."
        )
    centres, width = _centres(upper.words)
    height = (upper.height + lower.height + 1.4) * _LEVEL
    lines = textwrap.wrap(title or "", int(11 * max(width, 4.0)))
    figure = new_figure(max(width, 4.0) + 0.3, height + 0.22 * len(lines) + 0.2)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(-(lower.height + 0.9), upper.height + 0.9))
    for centre, word in zip(centres, upper.words, strict=True):
        axes.text(centre, 0, plain(visible(word)), ha="center", va="center", fontsize=10)
    _draw(axes, upper, centres, _matched(upper, lower), direction=1)
    _draw(axes, lower, centres, _matched(lower, upper), direction=-1)
    for name, level, va in ((names[0], upper.height, "top"), (names[1], -lower.height, "bottom")):
        place = level + (0.75 if level > 0 else -0.75)
        axes.text(0, place, plain(name), ha="left", va=va, fontsize=10, style="italic")
    if lines:
        figure.suptitle(plain("\n".join(lines)), fontsize=11)
    return finish(figure, path)


class _Layout:
    """Constituents of a tree as a list of `(label, first, last, height, children)`, children first.

    A child is an index into this list, or a negative number for a word, -1 for the first word.
    """

    def __init__(self, tree):
        self.words, self.nodes = [], []
        self._add(tree)
        self.height = max((node[3] for node in self.nodes), default=0)

    def _add(self, tree):
        if isinstance(tree.children[0], str):
            self.words.append(tree.children[0])
            return -len(self.words)
        first = len(self.words)
        children = [self._add(child) for child in tree.children]
        height = 1 + max(self.nodes[child][3] if child >= 0 else 0 for child in children)
        self.nodes.append((tree.label, first, len(self.words) - 1, height, children))
        return len(self.nodes) - 1


def _centres(words):
    """Returns the horizontal center of each word and the total width, in inches."""
    centres, place = [], 0.0
    for word in words:
        room = max(_MIN_WIDTH, _CHARACTER * len(visible(word)))
        centres.append(place + room / 2)
        place += room + _GAP
    return centres, place


def _matched(layout, other):
    """Returns a list: whether each constituent has a counterpart in the other tree."""
    left = Counter(node[:3] for node in other.nodes)
    found = []
    for node in layout.nodes:
        found.append(left[node[:3]] > 0)
        left[node[:3]] -= 1
    return found


def _draw(axes, layout, centres, matched, direction):
    """Draws a tree above its words (`direction` 1) or below them (-1)."""
    places = []
    for (label, _, _, height, children), is_shared in zip(layout.nodes, matched, strict=True):
        ends = [places[c] if c >= 0 else (centres[-c - 1], 0.25 * direction) for c in children]
        x, y = (ends[0][0] + ends[-1][0]) / 2, height * direction
        color, line = (SHARED, "-") if is_shared else (OWN, "--")
        # Right angles, because a straight line to a distant child would cross other parts.
        for end_x, end_y in ends:
            axes.plot([x, end_x, end_x], [y, y, end_y], line, color=color, linewidth=1.0, zorder=1)
        weight = "normal" if is_shared else "bold"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(
            x, y, plain(label), color=color, weight=weight, fontsize=9, ha="center", va="center",
            bbox=box, zorder=2,
        )  # fmt: skip
        places.append((x, y))
