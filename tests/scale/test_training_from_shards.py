import keras_hub
import numpy as np
import pytest
from click.testing import CliRunner

from aiayn_keras.data import CorpusError, generate_demo_pairs
from aiayn_keras.scale.preparation import prepare
from aiayn_keras.scale.worker_pool import WorkerPool
from aiayn_keras.training import RecipeError, train
from aiayn_keras.training.training_data import read_corpus
from aiayn_keras_cli import main
from tests.runs import SETTINGS, small_recipe


@pytest.fixture(scope="module", name="shards")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "demo"
    assert prepare(small_recipe(), folder).lines == 600
    return folder


@pytest.mark.slow
def test_training_from_shards_is_training_from_text(trained_run, shards, tmp_path):
    result = train(small_recipe(f"corpus.shards={shards}"), tmp_path / "run")
    from_text = keras_hub.models.Seq2SeqLM.from_preset(str(trained_run))
    for actual, expected in zip(
        result.model.trainable_variables, from_text.trainable_variables, strict=True
    ):
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))


def test_shards_hold_targets_as_they_are(tmp_path):
    rows = [(f"“{a}” ½", f"„{b}“ ½！") for a, b in generate_demo_pairs(300, 0, "train")]
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows), "utf-8")
    settings = (
        "corpus.name=null",
        f"corpus.train=[{tmp_path}/a.tsv]",
        f"corpus.validation=[{tmp_path}/a.tsv]",
        "tokenizer.normalization=clean_nfkc",
    )
    text = small_recipe(*settings)
    assert text.tokenizer.target_normalization == "nfc"
    for name, workers in (("one", 1), ("two", 2)):
        prepare(text, tmp_path / name, WorkerPool(workers), part_bytes=5_000)
    prepared = small_recipe(*settings, f"corpus.shards={tmp_path}/one")
    shards = read_corpus(prepared).train
    tokenizer, expected = shards.make_tokenizer(), read_corpus(text).train.make_tokenizer()
    assert tokenizer.proto == expected.proto
    assert tokenizer.target_proto == expected.target_proto
    sources, targets = shards.pairs(tokenizer, 256).read(np.arange(300), 0)
    for side, tokenize, written in (
        (sources, tokenizer, [f'"{a[1:-3]}" ½' for a, _ in rows]),
        (targets, tokenizer.of_targets(), [b for _, b in rows]),
    ):
        parts = np.split(side.ids, np.cumsum(side.lengths)[:-1])
        assert [tokenize.detokenize(ids.tolist()) for ids in parts] == written
    index = (tmp_path / "one/index.json").read_bytes()
    assert index == (tmp_path / "two/index.json").read_bytes()
    other = prepared.model_copy(
        update={"tokenizer": prepared.tokenizer.model_copy(update={"target_normalization": "nfkc"})}
    )
    with pytest.raises(ValueError, match=r"'target_normalization': 'nfc'.*'nfkc'.*Prepare"):
        read_corpus(other).train.make_tokenizer()


@pytest.mark.parametrize(
    ("names", "content", "message"),
    [
        ("a.tsv, b.tsv", "one\teins\ntwo\tzwei\n", r"a\.tsv: every line has a tab"),
        ("a.tsv", "1\tone\teins\n2\ttwo\tzwei\n", r"a\.tsv: .*first column has no letters"),
        ("a.tsv", '"one ""a"""\teins\ntwo\tzwei\n', r"a\.tsv: .*quotation marks"),
        ("a.tsv", "one\teins\rtwo\tzwei\r", r"a\.tsv: .*carriage returns"),
        ("a.tsv", "en\tde\none\teins\n", r"a\.tsv: .*'en' and 'de', is a heading"),
        ("a.en, a.de", "one\rtwo\r", r"a\.en: .*carriage returns"),
    ],
)
def test_files_that_are_not_as_they_should_be_are_not_prepared(names, content, message, tmp_path):
    files = [tmp_path / name for name in names.split(", ")]
    for file in files:
        file.write_text(content, "utf-8", newline="")
    setting = f"[{', '.join(map(str, files))}]"
    recipe = small_recipe(
        *("corpus.name=null", f"corpus.train={setting}", f"corpus.validation={setting}")
    )
    with pytest.raises(CorpusError, match=message):
        prepare(recipe, tmp_path / "out", WorkerPool(1))


def test_shards_of_another_tokenizer_are_refused(shards, tmp_path):
    recipe = small_recipe(f"corpus.shards={shards}", "tokenizer.vocabulary_size=150")
    with pytest.raises(ValueError, match=r"made from .*200.*the recipe says .*150.*Prepare"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sampling_needs_text(shards):
    with pytest.raises(RecipeError, match=r"sampling_alpha` needs text, which `corpus.shards`"):
        small_recipe(f"corpus.shards={shards}", "tokenizer.sampling_alpha=0.1")


def test_augmentation_needs_text(shards):
    with pytest.raises(RecipeError, match=r"augmentation` needs text, which `corpus.shards`"):
        small_recipe(f"corpus.shards={shards}", "augmentation.joined=0.5")


def test_what_needs_text_is_not_prepared(tmp_path):
    with pytest.raises(RecipeError, match="`augmentation` needs text, which prepared shards"):
        prepare(small_recipe("augmentation.joined=0.5"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_prepares_files(tmp_path):
    text = generate_demo_pairs(600, 0, "train")
    for name, side in (("a.en", text.sources), ("a.de", text.targets)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in side), "utf-8")
    files = f"[{tmp_path}/a.en, {tmp_path}/a.de]"
    settings = [
        *(setting for setting in SETTINGS if not setting.startswith("corpus.")),
        *(f"corpus.{field}=null" for field in ("name", "train_size", "validation_size")),
        f"corpus.train={files}",
        f"corpus.validation={files}",
    ]
    arguments = [part for setting in settings for part in ("--set", setting)]
    arguments = ["prepare", "demo", "--output", str(tmp_path / "out"), *arguments, "--workers", "2"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert f"600 pairs are in {tmp_path}/out." in result.stdout
    assert CliRunner().invoke(main, arguments).stdout == result.stdout
    other = CliRunner().invoke(main, [*arguments, "--set", "tokenizer.vocabulary_size=99"])
    assert other.exit_code == 1
    assert "holds a different job, which differs in: origin" in other.stderr
