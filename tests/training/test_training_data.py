import numpy as np
import pytest

from aiayn_keras.data import (
    CorpusError,
    ParallelText,
    SampledPairs,
    TokenPairs,
    TokenShards,
    generate_demo_pairs,
)
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.scale.preparation import prepare
from aiayn_keras.training.recipe import load_recipe
from aiayn_keras.training.training_data import (
    TrainingShards,
    TrainingText,
    copies_without_letters,
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
        f"corpus.train={files}",
        f"corpus.validation={files}",
        *settings,
    )


def test_without_test_files_the_validation_text_is_the_test(tmp_path):
    corpus = read_corpus(files_of(tmp_path))
    assert isinstance(corpus.train, TrainingText)
    assert len(corpus.validation) == 600
    assert corpus.test == corpus.validation


@pytest.mark.parametrize(
    ("name", "remedy"), [("*.tsv", True), ("s3://a/b.tsv", True), ("nowhere.tsv", False)]
)
def test_patterns_are_sent_to_prepare(tmp_path, name, remedy):
    recipe = files_of(tmp_path, f"corpus.train=[{name!r}]")
    with pytest.raises(FileNotFoundError, match="does not exist") as caught:
        read_corpus(recipe)
    assert ("name its folder as `corpus.shards`" in str(caught.value)) == remedy


@pytest.mark.slow
def test_text_and_shards_give_the_same_tokenizer_and_lengths(tmp_path):
    recipe = files_of(tmp_path)
    prepare(recipe, tmp_path / "shards")
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


@pytest.mark.slow
def test_each_side_is_sampled_by_its_own_rules():
    recipe = small_recipe(
        "tokenizer.sampling_alpha=0.3",
        "tokenizer.normalization=clean_nfkc",
        "tokenizer.target_normalization=nfc",
    )
    pairs = [(f"“{a}” ½", f"„{b}“ ½！") for a, b in generate_demo_pairs(100, 0, "train")]
    text = ParallelText(*map(tuple, zip(*pairs, strict=True)))
    training = TrainingText(recipe, text)
    tokenizer = training.make_tokenizer()
    sides = training.pairs(tokenizer, 256).read(np.arange(100), 0)
    for side, decode, written in (
        (sides[0], tokenizer.detokenize, [f'"{a[1:-3]}" ½' for a in text.sources]),
        (sides[1], tokenizer.of_targets().detokenize, list(text.targets)),
    ):
        parts = np.split(side.ids, np.cumsum(side.lengths)[:-1])
        assert [decode(ids.tolist()) for ids in parts] == written


@pytest.mark.slow
def test_augmentation_is_for_training_only():
    plain, joined = (
        read_corpus(small_recipe(*settings)) for settings in ((), ("augmentation.joined=0.9",))
    )
    assert joined.validation == plain.validation
    assert joined.test == plain.test
    assert joined.train.digest() != plain.train.digest()


def test_a_training_names_the_augmentation_that_has_no_pair(caplog):
    text = ParallelText(["Ja ja."] * 2, ["Yes yes."] * 2, name="yes.tsv")
    TrainingText(small_recipe("augmentation.numbers=0.5", "augmentation.joined=0.5"), text)
    assert "yes.tsv: `numbers` has no effect" in caplog.text
    assert "joined" not in caplog.text


def test_shards_of_another_corpus_are_refused(tmp_path):
    prepare(small_recipe("corpus.train_size=50", "tokenizer.vocabulary_size=90"), tmp_path / "s")
    recipe = small_recipe("tokenizer.vocabulary_size=90", f"corpus.shards={tmp_path}/s")
    with pytest.raises(ValueError, match=r"made from .*50.*the recipe says .*600.*Prepare"):
        TrainingShards(recipe).make_tokenizer()


def recipe_of_trees(folder, *settings):
    """A recipe of 300 trees."""
    trees = [f"( (S (NP-SBJ (NNS w{n % 40}) (-NONE- *)) (VP (VB v{n % 30}))) )" for n in range(300)]
    (folder / "a.mrg").write_text("\n".join(trees), "utf-8")
    return small_recipe(
        "corpus.name=null",
        f"corpus.train=[{folder}]",
        f"corpus.validation=[{folder}/a.mrg]",
        "corpus.tree_leaves=XX",
        "tokenizer.vocabulary_size=24",
        "tokenizer.normalization=identity",
        "tokenizer.whole_target_words=true",
        *settings,
    )


