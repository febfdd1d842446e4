"""Bracket scores are those of PYEVALB on 1,000 trees, where both have the same rules.

Run from the repository's root, in an environment with `pip install pyevalb`:

    python -m tests.claims.parsing_scores DIR

DIR holds bracketed trees, such as CRAFT's `structural-annotation/treebank/penn`. Takes 1,000 of
them, changes each by chance (labels, constituents left out and added) and scores the changed one.
PYEVALB knows none of the rules of COLLINS.prm, so it is given trees without punctuation, with ADVP
for PRT, each in a root of its own. Where a tree has a constituent twice it counts one as found and
two as wanted, so the second is left out of its trees. Exits with 1 if a count of any tree differs.
"""

import random
import sys

import click

from aiayn_keras.parsing import Tree, read_trees
from aiayn_keras.parsing.scores import EQUAL_LABELS, PUNCTUATION_TAGS, brackets

LABELS = ("NP", "VP", "PP", "S", "ADVP", "PRT", "SBAR")


def changed(tree, rng):
    """The trees that stand in the place of one that is changed by chance."""
    if tree.is_word:
        return (tree,)
    children = [new for child in tree.children for new in changed(child, rng)]
    chance = rng.random()
    if chance < 0.1:
        return tuple(children)
    if chance < 0.2 and len(children) > 2:
        place = rng.randrange(len(children) - 1)
        pair = Tree(rng.choice(LABELS), tuple(children[place : place + 2]))
        children[place : place + 2] = [pair]
    label = rng.choice(LABELS) if chance > 0.9 else tree.label
    return (Tree(label, tuple(children)),)


def for_pyevalb(tree, is_punctuation):
    """Brackets of a tree as PYEVALB needs them to follow our rules; empty if no word is left."""
    places = iter(is_punctuation)

    def rewrite(node):
        if node.is_word:
            # PYEVALB cuts words at underlines.
            return [] if next(places) else [(None, f"(XX {node.children[0].replace('_', '-')})", 1)]
        children = [new for child in node.children for new in rewrite(child)]
        if not children:
            return []
        length = sum(child[2] for child in children)
        label = EQUAL_LABELS.get(node.label, node.label)
        # All constituents of these words so far, of a chain: the same label twice is left out.
        below = children[0][0] if len(children) == 1 else None
        if below is not None and label in below:
            return children
        text = f"({label} {' '.join(child[1] for child in children)})"
        return [((below or ()) + (label,), text, length)]

    parts = rewrite(tree)
    return f"(ROOT {' '.join(part[1] for part in parts)})" if parts else ""


def our_counts(tree, reference, is_punctuation):
    """Matched, reference's and tree's constituents without repetition."""
    ours, theirs = (set(brackets(each, is_punctuation)) for each in (tree, reference))
    return len(ours & theirs), len(theirs), len(ours)


def their_counts(tree, reference, is_punctuation):
    from PYEVALB import parser, scorer

    texts = [for_pyevalb(each, is_punctuation) for each in (reference, tree)]
    result = scorer.Scorer().score_trees(*map(parser.create_from_bracket_string, texts))
    counts = result.matched_brackets, result.gold_brackets, result.test_brackets
    return tuple(count - 1 for count in counts)  # without the root


@click.command()
@click.argument("folder")
@click.option("--trees", "number", default=1000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(folder, number, seed):
    """Compare the counts of changed trees in FOLDER."""
    rng = random.Random(seed)
    references = rng.sample(read_trees(folder), number)
    differences, matched = [], 0
    for reference in references:
        new = changed(reference, rng)
        tree = new[0] if len(new) == 1 and not new[0].is_word else Tree("S", new)
        is_punctuation = [leaf.label in PUNCTUATION_TAGS for leaf in reference.leaves()]
        if all(is_punctuation):
            continue
        ours, theirs = (
            count(tree, reference, is_punctuation) for count in (our_counts, their_counts)
        )
        matched += ours[0]
        if ours != theirs:
            differences.append((ours, theirs, str(reference), str(tree)))
    for difference in differences[:3]:
        click.echo("ours {}, PYEVALB {}\n  {}\n  {}".format(*difference))
    click.echo(
        f"{number:,} trees, {matched:,} matched constituents: {len(differences)} trees differ"
    )
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
