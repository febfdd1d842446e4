import re

import pytest

from aiayn_keras.data import CorpusError, ParallelText, generate_demo_pairs, write_shards
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.training import (
    RecipeError,
    RunFolder,
    load_recipe,
    train,
)
from aiayn_keras.training.resume import (
    RunInputs,
    check_folder,
    check_inputs,
    check_recipe,
    digest_inputs,
    read_inputs,
    read_tokenizer,
    with_begun_normalization,
)
from aiayn_keras.training.training_data import digest_text, read_corpus
from tests.runs import small_recipe

# === Folder and recipe ===


def test_a_free_folder_is_one_with_half_written_leftovers_at_most(tmp_path):
    folder = RunFolder(tmp_path / "run")
    check_folder(folder)
    (folder.path / ".writing-abc").mkdir(parents=True)
    check_folder(folder)
    (folder.path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="does not hold a training"):
        check_folder(folder)


def test_the_model_folder_of_an_average_is_not_a_training(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe().to_yaml())
    (folder.path / "task.json").write_text("{}")
    with pytest.raises(FileExistsError, match="holds a model but no training"):
        check_folder(folder)


def test_a_finished_training_without_checkpoints_is_not_begun_again(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe().to_yaml())
    (folder.path / "task.json").write_text("{}")
    folder.checkpoints.mkdir()
    with pytest.raises(FileExistsError, match=r"no training with checkpoints.*`model.initial`"):
        check_folder(folder)
    (folder.checkpoints / "update-00000020.0123456789abcdef.weights.h5").touch()
    check_folder(folder)


def test_only_the_same_recipe_goes_on(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe("training.seed=2", "model.dropout=0.3").to_yaml())
    assert check_recipe(folder, small_recipe("training.seed=2", "model.dropout=0.3")) == {}
    with pytest.raises(
        FileExistsError,
        match=r"`model.dropout` \(0.3 there, 0.1 here\); `training.seed` \(2 there, 1 here\)",
    ):
        check_recipe(folder, small_recipe())


def test_text_and_prepared_shards_do_not_go_on_with_each_other(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe("corpus.shards=here").to_yaml())
    assert check_recipe(folder, small_recipe("corpus.shards=there"))
    with pytest.raises(FileExistsError, match=r"`corpus.shards` \(here there, None here\)"):
        check_recipe(folder, small_recipe())


def test_a_changeable_field_may_differ_but_not_undo_updates(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe("evaluation.num_beams=3").to_yaml())
    changed = check_recipe(folder, small_recipe("training.updates=47"))
    assert changed == {"training.updates": (60, 47), "evaluation.num_beams": (3, 4)}
    folder.stopped.mkdir()
    (folder.stopped / f"update-00000048.{'0' * 16}.weights.h5").touch()
    check_recipe(folder, small_recipe("training.updates=48"))
    with pytest.raises(RecipeError, match=r"`training.updates`=47 must be at least 48"):
        check_recipe(folder, small_recipe("training.updates=47"))


def test_a_finished_training_goes_on_if_something_changes(tmp_path):
    folder = RunFolder(tmp_path)
    folder.recipe.write_text(small_recipe().to_yaml())
    folder.evaluation.touch()
    assert check_recipe(folder, small_recipe("training.updates=80")).keys() == {"training.updates"}
    with pytest.raises(FileExistsError, match="holds a finished training:"):
        check_recipe(folder, small_recipe())
    with pytest.raises(FileExistsError, match=r"a finished training of another recipe.*seed"):
        check_recipe(folder, small_recipe("training.seed=2"))


def test_a_recipe_from_before_an_option_was_there_has_its_default(tmp_path):
    folder = RunFolder(tmp_path)
    text = small_recipe().to_yaml()
    assert "  coverage_penalty: 0.0\n" in text
    folder.recipe.write_text(text.replace("  coverage_penalty: 0.0\n", ""))
    check_recipe(folder, small_recipe())
    folder.recipe.write_text("half a recipe")
    with pytest.raises(RecipeError, match="must hold the sections"):
        check_recipe(folder, small_recipe())


