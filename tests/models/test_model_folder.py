import json
import os
import shutil
import warnings

import h5py
import keras
import keras_hub
import numpy as np
import pytest
from huggingface_hub.errors import EntryNotFoundError

from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras_light.files import CHECKSUMS
from tests.number_words import number_words, train_tokenizer

ADDRESS = "hf://nobody/model"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A model folder of a model that has learned nothing. Tests must not change it."""
    tokenizer = train_tokenizer()
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 1, 2, 8, 12, max_sequence_length=70, dropout=0.0
    )
    preprocessor = TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8)
    folder = tmp_path_factory.mktemp("models") / "model"
    TransformerSeq2SeqLM(backbone, preprocessor).save_to_preset(folder)
    return folder


@pytest.fixture
def folder(written, tmp_path):
    """A copy without checksums, to be damaged by what would pass them."""
    shutil.copytree(written, tmp_path / "model")
    (tmp_path / "model" / CHECKSUMS).unlink()
    return tmp_path / "model"


def load(folder):
    return TransformerSeq2SeqLM.from_preset(str(folder))


def change_json(path, keys, value):
    """Sets one field, or deletes it."""
    content = json.loads(path.read_text("utf-8"))
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    if value is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    path.write_text(json.dumps(content), "utf-8")


def change_config(folder, name, value):
    """Sets a field of the backbone in both files that have it."""
    change_json(folder / "config.json", ["config", name], value)
    change_json(folder / "task.json", ["config", "backbone", "config", name], value)


@pytest.fixture
def hub_double(monkeypatch):
    """A double of the Hugging Face Hub: a function that says which folder it serves."""
    folders = []

    def download_double(handle, name):
        assert f"hf://{handle}" == ADDRESS
        path = folders[-1] / name
        if not path.exists():
            raise EntryNotFoundError(name)
        return str(path)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download_double)
    return folders.append


@pytest.mark.parametrize("is_on_hub", [False, True])
def test_a_backbone_s_files_are_checked_as_a_model_s_are(written, folder, hub_double, is_on_hub):
    def load_backbone(folder):
        hub_double(folder)
        return TransformerBackbone.from_preset(ADDRESS if is_on_hub else folder)

    expected = load(written).backbone.get_weights()
    for actual, array in zip(load_backbone(written).get_weights(), expected, strict=True):
        np.testing.assert_array_equal(actual, array)
    change_json(folder / "config.json", ["config", "intermediate_dim"], 2**20)
    with pytest.raises(ValueError, match=r"more than the .* bytes of model\.weights\.h5 can hold"):
        load_backbone(folder)
    shutil.copy(written / CHECKSUMS, folder)
    with pytest.raises(ValueError, match=r"config\.json is not what was written"):
        load_backbone(folder)
    for name in (CHECKSUMS, "model.weights.h5"):
        (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.weights\.h5"):
        load_backbone(folder)


def test_a_backbone_without_weights_needs_no_file_of_them(folder):
    (folder / "model.weights.h5").unlink()
    backbone = TransformerBackbone.from_preset(folder, load_weights=False, dropout=0.5)
    assert (backbone.hidden_dim, backbone.dropout) == (8, 0.5)


def test_a_model_on_the_hub_is_checked_too(written, folder, hub_double):
    hub_double(written)
    model = TransformerSeq2SeqLM.from_preset(ADDRESS)
    assert model.translate(["eins"])[0].text == load(written).translate(["eins"])[0].text
    hub_double(folder)
    change_config(folder, "num_layers", 900)
    with pytest.raises(ValueError, match=r"more than the .* bytes of model\.weights\.h5 can hold"):
        TransformerSeq2SeqLM.from_preset(ADDRESS)
    (folder / "task.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"task.json.* Or the hub cannot be reached"):
        TransformerSeq2SeqLM.from_preset(ADDRESS)


def test_what_was_written_is_loaded(written, folder):
    for each in (written, folder):
        assert load(each).translate(["eins zwei"])[0].text is not None


def test_half_weights_are_float32_again_when_loaded(written, tmp_path):
    whole = load(written)
    whole.save_to_preset(tmp_path / "half", weights="float16")
    half = load(tmp_path / "half")
    files = [folder / "model.weights.h5" for folder in (written, tmp_path / "half")]
    assert files[1].stat().st_size < files[0].stat().st_size
    for ours, theirs in zip(half.weights, whole.weights, strict=True):
        assert ours.dtype == "float32"
        expected = np.array(keras.ops.convert_to_numpy(theirs))
        if expected.ndim >= 2:
            expected = expected.astype("float16").astype("float32")
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(ours), expected)


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_a_model_in_mixed_precision_is_loaded_in_that_of_keras(written, tmp_path, dtype):
    mixed = TransformerSeq2SeqLM.from_preset(str(written), dtype=dtype)
    assert mixed.backbone.dtype_policy.name == dtype
    mixed.save_to_preset(tmp_path / "model")
    loaded = load(tmp_path / "model"), TransformerBackbone.from_preset(tmp_path / "model")
    for model in loaded:
        for ours, theirs in zip(model.weights, mixed.weights, strict=True):
            assert ours.dtype == theirs.dtype == "float32"
            np.testing.assert_array_equal(*map(keras.ops.convert_to_numpy, (ours, theirs)))
    assert [each.dtype_policy.name for each in (loaded[0].backbone, loaded[1])] == ["float32"] * 2
    keras.config.set_dtype_policy(dtype)
    try:
        assert load(tmp_path / "model").backbone.dtype_policy.name == dtype
    finally:
        keras.config.set_dtype_policy("float32")
    assert load(tmp_path / "model").translate("eins zwei").text is not None


def test_weights_of_another_format_are_refused(written, tmp_path):
    with pytest.raises(ValueError, match=r'`weights` must be "float32" or "float16"'):
        load(written).save_to_preset(tmp_path / "model", weights="int8")


@pytest.mark.parametrize(
    "name", ["config.json", "task.json", "preprocessor.json", "tokenizer.json"]
)
@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"3", b"{}", b"\xff\xfe", b"{" * 10**5])
def test_json_of_another_form_is_refused_by_its_name(folder, name, content):
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=name):
        load(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hidden_dim", 10**9, "`hidden_dim` must be at least 2 and at most"),
        ("max_sequence_length", 10**10, "`max_sequence_length` must be at least 1 and at most"),
        ("max_sequence_length", 2**20, "`hidden_dim` must be at most|asks for|can hold"),
        ("num_layers", -1, "`num_layers` must be at least 1"),
        ("num_layers", 900, "more than the .* bytes of model.weights.h5 can hold"),
        ("num_heads", "2", "`num_heads` must be an integer"),
        ("vocabulary_size", 10**7, "more than the .* bytes of model.weights.h5 can hold"),
        ("dropout", [], "`dropout` must be a number"),
        ("dropout", float("nan"), "`dropout` must be at least 0"),
        ("normalize_first", 1, "`normalize_first` must be True or False"),
        ("position_embedding", "none", "`position_embedding` must be"),
        ("activation", {"class_name": "Lambda"}, "`activation` must be a name"),
        ("activation", "os.system", "os.system"),
        ("layers", 3, "no argument `layers`. Did you mean `num_layers`"),
        ("key_dim", None, "field `config.key_dim` is missing"),
        ("hidden_dim", 16, "model.weights.h5 holds no weights of this model"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(folder, name, value, message):
    if (name, value) == ("max_sequence_length", 2**20):
        change_config(folder, "hidden_dim", 2**16)
    change_config(folder, name, value)
    with pytest.raises(ValueError, match=message.replace(".w", r"\.w")):
        load(folder)


def test_layers_that_the_model_has_not_are_not_left_out_in_silence(tmp_path):
    sizes = {"num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}
    deep = TransformerBackbone(19, num_encoder_layers=1, num_decoder_layers=2, **sizes)
    deep.save_to_preset(tmp_path)
    with pytest.raises(
        ValueError, match=r"holds a deeper model \(blocks and final normalizations: 1 more\)"
    ):
        TransformerBackbone.from_preset(tmp_path, num_layers=1)
    cut = TransformerBackbone.from_preset(tmp_path, num_layers=1, load_weights=False)
    cut.load_weights(tmp_path / "model.weights.h5", skip_mismatch=True)
    ours, theirs = (each.decoder_blocks[0].get_weights() for each in (cut, deep))
    for array, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(array, expected)


def save(model, path):
    """Writes weights as the file's name asks for: alone, in several files, or with the model."""
    if path.name.endswith(".keras"):
        model.save(path)
    else:
        model.save_weights(path, max_shard_size=1e-6 if path.name.endswith(".json") else None)


