import pytest

from aiayn_keras.data import SampledPairs, TokenPairs, TokenShards, generate_demo_pairs
from aiayn_keras.training import prepare
from aiayn_keras.training.training_data import (
    TrainingShards,
    TrainingText,
    read_corpus,
    tokenize_pairs,
)
from tests.runs import small_recipe


def files_of(folder, *settings):
    """A recipe of files with 600 pairs."""
    text = generate_demo_pairs(600, 0, "train")
    for name, side in (("a.en", text.sources), ("a.de", text.targets)):
        (folder / name).write_text("".join(f"{line}\n" for line in side), "utf-8")
    files = f"[{folder}/a.en, {folder}/a.de]"
    return small_recipe(
        "corpus.name=null",
        "corpus.train_size=null",
        f"corpus.train={files}",
        f"corpus.validation={files}",
        *settings,
    )


def test_without_test_files_the_validation_text_is_the_test(tmp_path):
    corpus = read_corpus(files_of(tmp_path))
    assert isinstance(corpus.train, TrainingText)
    assert len(corpus.validation) == 600
    assert corpus.test == corpus.validation


def test_text_and_shards_give_the_same_tokenizer_and_lengths(tmp_path):
    recipe = files_of(tmp_path)
    prepare(recipe, tmp_path / "shards", workers=1)
    text = read_corpus(recipe).train
    # The text of prepared pairs is not needed any more.
    for side in ("en", "de"):
        (tmp_path / f"a.{side}").rename(tmp_path / f"b.{side}")
    prepared = recipe.model_copy(
        update={
            "corpus": recipe.corpus.model_copy(
                update={
                    "shards": str(tmp_path / "shards"),
                    "validation": (f"{tmp_path}/b.en", f"{tmp_path}/b.de"),
                }
            )
        }
    )
    shards = read_corpus(prepared).train
    assert isinstance(shards, TrainingShards)
    tokenizer = shards.make_tokenizer()
    assert tokenizer.proto == text.make_tokenizer().proto
    pairs, tokens = shards.pairs(tokenizer, 64), text.pairs(tokenizer, 64)
    assert isinstance(pairs, TokenShards)
    assert isinstance(tokens, TokenPairs)
    assert pairs.source_lengths.tolist() == tokens.source_lengths.tolist()
    assert pairs.target_lengths.tolist() == tokens.target_lengths.tolist()
    # The end id needs a position too.
    assert text.pairs(tokenizer, 20).source_lengths.max() <= 19


def test_sampling_is_for_training_only():
    recipe = small_recipe("tokenizer.sampling_alpha=0.1")
    text = generate_demo_pairs(300, 0, "train")
    training = TrainingText(recipe, text)
    tokenizer = training.make_tokenizer()
    pairs = training.pairs(tokenizer, 256)
    assert isinstance(pairs, SampledPairs)
    assert pairs.alpha == 0.1
    plain = tokenize_pairs(text, tokenizer, recipe, 256)
    assert isinstance(plain, TokenPairs)
    assert (pairs.source_lengths >= plain.source_lengths).all()


def test_augmentation_is_for_training_only():
    plain, joined = (
        read_corpus(small_recipe(*settings)) for settings in ((), ("augmentation.joined=0.9",))
    )
    assert joined.validation == plain.validation
    assert joined.test == plain.test
    assert joined.train.digest() != plain.train.digest()


def test_shards_of_another_corpus_are_refused(tmp_path):
    prepare(small_recipe("corpus.train_size=50", "tokenizer.vocabulary_size=90"), tmp_path / "s", 1)
    recipe = small_recipe("tokenizer.vocabulary_size=90", f"corpus.shards={tmp_path}/s")
    with pytest.raises(ValueError, match=r"made from .*50.*the recipe says .*600.*Prepare"):
        TrainingShards(recipe).make_tokenizer()
