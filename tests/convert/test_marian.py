import contextlib
import json
import os
import shutil

import keras
import numpy as np
import pytest
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras import TransformerSeq2SeqLM
from aiayn_keras.convert import convert_marian, tokenizers
from aiayn_keras.convert.weights import split_sinusoids
from aiayn_keras.export import export_hf_marian
from tests.helpers import assert_close
from tests.number_words import number_words

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:.*sacremoses:UserWarning")

SOURCES, TARGETS = (list(texts) for texts in zip(*number_words(25, seed=7), strict=True))
VARIANTS = {
    "en-mg": {"activation_function": "swish", "encoder_layers": 3},
    "tc-big": {
        "activation_function": "relu",
        "decoder_layers": 1,
        "end": 17,
        "left_out": 0,
        "seed": 7,
    },
}


@pytest.fixture(scope="module", params=VARIANTS)
def folder(request, tmp_path_factory):
    from tests.convert.marian_models import write_marian_model

    folder = tmp_path_factory.mktemp("marian")
    write_marian_model(folder, **VARIANTS[request.param])
    return folder


@pytest.fixture(scope="module")
def theirs(folder):
    return transformers.MarianMTModel.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def their_tokenizer(folder):
    return transformers.MarianTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def ours(folder):
    return convert_marian(folder)


def their_table(folder):
    return json.loads((folder / "vocab.json").read_text())


def as_their_ids(tokenizer, table, rows):
    """Our ids as theirs, a piece that they do not have as unknown."""
    special = {2: "<pad>"}
    names = ((special.get(i) or tokenizer.id_to_token(i) for i in row) for row in rows)
    return [[table.get(name.removeprefix("▁") if name.startswith("▁>>") else name, table["<unk>"])
             for name in row] for row in names]  # fmt: skip


def test_texts_are_split_into_the_same_tokens(folder, ours, their_tokenizer):
    table, tokenizer = their_table(folder), ours.preprocessor.tokenizer
    sources = [*SOURCES, "katze zwei", "", ">>deu<< drei vier"]
    expected = [ids[:-1] for ids in their_tokenizer(sources)["input_ids"]]
    assert as_their_ids(tokenizer, table, tokenizer(sources)) == expected
    assert any(table["<unk>"] in row for row in expected)
    assert table[">>deu<<"] in expected[-1]


def test_translations_are_split_by_a_model_of_their_own(folder, ours, their_tokenizer):
    table, tokenizer = their_table(folder), ours.preprocessor.tokenizer.of_targets()
    expected = [ids[:-1] for ids in their_tokenizer(text_target=TARGETS)["input_ids"]]
    actual = as_their_ids(tokenizer, table, tokenizer(TARGETS))
    known = [i for i, ids in enumerate(expected) if table["<unk>"] not in ids]
    assert [actual[i] for i in known] == [expected[i] for i in known]
    assert len(known) > 15
    texts = tokenizer.detokenize(tokenizer(TARGETS))
    assert [texts[i] for i in known] == [TARGETS[i] for i in known]


def test_each_stack_has_its_depth(ours, theirs):
    depths = theirs.config.encoder_layers, theirs.config.decoder_layers
    assert depths[0] != depths[1]
    assert (ours.backbone.num_encoder_layers, ours.backbone.num_decoder_layers) == depths


