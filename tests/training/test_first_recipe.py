import pytest

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.training import Recipe
from aiayn_keras.training.first_recipe import (
    SIZES,
    TextFacts,
    commented_yaml,
    measure_hours,
    measure_text,
    passes_for,
    recipe_fields,
    size_for,
    updates_for,
)


def facts_of(pairs, tokens_per_pair=15.0):
    return TextFacts(pairs, "en", "de", size_for(pairs).vocabulary_size, tokens_per_pair, 60)


def test_sizes_are_near_those_of_known_trainings():
    assert size_for(29_000).model == {"preset": "transformer_tiny"}
    assert size_for(114_000).model["preset"] == "transformer_base_d256"
    assert size_for(4_500_000).model == {"preset": "transformer_base"}
    assert passes_for(29_000) == pytest.approx(75)
    # The recipe of Multi30k: 8,000 updates. The paper's: 100,000 of 25,000 tokens.
    assert updates_for(facts_of(29_000)) == pytest.approx(8_000, rel=0.2)
    assert updates_for(facts_of(4_500_000, 28.0)) == pytest.approx(100_000, rel=0.2)


@pytest.mark.parametrize("pairs", [10, 3_000, 50_000, 10**6, 10**8])
def test_every_size_makes_a_valid_recipe(pairs):
    files = {"train": ["a.tsv"], "validation": ["b.tsv"]}
    recipe = Recipe.model_validate(recipe_fields(facts_of(pairs), files))
    assert recipe.training.updates >= 200
    assert recipe.optimizer.warmup_steps < recipe.training.updates
    assert recipe.training.bleu_every < recipe.training.updates
    assert recipe.training.keep == "best"


def test_models_and_vocabularies_grow_with_the_text():
    assert [size.max_pairs for size in SIZES] == sorted(size.max_pairs for size in SIZES)
    weights = [
        Recipe.model_validate(
            recipe_fields(facts_of(pairs), {"train": ["a"], "validation": ["b"]})
        ).model.count_weights(size_for(pairs).vocabulary_size)
        for pairs in (1_000, 9_000, 50_000, 200_000, 10**6, 5 * 10**6, 10**8)
    ]
    assert weights == sorted(weights)
    assert len(set(weights)) == len(SIZES)


@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("wuu", "zh"), ("my", "char")])
def test_languages_without_spaces_have_their_bleu_tokenizer(language, tokenizer):
    facts = TextFacts(1_000, "en", language, 1_000, 15.0, 60)
    fields = recipe_fields(facts, {"train": ["a"], "validation": ["b"]})
    assert fields["evaluation"]["bleu_tokenizer"] == tokenizer


def test_a_small_text_gets_the_vocabulary_that_it_yields_and_its_time_is_measured():
    facts, tokens = measure_text(list(generate_demo_pairs(5, 0, "train")), ("en", "de"))
    assert facts.vocabulary_size in (125, 250, 500)
    lengths = tokens.target_lengths
    assert facts.tokens_per_pair == pytest.approx(lengths.mean() + 1)
    fields = recipe_fields(facts, {"train": ["a"], "validation": ["b"]})
    recipe = Recipe.model_validate(fields)
    assert 0 < measure_hours(recipe, facts, tokens) < 10


def test_comments_do_not_change_the_fields():
    fields = {"corpus": {"train": ["a: b#.tsv", "ä"], "name": None}, "model": {"dropout": 0.1}}
    text = commented_yaml(fields, {"model.dropout": "more: or less"}, ["A # head"])
    import yaml

    assert yaml.safe_load(text) == fields
    assert "  dropout: 0.1  # more: or less\n" in text