@pytest.mark.parametrize("name", ["deep.weights.h5", "deep.weights.json", "deep.keras"])
@pytest.mark.parametrize("part", [TransformerSeq2SeqLM, TransformerBackbone])
def test_a_file_of_a_deeper_models_weights_is_refused(tmp_path, part, name):
    sizes = {"num_heads": 2, "hidden_dim": 8, "intermediate_dim": 12}
    deep, flat, other = (TransformerBackbone(19, num_layers=depth, **sizes) for depth in (2, 1, 2))
    if part is TransformerSeq2SeqLM:
        deep, flat, other = map(TransformerSeq2SeqLM, (deep, flat, other))
    save(deep, tmp_path / name)
    with pytest.raises(ValueError, match=rf"{name} holds a deeper model .*: 2 more"):
        flat.load_weights(tmp_path / name)
    other.load_weights(tmp_path / name)
    for after, weights in zip(other.get_weights(), deep.get_weights(), strict=True):
        np.testing.assert_array_equal(after, weights)


@pytest.mark.parametrize("name", ["some.weights.json", "some.keras"])
def test_a_damaged_file_of_a_model_is_named(tmp_path, name):
    (tmp_path / name).write_text("{}")
    model = TransformerSeq2SeqLM(TransformerBackbone(19, 1, 2, 8, 12))
    with pytest.raises(ValueError, match=f"{name} holds no weights"):
        model.load_weights(tmp_path / name)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"dropout": 0.3}, r"`dropout` is an option of the backbone.* dropout=0\.3"),
        ({"num_beams": 2}, "has no argument `num_beams`"),
    ],
)
def test_arguments_that_keras_would_ignore_are_refused(written, argument, message):
    with pytest.raises(ValueError, match=f"model cannot be loaded: .*{message}"):
        TransformerSeq2SeqLM.from_preset(written, **argument)
    model = load(written)
    with pytest.raises(TypeError, match=message):
        TransformerSeq2SeqLM(model.backbone, model.preprocessor, **argument)