def test_logits_are_equal(folder, ours, theirs, their_tokenizer):
    table, tokenizer = their_table(folder), ours.preprocessor.tokenizer
    inputs, _, _ = ours.preprocessor({"encoder_text": SOURCES, "decoder_text": TARGETS})
    inputs = {name: keras.ops.convert_to_numpy(array)[:, :20] for name, array in inputs.items()}
    sources, targets = (
        np.array(as_their_ids(tokenizer, table, inputs[f"{side}_token_ids"]))
        for side in ("encoder", "decoder")
    )
    with torch.no_grad():
        expected = theirs(
            torch.tensor(sources),
            torch.tensor(inputs["encoder_padding_mask"]),
            torch.tensor(targets),
        ).logits.numpy()
    shared = [i for i in range(4, len(table)) if tokenizer.id_to_token(i) in table]
    ids = [table[tokenizer.id_to_token(i)] for i in shared]
    is_real = inputs["decoder_padding_mask"] > 0
    actual = keras.ops.convert_to_numpy(ours(inputs))[is_real]
    assert_close(actual[:, shared], expected[is_real][:, ids], 1e-4, 1e-4)
    assert_close(actual[:, 3], expected[is_real][:, table["</s>"]], 1e-4, 1e-4)
    others = [2, *range(len(table) + 1, actual.shape[1])]
    assert actual[:, others].max() < -80


@pytest.mark.parametrize("num_beams", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_hypotheses_are_equal(folder, ours, theirs, their_tokenizer, num_beams):
    table = their_table(folder)
    with torch.no_grad():
        found = theirs.generate(
            **their_tokenizer(SOURCES, return_tensors="pt", padding=True),
            num_beams=num_beams,
            length_penalty=0.0,
            max_length=21,  # the start token counts
            bad_words_ids=[[table["<pad>"]], [table["<unk>"]]],
        )
    expected = their_tokenizer.batch_decode(found, skip_special_tokens=True)
    translations = ours.translate(SOURCES, num_beams, 0.0, min_length=0, max_length=20)
    actual = [translation.text for translation in translations]
    # With several beams, hypotheses that do not end are ranked in other ways.
    ended = [i for i, ids in enumerate(found.tolist()) if table["</s>"] in ids or num_beams == 1]
    assert [actual[i] for i in ended] == [expected[i] for i in ended]
    assert len(ended) > 2
    assert num_beams > 1 or len(set(expected)) > 2


def test_exported_again_it_is_the_same_model(folder, ours, theirs, their_tokenizer, tmp_path):
    exported = export_hf_marian(ours, tmp_path / "again")
    again = transformers.MarianMTModel.from_pretrained(exported).eval()
    for name in ("encoder_layers", "decoder_layers", "num_hidden_layers"):
        assert getattr(again.config, name) == getattr(theirs.config, name)
    tokenizer = transformers.MarianTokenizer.from_pretrained(exported)
    table, our_table = their_table(folder), tokenizer.get_vocab()
    sources = [*SOURCES, ">>deu<< drei vier"]
    inputs, our_inputs = (
        tokenizer(sources, return_tensors="pt", padding=True)
        for tokenizer in (their_tokenizer, tokenizer)
    )
    shared = [name for name in table if name not in ("<pad>", "<s>")]
    ids, our_ids = ([each[name] for name in shared] for each in (table, our_table))
    targets = {"decoder_input_ids": torch.tensor([[table["<pad>"], *ids[:9]]] * len(sources))}
    our_targets = {"decoder_input_ids": torch.tensor([[2, *our_ids[:9]]] * len(sources))}
    with torch.no_grad():
        expected = theirs(**inputs, **targets).logits[:, :, ids]
        assert_close(again(**our_inputs, **our_targets).logits[:, :, our_ids], expected, 1e-4, 1e-4)
        options = {"length_penalty": 0.0, "max_length": 21, "num_beams": 4, "min_new_tokens": 1}
        never = [[table["<pad>"]], [table["<unk>"]]]
        found = theirs.generate(**inputs, **options, bad_words_ids=never)
        actual = tokenizer.batch_decode(
            again.generate(**our_inputs, **options), skip_special_tokens=True
        )
    expected = their_tokenizer.batch_decode(found, skip_special_tokens=True)
    assert actual == expected


def test_the_settings_of_the_search_are_those_of_the_folder(folder, copy):
    assert convert_marian(folder).search_defaults == _read_settings(folder)
    change(copy / "generation_config.json", "num_beams", 6)
    change(copy / "generation_config.json", "length_penalty", 1.5)
    wanted = {"num_beams": 6, "length_penalty": 1.5, "length_penalty_offset": 0}
    assert convert_marian(copy).search_defaults == wanted
    change(copy / "config.json", "num_beams", 3)  # as older models have it
    (copy / "generation_config.json").unlink()
    wanted = {"num_beams": 3, "length_penalty": 1.0, "length_penalty_offset": 0}
    assert convert_marian(copy).search_defaults == wanted
    change(copy / "config.json", "length_penalty", -1.0)
    with pytest.raises(ValueError, match=r"config\.json: `length_penalty` must be"):
        convert_marian(copy)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("decoder_start_token_id", 7, "`decoder_start_token_id` is 7, but"),
        ("eos_token_id", [0, 9], r"`eos_token_id` is \[0, 9\], but"),
        ("forced_bos_token_id", 7, "field `forced_bos_token_id`"),
    ],
)
def test_a_search_with_other_special_tokens_is_refused(copy, name, value, message):
    change(copy / "generation_config.json", name, value)
    with pytest.raises(ValueError, match=rf"generation_config\.json.*{message}"):
        convert_marian(copy)


