import keras
import pytest

from aiayn_keras.data import ParallelText
from aiayn_keras.models import TransformerSeq2SeqLM, TransformerTokenizer
from aiayn_keras.scale.preparation import prepare
from aiayn_keras.training import RecipeError, load_recipe, train
from aiayn_keras.training.building import build_model, read_initial, read_sizes
from aiayn_keras.training.training_data import check_known, tokenize_pairs
from tests.export.random_model import build_random_model
from tests.helpers import assert_close
from tests.training.fine_tuning import (
    RANK,
    SOURCES,
    TARGETS,
    load,
    recipe_from,
    write_initial,
)


@pytest.fixture(scope="module")
def initial(tmp_path_factory):
    return write_initial(tmp_path_factory.mktemp("models") / "initial")


@pytest.mark.parametrize("settings", [(), (f"model.lora_rank={RANK}",)], ids=["whole", "adapted"])
def test_a_training_begins_with_the_scores_of_the_initial_model(initial, settings):
    recipe, model = recipe_from(initial, *settings), load(initial)
    started = read_initial(recipe)
    begun = build_model(recipe, started.tokenizer, started)
    scores = TransformerSeq2SeqLM(begun.backbone, model.preprocessor).score(SOURCES, TARGETS)
    assert_close(scores, model.score(SOURCES, TARGETS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.preset=transformer_tiny"], "leave out `preset`=transformer_tiny: the sizes are"),
        (["tokenizer.vocabulary_size=150"], "leave out `tokenizer.vocabulary_size`: the tokeniz"),
        (["tokenizer.model_type=bpe"], "leave out `tokenizer.model_type`"),
        (["model.hidden_dim=32"], r"`model.hidden_dim`=32 contradicts `model.initial`: .* has 16"),
        (["model.activation=swish"], "`model.activation`=silu contradicts .* has relu"),
        (["model.lora_rank=0"], "`model.lora_rank`: .*greater than or equal to 1"),
        (["model.lora_rank=-4"], "`model.lora_rank`: .*greater than or equal to 1"),
        (["model.lora_rank=17"], "`model.lora_rank`=17 must be at most 16, the width of"),
        (["model.initial=null", "model.lora_rank=4"], "`lora_rank` needs `initial`"),
        (["model.initial=null"], "field `tokenizer` is missing"),
        (
            ["model.lora_rank=2", "tokenizer.byte_fallback=true"],
            "`model.lora_rank` cannot be combined with `tokenizer.byte_fallback`",
        ),
        (["corpus.shards=shards"], "leave out `corpus.shards`"),
        (
            [
                "model.lora_rank=2",
                "training.devices=model_parallel",
                "training.model_parallel_size=2",
            ],
            "`model.lora_rank` cannot be combined with `training.devices`=model_parallel",
        ),
    ],
)
def test_contradictions_are_named(initial, tmp_path, settings, message):
    with pytest.raises(RecipeError, match=message):
        train(recipe_from(initial, *settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_sizes_that_are_the_model_s_may_be_given(initial):
    recipe = recipe_from(
        initial, "model.hidden_dim=16", "model.activation=relu", "model.num_heads=2"
    )
    assert read_initial(recipe).model.backbone.hidden_dim == 16


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    return write_initial(tmp_path_factory.mktemp("models") / "deep", num_encoder_layers=2)


@pytest.mark.parametrize(
    "settings",
    [
        ("model.num_encoder_layers=2",),
        ("model.num_layers=1", "model.num_encoder_layers=2"),
        ("model.num_layers=2", "model.num_decoder_layers=1"),
    ],
)
def test_a_training_begins_with_stacks_of_different_depth(deep, settings):
    recipe = recipe_from(deep, *settings)
    started = read_initial(recipe)
    backbone = build_model(recipe, started.tokenizer, started).backbone
    assert (backbone.num_encoder_layers, backbone.num_decoder_layers) == (2, 1)
    for actual, expected in zip(backbone.weights, started.model.backbone.weights, strict=True):
        assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["model.num_layers=2"], r"`model.num_layers`=2 contradicts .* has 2\+1\. Leave"),
        (["model.num_layers=1"], r"`model.num_layers`=1 contradicts .* has 2\+1\. Leave"),
        (["model.num_decoder_layers=2"], r"`model.num_decoder_layers`=2 contradicts .* has 1\."),
        (
            ["model.num_encoder_layers=2", "model.num_layers=3"],
            r"`model.num_layers`=3 contradicts .* has 1\.",
        ),
    ],
)
def test_depths_that_are_not_the_model_s_are_refused(deep, settings, message):
    with pytest.raises(RecipeError, match=message):
        read_sizes(recipe_from(deep, *settings))


def test_a_folder_without_a_model_is_named(initial, tmp_path):
    (tmp_path / "file").touch()
    wrong = {"nowhere": "it does not exist", ".": "it has no task.json", "file": "it is a file"}
    for folder, reason in ((tmp_path / name, reason) for name, reason in wrong.items()):
        with pytest.raises(FileNotFoundError, match=f"`model.initial`: {folder} is .*{reason}"):
            train(recipe_from(initial, f"model.initial={folder}"), tmp_path / "run")