def test_a_training_keeps_the_normalization_that_was_the_default_when_it_began(tmp_path):
    folder = RunFolder(tmp_path / "run")
    path = tmp_path / "mine.yaml"
    text = small_recipe().to_yaml()
    assert text.count("  normalization: nmt_nfkc\n") == 1
    path.write_text(text.replace("  normalization: nmt_nfkc\n", ""))
    mine = load_recipe(path)
    assert with_begun_normalization(folder, mine) is mine
    assert (mine.tokenizer.normalization, mine.tokenizer.target_normalization) == (
        "clean_nfkc",
        "nfc",
    )
    folder.path.mkdir()
    older = small_recipe("tokenizer.target_normalization=nfc")
    folder.recipe.write_text(older.to_yaml())
    assert check_recipe(folder, with_begun_normalization(folder, mine)) == {}
    named = load_recipe(path, ["tokenizer.normalization=clean_nfkc"])
    with pytest.raises(FileExistsError, match=r"`tokenizer.normalization` \(nmt_nfkc there"):
        check_recipe(folder, with_begun_normalization(folder, named))


# === Inputs ===


LETTERS = "abcdefghijklmnopqrstuvwxyz"
PAIRS = [("a b", "c d"), ("e f", "g h"), ("i j", "k l"), ("m n", "o p")]


def tokenizer_of(letters):
    return TransformerTokenizer.train([letters], vocabulary_size=len(letters) + 5)