def test_a_warning_names_the_settings_that_our_search_lacks(copy):
    path = copy / "generation_config.json"
    table = their_table(copy)
    never = [[table["<pad>"]], [table["<unk>"]]]
    for name, value in (("repetition_penalty", 1.0), ("bad_words_ids", never), ("max_length", 9)):
        change(path, name, value)
    convert_marian(copy)
    for name, value in (("repetition_penalty", 1.3), ("bad_words_ids", [*never, [7, 8]])):
        change(path, name, value)
    message = "generation_config.*lacks repetition_penalty, bad_words_ids,"
    with pytest.warns(UserWarning, match=message):
        convert_marian(copy)


def _read_settings(folder):
    settings = json.loads((folder / "generation_config.json").read_text())
    beams = {name: settings[name] for name in ("num_beams",) if settings.get(name) is not None}
    length_penalty = settings.get("length_penalty")
    length_penalty = 1.0 if length_penalty is None else length_penalty
    return {**beams, "length_penalty": length_penalty, "length_penalty_offset": 0}


def test_prefixes_are_pieces_of_translations(ours):
    tokenizer = ours.preprocessor.tokenizer.of_targets()
    prefix = next(text for text in TARGETS if tokenizer.unk_token_id not in tokenizer([text])[0])
    pieces = [tokenizer.id_to_token(i) for i in tokenizer([prefix])[0]]
    (translation,) = ours.translate(SOURCES[:1], 1, prefixes=[prefix])
    assert list(translation.tokens[: len(pieces)]) == pieces
    assert tokenizer([prefix]) != ours.preprocessor.tokenizer([prefix])


@pytest.mark.slow
def test_a_converted_model_is_saved_with_both_its_tokenizers(ours, tmp_path):
    ours.save_to_preset(tmp_path / "model")
    loaded = TransformerSeq2SeqLM.from_preset(tmp_path / "model")
    assert loaded.preprocessor.tokenizer.of_targets()(
        TARGETS
    ) == ours.preprocessor.tokenizer.of_targets()(TARGETS)
    assert loaded.translate(SOURCES) == ours.translate(SOURCES)
    assert_close(loaded.score(SOURCES, TARGETS), ours.score(SOURCES, TARGETS))


@pytest.mark.slow
def test_a_keras_file_holds_both_tokenizers(ours, tmp_path):
    ours.optimizer.build(ours.trainable_variables)
    ours.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    tokenizers = [model.preprocessor.tokenizer.of_targets() for model in (loaded, ours)]
    assert tokenizers[0](TARGETS) == tokenizers[1](TARGETS)
    assert_close(loaded.score(SOURCES, TARGETS), ours.score(SOURCES, TARGETS))


