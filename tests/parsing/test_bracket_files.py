import gzip

import pytest

from aiayn_keras.data import CorpusError
from aiayn_keras.parsing import read_trees
from tests.data.text_bytes import write

TREE = "(S (NP (NNS Cats)) (VP (VBP sleep)))"


def test_trees_are_read_with_and_without_outer_brackets_on_one_line_or_several(tmp_path):
    text = f"{TREE}\n\n( {TREE} )\n(TOP\n  (S (NP\n(NNS Cats))\r\n (VP (VBP sleep))))\t{TREE}"
    assert [str(tree) for tree in read_trees(write(tmp_path / "a.mrg", text))] == [TREE] * 4
    packed = tmp_path / "b.mrg.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert len(read_trees(packed)) == 4


def test_trees_are_cleaned_and_those_of_traces_alone_are_left_out(tmp_path):
    text = "( (S (NP-SBJ (-NONE- *)) (VP (VB Go))) )\n( (NP (-NONE- *)) )"
    assert list(map(str, read_trees(write(tmp_path / "a.tree", text)))) == ["(S (VP (VB Go)))"]


def test_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path):
    for name, noun in (("02/b.mrg", "b"), ("01/z.tree", "a"), ("notes.md", "(")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path / name, f"(NP (NN {noun}))")
    assert [tree.words() for tree in read_trees(tmp_path)] == [["a"], ["b"]]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"No tree files in the folder '.*empty'.*\.mrg"):
        read_trees(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match=r"Corpus file .* does not exist"):
        read_trees(tmp_path / "missing.mrg")


def test_spaces_of_unicode_inside_a_word_are_left_out_since_a_sentence_is_split_at_spaces(tmp_path):
    path = write(tmp_path / "a.tree", "(NP (NN a\u2009b) (NN \u00a0c))")
    assert read_trees(path)[0].words() == ["ab", "c"]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\n(S (NP (NN a))", 2, "are not all closed"),
        ("(S (NN a)))", 1, "'\\)' is outside all brackets"),
        ("(NP (NN a))\nb", 2, "'b' is outside all brackets"),
        (
            "(S\n(NN a b))",
            2,
            r"`\(NN` must contain one word or constituents. Received: 'a b'",
        ),
        ("(S (NP a (NN b)))", 1, r"`\(NP` must contain one word or constituents"),
        ("(S (NP))", 1, r"`\(NP` must contain one word"),
        ("(S ((NN a)))", 1, "a constituent has no label"),
        ("()", 1, "a constituent has no label"),
        ("( (S (NN a)) (S (NN b)) )", 1, "a constituent has no label"),
        ("(NN a▁b)", 1, "'a▁b' is not a word"),
        ("(NN \u2009)", 1, "is not a word"),
        ("(S " * 201, 1, "brackets are nested more than 200 deep"),
    ],
)
def test_a_malformed_tree_is_named_with_file_and_line(tmp_path, text, line, problem):
    path = write(tmp_path / "a.tree", text)
    with pytest.raises(CorpusError, match=rf"a\.tree, line {line}: .*{problem}"):
        read_trees(path)
