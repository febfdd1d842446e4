import pytest

from aiayn_keras.parsing import Tree, read_trees
from aiayn_keras.parsing.scores import brackets, read_outputs, score_trees


@pytest.fixture
def parse(tmp_path):
    def parse(text):
        (tmp_path / "trees").write_text(text)
        return read_trees(tmp_path / "trees")[0]

    return parse


GOLD = "(S (NP (DT the) (NN cat)) (VP (VBD ran) (PRT (RP away))) (. .))"


def test_figures_are_those_computed_by_hand(parse):
    # Of the reference's S(0,4) NP(0,2) VP(2,4) ADVP(3,4), the tree finds S, NP and, as ADVP, PRT.
    gold = parse(GOLD)
    found = parse("(S (NP (X the) (X cat)) (X ran) (ADVP (X away)) (NP (X .)))")
    scores = score_trees([found], [gold])
    assert (scores.precision, scores.recall) == (100.0, 75.0)
    assert scores.f1 == pytest.approx(2 * 100 * 75 / 175)
    assert (scores.exact_match, scores.well_formed) == (0.0, 100.0)
    assert (scores.sentences, scores.reference_brackets) == (1, 4)


def test_sums_are_over_constituents_and_exact_matches_over_sentences(parse):
    gold, other = parse(GOLD), parse("(NP (NN a) (NN b))")
    wrong = parse("(VP (NN a) (NN b))")
    scores = score_trees([gold, wrong, None], [gold, other, other])
    assert scores.precision == pytest.approx(100 * 4 / 5)
    assert scores.recall == pytest.approx(100 * 4 / 6)
    assert scores.exact_match == pytest.approx(100 / 3)
    assert scores.well_formed == pytest.approx(200 / 3)


def test_punctuation_of_the_reference_is_left_out_with_what_holds_nothing_else(parse):
    gold = parse("(S (NP (NN a)) (, ,) (PRN (`` b) (: --)) (-LRB- -LRB-) (NN c))")
    assert brackets(gold) == {("S", 0, 3): 1, ("NP", 0, 1): 1}
    tree = parse("(S (NP (XX a) (XX ,)) (PRN (XX b) (XX --)) (XX -LRB-) (XX c))")
    assert score_trees([tree], [gold]).exact_match == 100.0


def test_a_constituent_that_is_there_twice_counts_twice(parse):
    twice, once = parse("(NP (NP (NN a) (NN b)))"), parse("(NP (NN a) (NN b))")
    assert score_trees([once], [twice]).recall == 50.0
    assert score_trees([twice], [once]).precision == 50.0
    assert score_trees([twice], [twice]).exact_match == 100.0


def test_outputs_that_are_no_trees_have_no_constituents_unless_they_are_repaired(parse):
    gold = parse("(S (NP (NN a)) (VP (VB b)))")
    texts = ["(S (NP XX )NP (VP XX )VP )S", "(S (NP XX )NP (VP XX"]
    assert score_trees(read_outputs(texts, [gold] * 2), [gold] * 2).recall == 50.0
    repaired = score_trees(read_outputs(texts, [gold] * 2, repair=True), [gold] * 2)
    assert (repaired.recall, repaired.well_formed) == (100.0, 100.0)
    none = score_trees([None], [gold])
    assert (none.f1, none.precision, none.recall) == (0.0, 0.0, 0.0)


def test_trees_of_other_words_or_another_number_are_refused(parse):
    gold = parse(GOLD)
    with pytest.raises(ValueError, match=r"`trees\[0\]` must have the same words.*Received: 'a'"):
        score_trees([Tree("NN", ("a",))], [gold])
    with pytest.raises(ValueError, match="0 hypotheses, 1 references"):
        score_trees([], [gold])