@pytest.mark.parametrize("given", ["normalization", "target_normalization"])
def test_identity_reads_the_composed_text_of_a_training_in_any_form(tmp_path, given):
    recipe = files_of(tmp_path, f"tokenizer.{given}=identity", "tokenizer.vocabulary_size=220")
    lines = [f"caf\u0065\u0301 {line}" for line in (tmp_path / "a.en").read_text().splitlines()]
    (tmp_path / "a.en").write_text("\n".join(lines), "utf-8")
    (tmp_path / "a.de").write_text("\n".join(lines), "utf-8")
    tokenizer = read_corpus(recipe).train.make_tokenizer()
    prepare(recipe, tmp_path / "shards")
    shards = TokenShards(tmp_path / "shards")
    assert TransformerTokenizer(proto=shards.tokenizer_proto).proto == tokenizer.proto
    side = tokenizer if given == "normalization" else tokenizer.of_targets()
    composed, decomposed = side(["caf\u00e9", "caf\u0065\u0301"])
    assert composed == decomposed
    assert side.unk_token_id not in composed


def test_trees_are_read_as_they_are(tmp_path):
    tokenizer = recipe_of_trees(tmp_path).vocabulary
    assert tokenizer.normalization == "identity"
    path = tmp_path / "mine.yaml"
    text = recipe_of_trees(tmp_path).to_yaml()
    assert "  normalization: identity\n" in text
    path.write_text(text.replace("  normalization: identity\n", ""))
    assert load_recipe(path) == recipe_of_trees(tmp_path)


def test_trees_are_text_whose_targets_are_one_token_a_word(tmp_path):
    recipe = recipe_of_trees(tmp_path)
    corpus = read_corpus(recipe)
    assert corpus.validation[1] == ("w1 v1", "(S (NP XX )NP (VP XX )VP )S")
    assert corpus.validation.name == "a.mrg"
    tokenizer = corpus.train.make_tokenizer()
    (ids,) = tokenizer([corpus.validation[1][1]])
    assert [tokenizer.id_to_token(i) for i in ids][:3] == ["▁(S", "▁(NP", "▁XX"]
    assert len(ids) == 8
    tags = read_corpus(recipe_of_trees(tmp_path, "corpus.tree_leaves=tags")).validation
    assert tags[1] == ("w1 v1", "(S (NP NNS )NP (VP VB )VP )S")


def test_trees_without_a_word_are_no_corpus(tmp_path):
    recipe = recipe_of_trees(tmp_path, f"corpus.test=[{tmp_path}/empty.mrg]")
    for trees in ("", "( (NP (-NONE- *)) )\n"):
        (tmp_path / "empty.mrg").write_text(trees)
        with pytest.raises(CorpusError, match=r"empty\.mrg: there is no tree with words in it"):
            read_corpus(recipe)


def test_shards_of_trees_have_the_same_tokenizer_and_know_their_leaves(tmp_path):
    folder = tmp_path / "trees"
    folder.mkdir()
    recipe = recipe_of_trees(folder)
    assert prepare(recipe, tmp_path / "shards").lines == 300
    prepared = recipe_of_trees(folder, f"corpus.shards={tmp_path}/shards")
    tokenizer = read_corpus(prepared).train.make_tokenizer()
    assert tokenizer.proto == read_corpus(recipe).train.make_tokenizer().proto
    other = recipe_of_trees(folder, f"corpus.shards={tmp_path}/shards", "corpus.tree_leaves=tags")
    with pytest.raises(ValueError, match=r"made from .*'XX'.*the recipe says .*'tags'"):
        read_corpus(other).train.make_tokenizer()


def test_more_distinct_target_words_than_tokens_are_refused(tmp_path):
    recipe = files_of(tmp_path, "tokenizer.whole_target_words=true", "tokenizer.vocabulary_size=20")
    with pytest.raises(
        CorpusError, match=r"target line \d: the targets have more than the 20 words"
    ):
        read_corpus(recipe).train.make_tokenizer()


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("15", "15"), ("...", "..."), ("Yes.", "Ja.")], True),
        ([("1 2 3", "3 2 1"), ("5 6", "6 5"), ("7", "7")], False),
        ([("15", "quince")], False),
        ([("Yes.", "Ja.")], None),
    ],
)
def test_a_corpus_shows_whether_texts_without_letters_are_copied(pairs, expected):
    assert copies_without_letters(ParallelText(*zip(*pairs, strict=True))) is expected
