"""Constraints in `translate`, with a model of random weights."""

from dataclasses import dataclass

import numpy as np
import pytest
from keras import ops

from aiayn_keras.decoding.constraints import BalancedBrackets, Constraint, TokenAutomaton
from aiayn_keras.training.option_sections import EvaluationSection
from aiayn_keras.training.translation_scores import translate_as_recipe
from aiayn_keras_light.translating import NoTranslationError
from tests.helpers import assert_close
from tests.random_parser import SOURCES, build_random_parser, is_tree_of


@pytest.fixture(scope="module")
def parser():
    return build_random_parser()


def hypotheses(translations):
    return [hypothesis for each in translations for hypothesis in each.hypotheses]


@pytest.mark.parametrize(("max_length", "ensemble"), [(None, False), (8, True)])
def test_every_hypothesis_is_a_tree_whose_score_is_that_of_scoring(parser, max_length, ensemble):
    others = [build_random_parser(seed=6)] if ensemble else []
    options = {"num_return_sequences": 4, "max_length": max_length, "ensemble": others}
    trees = parser.translate(SOURCES, constraint="brackets", **options)
    found = hypotheses(trees)
    sources = [source for source, each in zip(SOURCES, trees, strict=True) for _ in each.hypotheses]
    assert len(set(zip(sources, found, strict=True))) == 4 * len(SOURCES)
    for source, hypothesis in zip(sources, found, strict=True):
        assert is_tree_of(hypothesis.text, source), hypothesis
        assert len(hypothesis.tokens) <= (max_length or len(source.split()) + 50)
    texts = [hypothesis.text for hypothesis in found]
    models = [parser, *others]
    per_token = [model.score(sources, texts, per_token=True) for model in models]
    for hypothesis, *scores in zip(found, *per_token, strict=True):
        assert_close(hypothesis.score, np.log(np.mean(np.exp(scores), axis=0)).sum(), 1e-4, 1e-4)


@pytest.mark.slow
def test_without_a_constraint_there_are_no_trees(parser):
    translations = parser.translate(SOURCES, num_return_sequences=4)
    assert not any(
        is_tree_of(found.text, source)
        for source, each in zip(SOURCES, translations, strict=True)
        for found in each.hypotheses
    )


@pytest.mark.slow
def test_a_text_alone_gets_the_tree_that_it_gets_among_others(parser):
    together = parser.translate([*SOURCES, ""], constraint="brackets")
    alone = parser.translate([*SOURCES, ""], constraint="brackets", batch_size=1)
    assert [each.text for each in together] == [each.text for each in alone]
    assert together[-1].text == ""


@pytest.mark.slow
def test_trees_go_with_prefixes_penalties_and_alignments(parser):
    prefixes = ["(S (NP", "", "(VP XX XX", "(NP (NP (VP"]
    options = {"length_penalty": 2.0, "coverage_penalty": 0.5, "return_alignments": True}
    trees = parser.translate(SOURCES, prefixes=prefixes, constraint="brackets", **options)
    for source, prefix, tree in zip(SOURCES, prefixes, trees, strict=True):
        assert tree.text.startswith(prefix)
        assert is_tree_of(tree.text, source)
        assert tree.alignment.shape == (len(tree.tokens) + 1, len(source.split()) + 1)


@pytest.mark.parametrize("options", [{"max_length": 7}, {"prefixes": ["", "", "(S )S", ""]}])
def test_a_text_that_has_no_tree_is_named(parser, options):
    with pytest.raises(
        NoTranslationError, match=r"no translation of `texts\[2\]`.*`constraint` allows"
    ) as error:
        parser.translate(SOURCES, constraint="brackets", **options)
    assert error.value.rows == [2]
    found = error.value.translations
    assert [each is None for each in found] == [False, False, True, False]
    assert all(is_tree_of(found[n].text, SOURCES[n]) for n in (0, 1, 3))


def test_a_document_with_a_sentence_that_has_no_tree_is_named(parser):
    with pytest.raises(NoTranslationError, match=r"no translation of `texts\[1\]`") as error:
        parser.translate_documents(SOURCES[1:], constraint="brackets", max_length=7)
    first, missing, last = error.value.translations
    assert missing is None
    assert (first.sources, last.sources) == ((SOURCES[1],), (SOURCES[3],))


def test_a_recipe_compares_an_empty_text_where_there_is_no_tree(parser, caplog):
    evaluation = EvaluationSection(constraint="brackets", max_length=7)
    texts = translate_as_recipe(parser, SOURCES, evaluation)
    assert [bool(text) for text in texts] == [True, True, False, True]
    assert "1 of 4 sentences have no translation that keeps `evaluation.constraint`" in caplog.text


def test_leaves_may_be_free_and_trees_flat(parser):
    constraint = BalancedBrackets(words=None, max_depth=1)
    (tree,) = parser.translate(SOURCES[:1], constraint=constraint, num_beams=1, max_length=9)
    opening, *leaves, closing = tree.tokens
    assert (opening[:2], closing[:2]) == ("▁(", "▁)")
    assert opening[2:] == closing[2:]
    assert leaves
    assert not any("(" in leaf or ")" in leaf for leaf in leaves)


def test_of_a_closed_list_there_are_as_many_hypotheses_as_it_has_answers(parser):
    answers = ["cat cat", "dog sat", "the"]
    tokenizer = parser.preprocessor.tokenizer
    constraint = TokenAutomaton.of_sequences(tokenizer(answers))
    for each in parser.translate(SOURCES, constraint=constraint, num_return_sequences=4):
        assert sorted(found.text for found in each.hypotheses) == answers
        assert all(np.isfinite(found.score) for found in each.hypotheses)


@dataclass(frozen=True)
class Alternating(Constraint):
    """Tokens are even and odd in turn: a constraint that somebody else has written."""

    def rules(self, tokenizer):
        return self._Rules(tokenizer.vocabulary_size(), tokenizer.end_token_id)

    class _Rules:
        def __init__(self, vocabulary_size, end_token_id):
            self.ids = ops.arange(vocabulary_size)
            self.is_end = ops.equal(self.ids, end_token_id)

        def initial_state(self, token_ids, padding_mask, num_beams):
            return ops.zeros_like(token_ids[:, :1]) + ops.zeros((num_beams,), dtype="int32")

        def allowed(self, state, room):
            is_next = ops.equal(self.ids % 2, ops.expand_dims(state % 2, axis=2))
            return ops.logical_or(is_next, self.is_end)

        def advance(self, state, token_ids):
            return state + 1


def test_a_constraint_of_one_s_own_is_kept(parser):
    tokenizer = parser.preprocessor.tokenizer
    for each in parser.translate(SOURCES, constraint=Alternating(), min_length=4):
        ids = tokenizer([each.text])[0]
        assert len(ids) >= 4
        assert [i % 2 for i in ids] == [n % 2 for n in range(len(ids))]
    with pytest.raises(ValueError, match="`constraint` must be one of brackets, automaton for an"):
        parser.export("nowhere/kit", constraint=Alternating())