@pytest.mark.parametrize(
    "settings",
    [
        ("tokenizer.sampling_alpha=0.1", "model.lora_rank=2"),
        ("tokenizer.byte_fallback=true", "tokenizer.split_digits=true"),
        ("tokenizer.normalization=clean_nfkc", "tokenizer.target_normalization=nfc"),
    ],
)
def test_a_recipe_goes_on_as_it_is_written(initial, tmp_path, settings):
    recipe = recipe_from(initial, *settings)
    (tmp_path / "again.yaml").write_text(recipe.to_yaml())
    assert load_recipe(tmp_path / "again.yaml") == recipe


def test_identity_composes_what_a_changed_tokenizer_reads(initial):
    tokenizer = read_initial(recipe_from(initial, "tokenizer.normalization=identity")).tokenizer
    assert tokenizer.proto == load(initial).preprocessor.tokenizer.with_normalization("nfc").proto


@pytest.mark.parametrize("name", ["byte_fallback", "split_digits"])
def test_what_a_vocabulary_cannot_lose_is_refused(tmp_path, name):
    tokenizer = TransformerTokenizer.train(
        [*SOURCES, "0 1 2 3 4 5 6 7 8 9"], 310, byte_fallback=True, split_digits=True
    )
    build_random_model(tokenizer, seed=0).save_to_preset(tmp_path / "initial")
    recipe = recipe_from(tmp_path / "initial", f"tokenizer.{name}=false")
    with pytest.raises(ValueError, match=rf"`tokenizer\.{name}`: the vocabulary .* cannot lose"):
        read_initial(recipe)
    assert read_initial(recipe_from(tmp_path / "initial")).tokenizer.proto == tokenizer.proto


def test_text_of_another_script_is_refused_with_its_share(initial, tmp_path):
    path = tmp_path / "other.tsv"
    path.write_text("это книга\teine Frau\n" * 20, "utf-8")
    settings = [f"corpus.{split}=[{path}]" for split in ("train", "validation")]
    settings += [
        f"corpus.{name}=null" for name in ("name", "train_size", "validation_size", "test_size")
    ]
    with pytest.raises(
        ValueError, match=r"other\.tsv: \d+% of the source side's wordpieces are un"
    ):
        train(recipe_from(initial, *settings), tmp_path / "run")


def test_a_changed_tokenizer_reads_the_same_text_with_the_same_weights(initial):
    recipe = recipe_from(initial, "tokenizer.byte_fallback=true", "tokenizer.normalization=nfkc")
    model, started = load(initial), read_initial(recipe)
    assert started.tokenizer.vocabulary_size() == model.backbone.vocabulary_size + 256
    found = build_model(recipe, started.tokenizer, started)
    text = {"encoder_text": SOURCES, "decoder_text": TARGETS}
    inputs = model.preprocessor(text)[0]
    for side in ("encoder", "decoder"):
        outputs = (each.backbone(inputs)[f"{side}_sequence_output"] for each in (found, model))
        assert_close(*map(keras.ops.convert_to_numpy, outputs))
    old, new = (each.backbone.token_embedding.get_weights()[0] for each in (model, found))
    assert 0.5 < new[len(old) :].std() / old.std() < 2


def test_text_in_unknown_bytes_is_of_another_script(initial):
    tokenizer = read_initial(recipe_from(initial, "tokenizer.byte_fallback=true")).tokenizer
    with pytest.raises(ValueError, match=r"x: \d+% of the source side's wordpieces are un"):
        check_known("x", (tokenizer(["Владимир"]), [[5, 6]]), tokenizer)


def test_text_in_unknown_bytes_is_no_text_of_odd_lengths(initial):
    """The error said that no pair is within the limits of `batches`."""
    recipe = recipe_from(initial, "tokenizer.byte_fallback=true")
    text = ParallelText(["The girl is happy."], ["Девочка счастлива, и мальчик."], "x.tsv")
    with pytest.raises(ValueError, match=r"x\.tsv: \d+% of the target side's wordpieces are un"):
        tokenize_pairs(text, read_initial(recipe).tokenizer, recipe, 256)


def test_a_few_unknown_wordpieces_are_counted(initial, tmp_path, caplog):
    tokenizer = read_initial(recipe_from(initial)).tokenizer
    check_known("some.tsv", (tokenizer(["The girl is happy €."]), [[5, 6]]), tokenizer)
    assert "some.tsv: 1 wordpieces of the source side" in caplog.text
    assert "target" not in caplog.text


def test_shards_are_not_prepared_for_fine_tuning(initial, tmp_path):
    with pytest.raises(
        RecipeError, match=r"`model\.initial`: fine-tuning reads text, not prepared"
    ):
        prepare(recipe_from(initial), tmp_path / "shards")