def write_pairs(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")


@pytest.fixture(name="recipe")
def recipe_of_files(tmp_path):
    """A recipe of three files, with few pairs."""
    settings = []
    for split, size in (("train", 40), ("validation", 3), ("test", 3)):
        write_pairs(tmp_path / f"{split}.tsv", generate_demo_pairs(size, 0, split))
        settings.append(f"corpus.{split}=[{tmp_path}/{split}.tsv]")
    return small_recipe(
        *(f"corpus.{name}=null" for name in ("name", "train_size", "validation_size", "test_size")),
        "tokenizer.vocabulary_size=90",
        *settings,
    )


@pytest.fixture(name="folder")
def begun_training(tmp_path, recipe):
    """The `RunFolder` of a training without a checkpoint."""
    corpus = read_corpus(recipe)
    tokenizer = corpus.train.make_tokenizer()
    folder = RunFolder(tmp_path / "run")
    folder.create(recipe, tokenizer, digest_inputs(recipe, corpus, tokenizer))
    return folder


def test_a_digest_is_that_of_the_sentences_in_order():
    text = ParallelText(("a", "b"), ("c", "d"))
    digest = digest_text(text)
    assert digest == digest_text(ParallelText(("a", "b"), ("c", "d"), name="other"))
    others = [(("b", "a"), ("d", "c")), (("a", "b"), ("d", "c")), (("c", "d"), ("a", "b"))]
    others += [(("a",), ("c",)), (("a", "b "), ("c", "d")), (("a", ""), ("b\nc", "d"))]
    digests = {digest_text(ParallelText(*sides)) for sides in others}
    assert len(digests - {digest}) == len(others)


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_a_file_whose_lines_were_reordered_is_named(tmp_path, recipe, folder, split):
    before = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    path = tmp_path / f"{split}.tsv"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:] + lines[:1]), "utf-8")
    with pytest.raises(
        CorpusError, match=rf"run holds .* in `corpus.{split}` \(.*{split}\.tsv\). Put back"
    ):
        train(recipe, folder.path)
    after = {path: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    assert after == before


def test_the_same_text_in_another_form_goes_on(tmp_path, recipe, folder):
    path = tmp_path / "train.tsv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    corpus = read_corpus(recipe)
    check_inputs(folder, recipe, digest_inputs(recipe, corpus, read_tokenizer(folder)))


def test_a_tokenizer_of_the_same_size_is_refused_before_it_is_read(recipe, folder):
    folder.tokenizer.write_bytes(folder.tokenizer.read_bytes()[::-1])
    message = r"tokenizer\.spm .*is damaged, replaced or missing.*delete both"
    with pytest.raises(ValueError, match=message):
        train(recipe, folder.path)


@pytest.mark.slow
def test_a_training_keeps_the_rules_of_both_sides(tmp_path, caplog):
    path = tmp_path / "train.tsv"
    lines = [f"{source}\t{target} ½" for source, target in generate_demo_pairs(300, seed=1)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    settings = [f"corpus.train=[{path}]", f"corpus.validation=[{path}]", "corpus.name=null"]
    settings += ["training.updates=2", "training.checkpoint_every=1", "evaluation.num_beams=1"]
    rules = ["tokenizer.normalization=clean_nfkc", "tokenizer.target_normalization=nfc"]
    recipe = small_recipe(*settings, *rules)
    tokenizer = train(recipe, tmp_path / "run").model.preprocessor.tokenizer
    read = read_tokenizer(RunFolder(tmp_path / "run"))
    assert (read.proto, read.target_proto) == (tokenizer.proto, tokenizer.target_proto)
    assert read.proto != read.target_proto
    assert "differently" not in caplog.text
    with caplog.at_level("INFO"):
        read_corpus(small_recipe(*settings)).train.make_tokenizer()
    assert re.search(r"writes 300 of 300 targets differently: '.* ½' → '.* 1⁄2';", caplog.text)


def test_a_tokenizer_that_is_learned_again_must_be_the_old_one(recipe, folder):
    folder.tokenizer.unlink()
    inputs, corpus = read_inputs(folder), read_corpus(recipe)
    again = digest_inputs(recipe, corpus, corpus.train.make_tokenizer())
    assert again == inputs
    other = digest_inputs(recipe, corpus, tokenizer_of(LETTERS))
    with pytest.raises(CorpusError, match="changed in the vocabulary"):
        check_inputs(folder, recipe, other)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"train": 3}', '{"train": "x"}'])
def test_damaged_digests_are_refused(recipe, folder, content):
    folder.inputs.write_text(content)
    with pytest.raises(ValueError, match=r"inputs\.json is damaged: .*Put back"):
        train(recipe, folder.path)


def test_a_folder_without_digests_is_taken_if_nothing_was_trained(tmp_path, recipe):
    folder = RunFolder(tmp_path)
    digest = "0" * 64
    inputs = RunInputs(
        recipe=digest, tokenizer=digest, train=digest, validation=digest, test=digest
    )
    assert read_inputs(folder) is None
    check_inputs(folder, recipe, inputs)
    folder.checkpoints.mkdir()
    (folder.checkpoints / f"update-00000001.{'0' * 16}.weights.h5").touch()
    with pytest.raises(FileNotFoundError, match=r"inputs\.json is missing, which says what"):
        check_inputs(folder, recipe, inputs)


def test_prepared_shards_are_known_by_their_index_and_compared_with_it(tmp_path, recipe):
    tokenizer, digests = tokenizer_of(LETTERS), []
    for origin in ("one", "other"):
        folder = tmp_path / origin
        size = tokenizer.vocabulary_size()
        write_shards(folder, PAIRS, tokenizer.proto, size, origin, max_pairs_per_shard=2)
        corpus = recipe.corpus.model_copy(update={"shards": str(folder)})
        train_text = read_corpus(recipe.model_copy(update={"corpus": corpus})).train
        digests.append(train_text.digest())
    assert digests[0] != digests[1]
    first, second = sorted(folder.glob("*.array_record"))
    first.rename(folder / "aside")
    second.rename(first)
    (folder / "aside").rename(second)
    with pytest.raises(CorpusError, match=r"00000\.array_record is damaged or another shard's"):
        train_text.digest()