def test_a_model_is_loaded_with_a_backbone_of_other_options(written):
    backbone = TransformerBackbone.from_preset(written, dropout=0.3)
    model = TransformerSeq2SeqLM.from_preset(written, backbone=backbone, name="mine")
    assert (model.backbone.dropout, model.name) == (0.3, "mine")


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # h5py's
def test_layers_of_other_shapes_are_skipped_if_that_is_asked_for(folder):
    model = load(folder)
    config = {**model.backbone.get_config(), "vocabulary_size": 7}
    other = TransformerBackbone(**config)
    with pytest.warns(UserWarning, match="could not be loaded|Skipping"):
        other.load_weights(folder / "model.weights.h5", skip_mismatch=True)
    ours, theirs = (each.encoder_blocks[0].get_weights() for each in (other, model.backbone))
    for array, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("keys", "value", "field"),
    [
        (["class_name"], "Lambda", "class_name"),
        (["registered_name"], "keras>Lambda", "registered_name"),
        (["config", "preprocessor", "config", "encoder_sequence_length"], 0, "encoder_sequence"),
        (["config", "preprocessor", "config", "tokenizer", "config", "proto"], "/etc/passwd", "pr"),
        (["config", "more"], 1, "config.more"),
        (["config", "backbone", "config", "num_heads"], 4, "its backbone differs from config"),
    ],
)
def test_a_foreign_task_is_refused_by_its_field(folder, keys, value, field):
    change_json(folder / "task.json", keys, value)
    with pytest.raises(ValueError, match=rf"task\.json.*{field}"):
        load(folder)


def test_a_flipped_byte_is_seen_by_the_checksums(written, tmp_path):
    for name in ("model.weights.h5", "task.json", "assets/tokenizer/vocabulary.spm"):
        folder = tmp_path / name.replace("/", "_")
        shutil.copytree(written, folder)
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} is not what was written"):
            load(folder)


def test_weights_that_are_not_finite_are_refused(folder):
    with h5py.File(folder / "model.weights.h5", "r+") as file:
        file["layers/reversible_embedding/vars/0"][3, 1] = np.nan
    with pytest.raises(ValueError, match="numbers that are not finite"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n", b"x" * 100_000])
def test_what_is_no_file_of_weights_is_refused(folder, content):
    (folder / "model.weights.h5").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.weights\.h5"):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"\n", bytes(range(256)) * 12])
def test_what_is_no_vocabulary_is_refused(folder, content):
    (folder / "assets" / "tokenizer" / "vocabulary.spm").write_bytes(content)
    with pytest.raises(ValueError, match=r"vocabulary\.spm"):
        load(folder)


def test_the_tokenizer_of_another_model_is_refused(folder):
    other = TransformerTokenizer.train([b for pair in number_words(200, 1) for b in pair], 40)
    (folder / "assets" / "tokenizer" / "vocabulary.spm").write_bytes(other.proto)
    with pytest.raises(ValueError, match="The tokenizer has 40 tokens"):
        load(folder)


@pytest.mark.parametrize("name", ["config.json", "model.weights.h5", "task.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing"])
def test_only_regular_files_are_read(folder, name, kind):
    path = folder / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(OSError, match=name):
        load(folder)


def test_an_endless_vocabulary_is_not_read(folder):
    path = folder / "assets" / "tokenizer" / "vocabulary.spm"
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"vocabulary\.spm is not a regular file"):
        load(folder)


