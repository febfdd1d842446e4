"""Constituency trees: a reference and another tree of the same words, on either side of them."""

import textwrap
from collections import Counter

from aiayn_keras.plotting.figures import COLORS, finish, new_figure, plain, visible

CHARACTER, GAP, LEVEL = 0.085, 0.14, 0.36  # inches: a letter, the space of words, a tree's level
MIN_WIDTH = 0.36  # inches: the room of a word, in which a label must stand
SHARED, OWN = COLORS[0], COLORS[1]


def plot_tree_pair(reference, tree, path=None, title=None, names=("reference", "model")):
    """Draw two trees of one sentence: the reference above its words, the other below them.

    Constituents that both trees have, with label and words, are blue; those of one tree alone are
    red, in bold letters, with broken lines.

    Args:
        reference: A tree: an object with a `label` and a tuple of `children`, which are trees; a
            word is a tree whose only child is a string, see `aiayn_keras.data.Tree`.
        tree: Another tree of the same words.
        path: PNG file to write, or `None`.
        title: Line above the figure, or `None`.
        names: Names of the two trees.

    Returns:
        A Figure.

    Raises:
        ValueError: If the trees have different words.

    Example:
        >>> from collections import namedtuple
        >>> Tree = namedtuple("Tree", "label children")
        >>> tree = Tree("S", (Tree("NNS", ("Cats",)), Tree("VBP", ("sleep",))))
        >>> [text.get_text() for text in plot_tree_pair(tree, tree).axes[0].texts]
        ['Cats', 'sleep', 'S', 'S', 'reference', 'model']
    """
    upper, lower = _Layout(reference), _Layout(tree)
    if upper.words != lower.words:
        raise ValueError(
            "`tree` must have the words of `reference`. "
            f"Received: {' '.join(lower.words)!r:.60} and {' '.join(upper.words)!r:.60}."
        )
    centres, width = _centres(upper.words)
    height = (upper.height + lower.height + 1.4) * LEVEL
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
    """The constituents of a tree, `(label, first, last, height, children)`, children first.

    A child is its place in the list, or of a word its negative number, -1 for the first.
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
    """Horizontal centre of every word, and the width of all, in inches."""
    centres, place = [], 0.0
    for word in words:
        room = max(MIN_WIDTH, CHARACTER * len(visible(word)))
        centres.append(place + room / 2)
        place += room + GAP
    return centres, place


def _matched(layout, other):
    """Whether each constituent is in the other tree too, as often as there."""
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
        # Right angles: a straight line to a far child would cross what lies between.
        for end_x, end_y in ends:
            axes.plot([x, end_x, end_x], [y, y, end_y], line, color=color, linewidth=1.0, zorder=1)
        weight = "normal" if is_shared else "bold"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(
            x, y, plain(label), color=color, weight=weight, fontsize=9, ha="center", va="center",
            bbox=box, zorder=2,
        )  # fmt: skip
        places.append((x, y))