def test_labels_are_pieces_of_translations(ours):
    inputs, labels, _ = ours.preprocessor({"encoder_text": SOURCES, "decoder_text": TARGETS})
    target = ours.preprocessor.tokenizer.of_targets()
    for row, text in zip(keras.ops.convert_to_numpy(labels), TARGETS, strict=True):
        assert row[(row != 0) & (row != 3)].tolist() == target([text])[0]
    assert (keras.ops.convert_to_numpy(inputs["decoder_token_ids"])[:, 0] == 2).all()


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a TensorFlow graph")
def test_the_served_graph_splits_and_writes_texts_likewise(ours, tmp_path):
    import tensorflow as tf

    if ours.backbone.activation is keras.activations.relu:
        pytest.skip("one graph is enough")
    path = ours.export(tmp_path / "kit", num_beams=2, length_penalty=0.0)
    loaded = tf.saved_model.load(str(path))
    served = loaded.signatures["serving_default"](text=tf.constant(SOURCES))
    expected = ours.translate(SOURCES, 2, 0.0)
    assert [text.decode() for text in served["translation"].numpy()] == [x.text for x in expected]
    scores = loaded.signatures["score"](source=tf.constant(SOURCES), target=tf.constant(TARGETS))
    assert_close(scores["log_probability"], ours.score(SOURCES, TARGETS), 1e-4, 1e-4)


def test_shards_give_the_same_model(folder, theirs, ours, tmp_path):
    theirs.save_pretrained(tmp_path, max_shard_size="10KB")
    for name in ("source.spm", "target.spm", "vocab.json"):
        shutil.copy(folder / name, tmp_path)
    assert len(list(tmp_path.glob("model-*-of-*.safetensors"))) > 1
    model = convert_marian(tmp_path)
    for weight, expected in zip(model.backbone.weights, ours.backbone.weights, strict=True):
        assert_close(weight, expected, rtol=0, atol=0)


CONFIGURATIONS = {
    "model_type": ("bart", "field `model_type`"),
    "decoder_ffn_dim": (25, "`encoder_ffn_dim` is 24, but `decoder_ffn_dim` 25"),
    "decoder_layers": (3, "`model.decoder.layers.[12].self_attn.out_proj.weight` is missing"),
    "encoder_layers": (1, "`model.encoder.layers.1.* is not a tensor of the model"),
    "normalize_before": (True, "field `normalize_before`"),
    "scale_embedding": (False, "field `scale_embedding`"),
    "activation_function": ("tanh", "field `activation_function`"),
    "d_model": (10**12, "field `d_model`"),
    "decoder_vocab_size": (9, "two vocabularies"),
    "eos_token_id": (3, "`eos_token_id` is 3, but the token </s> of vocab.json has the number"),
    "pad_token_id": (3, "`pad_token_id` is 3, but the token <pad>"),
    "decoder_start_token_id": (4, "begin with token 4, not <pad> or <s>"),
    "vocab_size": (5, "two vocabularies"),
}


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy", copy_function=os.link)


def change(path, name, value):
    content = json.loads(path.read_text())
    content[name] = value
    path.unlink()
    path.write_text(json.dumps(content))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_other_architectures_are_refused_by_name(copy, name):
    value, message = CONFIGURATIONS[name]
    change(copy / "config.json", name, value)
    with pytest.raises(ValueError, match=message):
        convert_marian(copy)