def test_a_training_that_is_not_finished_is_no_model_folder(folder):
    (folder / "checkpoints").mkdir()
    with pytest.raises(ValueError, match="its training is not finished"):
        load(folder)
    (folder / "evaluation.json").write_text("{}")
    load(folder)


def test_without_room_nothing_changes(folder, monkeypatch):
    model, before = load(folder), (folder / "task.json").read_bytes()
    full = shutil._ntuple_diskusage(10**6, 10**6, 0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OSError, match="No space left on device"):
        model.save_to_preset(folder)
    assert (folder / "task.json").read_bytes() == before
    assert not list(folder.glob(".writing-*"))


def test_a_link_in_the_place_of_a_folder_is_not_followed(written, tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "model").mkdir()
    (tmp_path / "model/task.json").write_text("before")
    (tmp_path / "model/assets").symlink_to(tmp_path / "victim")
    with pytest.raises(NotADirectoryError, match="assets is a link"):
        load(written).save_to_preset(tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["assets", "task.json"]
    assert (tmp_path / "model/task.json").read_text() == "before"
    assert list((tmp_path / "victim").iterdir()) == []


def test_a_model_without_text_has_a_folder_too(written, tmp_path):
    backbone = load(written).backbone
    TransformerSeq2SeqLM(backbone).save_to_preset(tmp_path / "ids")
    assert load(tmp_path / "ids").preprocessor is None


def test_keras_s_own_file_format_is_untouched(written, tmp_path):
    load(written).backbone.save(tmp_path / "model.keras")
    assert keras.saving.load_model(tmp_path / "model.keras").num_layers == 1


@pytest.mark.parametrize("content", [b"", b"no HDF5 " * 999, "half"], ids=["empty", "junk", "half"])
def test_a_damaged_file_of_weights_is_named_with_what_to_do(folder, content):
    path = folder / "model.weights.h5"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
    for read in (load, lambda folder: TransformerBackbone.from_preset(str(folder))):
        with pytest.raises(ValueError, match=r"model\.weights\.h5.*[Cc]opy (it|the folder) again"):
            read(folder)


@pytest.mark.parametrize("content", [b"", b"no HDF5", "whole"], ids=["empty", "junk", "whole"])
@pytest.mark.parametrize("loader", [TransformerSeq2SeqLM, keras_hub.models.Seq2SeqLM])
def test_weights_of_a_task_are_named_as_a_file_too_many(folder, content, loader):
    path = folder / "task.weights.h5"
    path.write_bytes((folder / "model.weights.h5").read_bytes() if content == "whole" else content)
    with pytest.raises(
        ValueError, match=r"task\.weights\.h5.*weights are all in.*Delete it"
    ) as info:
        loader.from_preset(str(folder))
    assert str(path) in str(info.value)


# === Quantized models ===


@pytest.fixture(scope="module")
def quantized(written, tmp_path_factory):
    """A model folder with weights of 8 bits. Tests must not change it."""
    folder = tmp_path_factory.mktemp("quantized") / "model"
    model = load(written)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Layer .* does not have a `quantize` method implemented")
        model.quantize("int8")
    model.save_to_preset(folder)
    return folder


@pytest.mark.parametrize("dtype", ["bfloat16", keras.DTypePolicy("mixed_bfloat16")])
def test_a_quantized_model_is_loaded_in_its_own_numbers_alone(quantized, dtype):
    with pytest.raises(
        ValueError, match=r"`dtype` must be left out .*model.* is quantized"
    ) as info:
        TransformerSeq2SeqLM.from_preset(str(quantized), dtype=dtype)
    assert "keeps its own numbers" in str(info.value)
    assert "bfloat16" in str(info.value)


def test_a_map_of_policies_that_are_not_quantized_gives_way_to_another(folder):
    policies = keras.dtype_policies.DTypePolicyMap("float32", {"token_embedding": "float32"})
    for name, place in (("config.json", []), ("task.json", ["config", "backbone"])):
        serialized = keras.dtype_policies.serialize(policies)
        change_json(folder / name, [*place, "config", "dtype"], serialized)
    assert TransformerSeq2SeqLM.from_preset(str(folder), dtype="bfloat16").dtype == "bfloat16"


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["float32", "float16"])
def test_a_quantized_model_that_was_loaded_is_saved_as_it_is(quantized, tmp_path, weights):
    load(quantized).save_to_preset(tmp_path, weights=weights)
    one, other = load(quantized), load(tmp_path)
    assert any(weight.dtype == "int8" for weight in one.weights)
    for weight, expected in zip(other.weights, one.weights, strict=True):
        assert weight.dtype == expected.dtype
        np.testing.assert_array_equal(weight, expected)
