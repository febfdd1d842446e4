import hypothesis
import pytest
from hypothesis import strategies as st

from aiayn_keras.parsing import (
    MalformedTreeError,
    Tree,
    clean_tree,
    linearize,
    parse_linearized,
    repair_linearized,
)


def word(tag, text):
    return Tree(tag, (text,))


CATS = Tree("S", (Tree("NP", (word("DT", "the"), word("NNS", "cats"))), word("VBP", "sleep")))
trees = st.recursive(
    st.builds(word, st.sampled_from(["NN", "IN", ","]), st.sampled_from(["a", "b", "c"])),
    lambda child: st.builds(
        lambda label, children: Tree(label, tuple(children)),
        st.sampled_from(["NP", "VP", "S"]),
        st.lists(child, min_size=1, max_size=3),
    ),
    max_leaves=8,
).filter(lambda tree: not tree.is_word)


def test_a_tree_is_a_line_of_brackets_with_labels_and_one_leaf_a_word():
    assert linearize(CATS) == "(S (NP XX XX )NP XX )S"
    assert linearize(CATS, "tags") == "(S (NP DT NNS )NP VBP )S"
    with pytest.raises(
        ValueError, match=r"`tree_leaves` must be 'XX' or 'tags'\. Received: .*'xx'"
    ):
        linearize(CATS, "xx")


@hypothesis.given(trees)
def test_a_linearized_tree_is_read_back(tree):
    read = parse_linearized(linearize(tree, "tags"), tree.words())
    assert read == tree
    assert repair_linearized(linearize(tree, "tags"), tree.words()) == tree
    assert linearize(parse_linearized(linearize(tree), tree.words())) == linearize(tree)


def test_traces_go_with_what_is_empty_without_them_and_unary_chains_stay():
    trace = word("-NONE-", "*T*-1")
    subject = Tree("NP-SBJ-1", (Tree("NML", (word("NN", "it"),)),))
    tree = Tree(
        "S-CLF", (subject, Tree("SBAR=2", (trace, Tree("S", (trace,)))), word("-LRB-", "("))
    )
    assert str(clean_tree(tree)) == "(S (NP (NML (NN it))) (-LRB- ())"
    assert clean_tree(Tree("S", (trace,))) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(S XX XX", r"'\(S' is not closed"),
        ("(S XX XX )NP", r"token 4: '\)NP' closes no open constituent"),
        ("(S XX XX )S )S", r"token 5: '\)S' closes no open constituent"),
        ("(S XX (NP )NP XX )S", r"token 4: '\)NP' closes an empty constituent"),
        ("(S XX XX XX )S", "token 4: more leaves than the 2 words"),
        ("(S XX )S", "fewer leaves than the 2 words"),
        ("(S XX )S (S XX )S", "2 trees or leaves side by side"),
        ("XX XX", "2 trees or leaves side by side"),
        ("XX", "1 trees or leaves side by side"),
        ("", "0 trees or leaves side by side"),
    ],
)
def test_what_is_no_tree_of_its_sentence_is_refused(text, problem):
    with pytest.raises(MalformedTreeError, match=problem):
        parse_linearized(text, ["a", "b"])


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("(S (NP XX XX", "(S (NP XX XX )NP )S"),
        ("(S (NP XX )S XX )NP", "(S (S (NP XX )NP )S XX )S"),
        (")S (VP XX XX )VP", "(VP XX XX )VP"),
        ("(S XX (NP )NP XX XX )S", "(S XX XX )S"),
        ("(NP XX )NP", "(NP XX XX )NP"),
        ("(NP XX )NP (VP XX )VP", "(S (NP XX )NP (VP XX )VP )S"),
        ("(S", "(S XX XX )S"),
        ("", "(S XX XX )S"),
    ],
)
def test_any_line_is_repaired_to_a_tree_of_its_sentence(text, repaired):
    tree = repair_linearized(text, ["a", "b"])
    assert linearize(tree) == repaired
    assert tree.words() == ["a", "b"]


def test_a_model_that_opens_brackets_without_end_is_no_danger():
    text = f"{'(S ' * 3000}XX{' )S' * 3000}"
    with pytest.raises(MalformedTreeError, match="token 201: deeper than 200 constituents"):
        parse_linearized(text, ["a"])
    assert linearize(repair_linearized(text, ["a"])) == f"{'(S ' * 200}XX{' )S' * 200}"


@hypothesis.given(st.lists(st.sampled_from(["(S", "(NP", ")S", ")NP", "XX"]), max_size=12))
def test_a_repaired_tree_has_the_words_whatever_is_written(tokens):
    words = ["a", "b", "c"]
    tree = repair_linearized(" ".join(tokens), words)
    assert parse_linearized(linearize(tree), words).words() == words


@pytest.mark.parametrize("parse", [parse_linearized, repair_linearized])
def test_a_sentence_is_not_read_as_letters(parse):
    with pytest.raises(TypeError, match=r"`words` must be a list of words.*string 'ab'"):
        parse("(S XX XX )S", "ab")