TABLES = {
    "<pad>x": (5, "every number from 0"),  # twice
    "": (10**9, "every number from 0"),
    "</s>": ("0", "field `</s>`"),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_with_holes_are_refused(copy, name):
    value, message = TABLES[name]
    change(copy / "vocab.json", name, value)
    with pytest.raises(ValueError, match=message):
        convert_marian(copy)


@pytest.mark.parametrize(("factor", "is_known"), [(1, True), (2, False)])
def test_a_table_of_positions_must_hold_the_sinusoids(copy, factor, is_known):
    """Older versions of transformers write the table, and all of them read it."""
    from safetensors.numpy import load_file, save_file

    path = copy / "model.safetensors"
    tensors = load_file(path)
    table = split_sinusoids(40, tensors["model.shared.weight"].shape[1]).astype("float16")
    path.unlink()
    name = "model.decoder.embed_positions.weight"
    save_file(tensors | {name: factor * table}, path, {"format": "pt"})
    expected = contextlib.nullcontext()
    if not is_known:
        expected = pytest.raises(ValueError, match=f"`{name}` are not the sinusoids of 40 pos")
    with expected:
        convert_marian(copy)


def test_two_tokens_that_are_one_word_here_are_refused(copy):
    path = copy / "vocab.json"
    table = json.loads(path.read_text())
    some = next(piece for piece in table if piece.isalpha())
    table["▁>>eng<<"] = table.pop(some)
    path.unlink()
    path.write_text(json.dumps(table))
    with pytest.raises(ValueError, match=r"vocab\.json: the tokens .*>>eng<<.* are one word"):
        convert_marian(copy)


def test_a_number_that_has_another_token_in_translations_is_refused(copy):
    table = json.loads((copy / "vocab.json").read_text())
    names = {number: name for name, number in table.items()}
    end = table["</s>"]
    table["</s>"], table[names[end + 1]] = end + 1, end
    (copy / "target_vocab.json").write_text(json.dumps(table))
    change(copy / "tokenizer_config.json", "separate_vocabs", True)
    with pytest.raises(ValueError, match=r"target_vocab\.json: the token </s> has the number"):
        convert_marian(copy)


@pytest.mark.parametrize("is_separate", [True, False])
def test_the_table_of_translations_is_there_if_the_tokenizer_has_one(copy, is_separate):
    """Hugging Face reads `target_vocab.json` only with this setting."""
    change(copy / "tokenizer_config.json", "separate_vocabs", is_separate)
    if not is_separate:
        shutil.copy(copy / "vocab.json", copy / "target_vocab.json")
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: `separate_vocabs` is"):
        convert_marian(copy)


def test_bytes_that_the_table_lacks_are_unknown_in_translations(copy, ours):
    def add_bytes(model):
        model.trainer_spec.byte_fallback = True
        for byte in range(256):
            model.pieces.add(piece=f"<0x{byte:02X}>", type=model.SentencePiece.BYTE)

    change_sentencepiece(copy / "target.spm", add_bytes)
    found, expected = (
        model.preprocessor.tokenizer.of_targets() for model in (convert_marian(copy), ours)
    )
    assert found([*TARGETS, "☃"]) == expected([*TARGETS, "☃"])


def change_sentencepiece(path, make):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(path.read_bytes())
    make(model)
    path.unlink()
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_sentencepiece_model_of_another_table_is_refused(copy, side):
    def rename_most(model):
        for i, piece in enumerate(model.pieces[3:]):
            piece.piece += "q" * (i % 3 > 0)

    change_sentencepiece(copy / f"{side}.spm", rename_most)
    message = rf"{side}\.spm: \d+ of its \d+ pieces, such as .*, are not in the table"
    with pytest.raises(ValueError, match=message):
        convert_marian(copy)


def test_too_many_pieces_are_refused(copy, monkeypatch):
    monkeypatch.setattr(tokenizers, "MAX_TOKENS", 9)
    with pytest.raises(ValueError, match=r"source\.spm .* pieces, more than 9"):
        convert_marian(copy)


def test_a_broken_link_is_named(copy):
    (copy / "model.safetensors").unlink()
    (copy / "model.safetensors").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=r"There is no file .*model\.safetensors"):
        convert_marian(copy)


@pytest.mark.parametrize("name", ["source.spm", "vocab.json", "config.json", "model.safetensors"])
def test_a_file_that_is_missing_or_damaged_is_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(OSError, match=name):
        convert_marian(copy)
    (copy / name).write_bytes(b"\x00damaged")
    with pytest.raises(ValueError, match=name):
        convert_marian(copy)
