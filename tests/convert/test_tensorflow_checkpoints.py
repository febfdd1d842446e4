"""Checkpoints of OpenNMT-tf and tensor2tensor made into ours, compared with their formulas."""

import json
import shutil

import keras
import numpy as np
import pytest
from click.testing import CliRunner

from aiayn_keras.convert import convert_opennmt_tf, convert_tensor2tensor
from aiayn_keras.convert.tensor2tensor import read_vocabulary
from aiayn_keras.convert.tensor_files import find_checkpoint, read_checkpoint
from aiayn_keras.models import TransformerSeq2SeqLM, TransformerTokenizer
from aiayn_keras_cli import main
from tests.convert import tensorflow_models as toolkits
from tests.helpers import assert_close, slow_but
from tests.models import conftest as toy
from tests.number_words import number_words

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.usefixtures("read_here")

tokenizer = toy.tokenizer

OPENNMT_TF = {
    "separate, with source ends": {},
    "shared": {"sharing": "ALL", "layers": (6, 2)},
    "shared inputs, learned positions": {"sharing": "SOURCE_TARGET_INPUT", "positions": 9},
    "shared target, post-norm, no biases": {
        "layers": (1, 2),
        "sharing": "TARGET",
        "pre_norm": False,
        "mha_bias": False,
        "output_layer_bias": False,
    },
}
TENSOR2TENSOR = {
    "shared": {"num_hidden_layers": 2, "num_encoder_layers": 0, "num_decoder_layers": 0},
    "post-norm, padded": {"is_first": False, "vocab_divisor": 8, "layers": (1, 2)},
    "separate, other key width": {
        "is_shared": False,
        "attention_key_channels": 6,
        "layers": (6, 2),
        "num_hidden_layers": 6,
        "num_decoder_layers": 2,
    },
    "no target space": {"has_space": False},
}


def logits_of(model, source, target):
    """Our logits `(T, V)` of one pair of lists of our ids."""
    inputs = {}
    for side, ids in (("encoder", source), ("decoder", target)):
        inputs[f"{side}_token_ids"] = np.array([ids], "int32")
        inputs[f"{side}_padding_mask"] = np.ones((1, len(ids)), "int32")
    return keras.ops.convert_to_numpy(model(inputs))[0]


@pytest.mark.parametrize("options", slow_but(["shared"], OPENNMT_TF))
def test_logits_and_greedy_translations_are_opennmt_tf_s(options, tmp_path):
    theirs, source_end = toolkits.OpenNMTTF(**options), not options
    model = convert_opennmt_tf(*theirs.write(tmp_path), num_heads=3, source_end=source_end)
    tokenizer = model.preprocessor.tokenizer
    words = theirs.words[1]
    our_ids = [0, 2, 3, *(tokenizer.of_targets()([word])[0][0] for word in words), 1]
    source, target = "das ein gu￭ Haus tag", " ".join([words[1], words[0], words[3]])
    source_ids = theirs.ids(0, source) + [2] * source_end
    ours = logits_of(
        model,
        [*tokenizer(source), *[3] * source_end],
        [2, *tokenizer.of_targets()(target)],
    )
    expected = theirs.logits(source_ids, [1, *theirs.ids(1, target)])
    assert_close(ours[:, our_ids], expected, rtol=0, atol=1e-4)
    others = np.delete(np.exp(ours - ours.max()), our_ids, axis=1)
    assert others.max(initial=0) < 1e-30
    never = [0, 1, len(words) + 3]  # what our search does not write
    best = toolkits.greedy(lambda ids: theirs.logits(source_ids, ids), 1, 2, never, 8)
    translation = model.translate([source], num_beams=1, max_length=8)[0].text
    assert translation.split() == [words[i - 3] for i in best]
    # A search that nothing ends but its limit.
    assert model.record_search(source, (2,), (0.6,), extra_length=1).searches


def test_text_is_split_by_the_sentencepiece_model_beside_a_vocabulary(tokenizer, tmp_path):
    pieces = tokenizer.get_vocabulary()
    theirs = toolkits.OpenNMTTF(sharing="ALL", layers=(1, 1), source_words=pieces[:3:-1])
    arguments = theirs.write(tmp_path)
    with pytest.raises(ValueError, match=r"source\.vocab: its tokens are wordpieces"):
        convert_opennmt_tf(*arguments, num_heads=3)
    (tmp_path / "sentencepiece.model").write_bytes(tokenizer.proto)
    found = convert_opennmt_tf(*arguments, num_heads=3).preprocessor.tokenizer
    text = "acht neun zehn uhr null"
    assert [found.id_to_token(i) for i in found(text)] == [pieces[i] for i in tokenizer(text)]


def test_each_vocabulary_needs_the_sentencepiece_model_of_its_own_tokens(tmp_path):
    """Models of two languages share pieces, such as letters, and split texts differently."""
    pairs = number_words(300, seed=3)
    languages = [TransformerTokenizer.train(list(texts), 60) for texts in zip(*pairs, strict=True)]
    pieces = [language.get_vocabulary()[4:] for language in languages]
    assert {*pieces[0]} & {*pieces[1]}
    arguments = toolkits.OpenNMTTF(source_words=pieces[0], target_words=pieces[1]).write(tmp_path)
    for files, side in (([0], "translations"), ([1], "sources"), ([1, 0], "sources")):
        for name, language in zip(("", "target_"), files, strict=False):
            proto = languages[language].proto
            (tmp_path / f"{name}sentencepiece.model").write_bytes(proto)
        with pytest.raises(ValueError, match=rf"source\.vocab: the SentencePiece model of {side}"):
            convert_opennmt_tf(*arguments, num_heads=3)
    for name, language in zip(("", "target_"), languages, strict=True):
        (tmp_path / f"{name}sentencepiece.model").write_bytes(language.proto)
    found = convert_opennmt_tf(*arguments, num_heads=3).preprocessor.tokenizer
    for tokenizer, language, text in zip(
        (found, found.of_targets()), languages, pairs[0], strict=True
    ):
        ids = tokenizer(text)
        assert [tokenizer.id_to_token(i) for i in ids] == [
            language.id_to_token(i) for i in language(text)
        ]


@pytest.mark.parametrize("kind", [toolkits.OpenNMTTF, toolkits.Tensor2Tensor])
def test_a_checkpoint_without_the_layers_of_a_side_is_refused(kind, tmp_path):
    arguments = kind(layers=(0, 1)).write(tmp_path)
    with pytest.raises(ValueError, match=r"has no layer `.*encoder/layers?[/_]0`"):
        convert(kind, arguments)


@pytest.mark.parametrize("options", slow_but(["post-norm, padded"], TENSOR2TENSOR))
def test_logits_and_greedy_translations_are_tensor2tensor_s(options, tmp_path):
    theirs = toolkits.Tensor2Tensor(**options)
    model = convert_tensor2tensor(*theirs.write(tmp_path), target_space=0)
    tokenizer = model.preprocessor.tokenizer
    source, target = ["the_", "cat", "s_", ", _", "a"], ["cat", "the_", ", _"]
    texts = [" ".join(tokens).replace(", _", ",␠_") for tokens in (source, target)]
    words = [token.replace(" ", "␠") for token in theirs.tokens[1]]
    our_ids = [0, 3, *(tokenizer.of_targets()([word])[0][0] for word in words)]
    source_ids = [*theirs.ids(0, source), 1]
    ours = logits_of(model, [*tokenizer(texts[0]), 3], [2, *tokenizer.of_targets()(texts[1])])
    expected = theirs.logits(source_ids, theirs.ids(1, target))
    assert_close(ours[:, our_ids], expected[:, : len(our_ids)], rtol=0, atol=1e-4)
    others = np.delete(np.exp(ours - ours.max()), our_ids, axis=1)
    assert others.max(initial=0) < 1e-30
    never = [0, *range(len(our_ids), expected.shape[1])]
    best = toolkits.greedy(lambda ids: theirs.logits(source_ids, ids[1:]), 0, 1, never, 8)
    translation = model.translate(texts[:1], num_beams=1, max_length=8)[0].text
    assert translation.split() == [words[i - 2] for i in best]


def test_the_space_of_an_old_target_is_added_to_a_source(tmp_path):
    theirs = toolkits.Tensor2Tensor(layers=(1, 1))
    model = convert_tensor2tensor(*theirs.write(tmp_path), target_space=9)
    ours = logits_of(model, [*model.preprocessor.tokenizer("cat"), 3], [2])
    expected = theirs.logits([*theirs.ids(0, ["cat"]), 1], [], space=9)
    assert_close(ours[:, [0, 3]], expected[:, :2], rtol=0, atol=1e-4)


def test_plain_vocabularies_of_tensor2tensor_have_an_unknown_word(tmp_path):
    path = tmp_path / "vocab.bpe.32000"
    toolkits.write_lines(path, ["<pad>", "<EOS>", "gu@@", "'", "UNK"])
    vocabulary = read_vocabulary(path, 5, 1)
    assert vocabulary.tokens == ("<pad>", "<EOS>", "gu@@", "'", "UNK")
    assert (vocabulary.unknown, vocabulary.end, vocabulary.start) == (4, 1, None)


@pytest.mark.parametrize(
    ("theirs", "options"),
    [(toolkits.OpenNMTTF, ["--num-heads", "3"]), (toolkits.Tensor2Tensor, [])],
)
def test_the_command_converts_the_newest_checkpoint_of_a_folder(theirs, options, tmp_path):
    _, *paths = theirs(layers=(1, 1)).write(tmp_path)
    prefix = find_checkpoint(tmp_path)
    for file in tmp_path.glob(f"{prefix.name}.*"):
        shutil.copy(file, tmp_path / file.name.replace(prefix.name, "older"))
    (tmp_path / "checkpoint").write_text(f'model_checkpoint_path: "/elsewhere/{prefix.name}"\n')
    assert find_checkpoint(tmp_path) == find_checkpoint(f"{prefix}.index") == prefix
    arguments = [str(tmp_path), "--output", str(tmp_path / "out"), *options]
    for path in paths:
        arguments += ["--vocabulary", str(path)]
    result = CliRunner().invoke(main, ["convert", *arguments])
    assert result.exit_code == 0, result.output
    model = TransformerSeq2SeqLM.from_preset(str(tmp_path / "out"))
    assert model.backbone.num_layers == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--num-heads", "3"], "--target-space need --vocabulary"),
        (["--vocabulary", "source.vocab"], "give --num-heads"),
        (["--vocabulary", "source.vocab"] * 3, "at most twice"),
        (["--vocabulary", "source.vocab", "--dictionary", "source.vocab"], "is for fairseq"),
    ],
)
def test_the_command_says_which_options_go_together(options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    toolkits.OpenNMTTF(layers=(1, 1)).write(tmp_path)
    result = CliRunner().invoke(main, ["convert", "ckpt-70", "--output", "out", *options])
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pos": "emb"}, "`pos`.*Only the plain `transformer`"),
        ({"ffn_layer": "local_moe"}, "`ffn_layer`"),
        ({"self_attention_type": "dot_product_relative"}, "`self_attention_type`"),
        ({"layer_postprocess_sequence": "dan"}, "neither 'n' and 'da' nor"),
        ({"num_heads": 10**9}, "`num_heads`"),
        ({"num_hidden_layers": 2}, "has 1 layers of the encoder, but its settings state 2"),
        ({"num_decoder_layers": 3}, "has 1 layers of the decoder, but its settings state 3"),
        ({"num_heads": 5}, "q/kernel` has 12 columns, not a multiple of `num_heads`, 5"),
    ],
)
def test_another_model_of_tensor2tensor_is_refused_by_its_setting(change, message, tmp_path):
    theirs = toolkits.Tensor2Tensor(layers=(1, 1))
    arguments = theirs.write(tmp_path)
    (tmp_path / "hparams.json").write_text(json.dumps(theirs.hparams | change))
    with pytest.raises(ValueError, match=message):
        convert_tensor2tensor(*arguments)


def layer_of(kind):
    return {
        toolkits.OpenNMTTF: f"model/decoder/layers/0/ffn/layer/outer/bias{toolkits.SUFFIX}",
        toolkits.Tensor2Tensor: "transformer/body/decoder/layer_0/ffn/conv2/bias",
    }[kind]


def convert(kind, arguments):
    if kind is toolkits.OpenNMTTF:
        return convert_opennmt_tf(*arguments, num_heads=3)
    return convert_tensor2tensor(*arguments)


@pytest.mark.parametrize("kind", [toolkits.OpenNMTTF, toolkits.Tensor2Tensor])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name: {name: None}, "ffn/.*/bias` is missing"),
        (lambda name: {name: np.zeros(7, "float32")}, r"expected the shape \(12,\), got \(7,\)"),
        (lambda name: {name: np.zeros((7, 2), "float32")}, r"the shape \(7, 2\), expected 1 axes"),
        (lambda name: {name: np.full(12, np.nan, "float32")}, "numbers that are not finite"),
        (lambda name: {name: np.zeros(12, "int32")}, "holds no floating-point numbers"),
        (
            lambda name: {name.replace("0", "1", 1): np.zeros(12, "float32")},
            "/1/.*` is missing|layer_1/.*` is missing",
        ),
        (
            lambda name: {name.replace("bias", "other"): np.zeros(2, "float32")},
            "/other` does not belong to a Transformer",
        ),
    ],
)
def test_wrong_variables_are_refused_by_name(kind, change, message, tmp_path):
    theirs = kind(layers=(1, 1))
    changes = change(layer_of(kind))
    theirs.variables = {
        name: value for name, value in (theirs.variables | changes).items() if value is not None
    }
    arguments = theirs.write(tmp_path)
    with pytest.raises(ValueError, match=message):
        convert(kind, arguments)


@pytest.mark.parametrize(
    ("kind", "lines", "message"),
    [
        (toolkits.OpenNMTTF, ["das"], "begins with <blank>, <s>, </s>, this one with das"),
        (toolkits.OpenNMTTF, ["<blank>", "<s>", "</s>", "das"], "5 tokens, .* 10 rows"),
        (toolkits.OpenNMTTF, ["<blank>", "<s>", "</s>", "a", "a"], "line 5: 'a' is already line 4"),
        (toolkits.Tensor2Tensor, ["'<pad>'", "'<EOS>'", "'a_'"], "3 tokens, .* 10 rows"),
        (toolkits.Tensor2Tensor, ["'<pad>'", "'<EOS>'", "''"], "line 3: a token is empty"),
        (
            toolkits.Tensor2Tensor,
            ["'<pad>'", "'<EOS>'", "'a'", "'a'"],
            "line 4: 'a' is already line 3",
        ),
        (
            toolkits.Tensor2Tensor,
            ["'<pad>'", "'<EOS>'", "'␠_'"],
            "cannot be distinguished from one",
        ),
    ],
)
def test_wrong_vocabularies_are_refused(kind, lines, message, tmp_path):
    arguments = kind(layers=(1, 1)).write(tmp_path)
    toolkits.write_lines(arguments[1], lines)
    with pytest.raises(ValueError, match=rf"{arguments[1].name}.*{message}"):
        convert(kind, arguments)


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        (toolkits.OpenNMTTF, toolkits.Tensor2Tensor),
        (toolkits.Tensor2Tensor, toolkits.OpenNMTTF),
    ],
)
def test_a_checkpoint_of_the_other_toolkit_is_refused(kind, other, tmp_path):
    _, *paths = kind(layers=(1, 1)).write(tmp_path)
    prefix = tmp_path / "other"
    toolkits.write_checkpoint(prefix, other(layers=(1, 1)).variables)
    with pytest.raises(ValueError, match=r"it does not hold a (model|`transformer`) of"):
        convert(kind, [prefix, *paths])


def test_files_that_are_not_a_checkpoint_are_refused_in_one_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint of TensorFlow"):
        find_checkpoint(tmp_path)
    prefix, *paths = toolkits.OpenNMTTF(layers=(1, 1)).write(tmp_path)
    data = tmp_path / "ckpt-70.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"ckpt-70 cannot be read: `model/[a-z_/0-9]*.ATTR.*: "):
        convert_opennmt_tf(prefix, *paths, num_heads=3)
    (tmp_path / "ckpt-70.index").write_bytes(b"x" * 100)
    with pytest.raises(
        ValueError, match=r"ckpt-70 cannot be read: it is not a checkpoint, or is d"
    ):
        convert_opennmt_tf(prefix, *paths, num_heads=3)
    shutil.copy(tmp_path / "ckpt-70.index", tmp_path / "ckpt-71.index")
    with pytest.raises(ValueError, match=r"several checkpoints.*name one"):
        find_checkpoint(tmp_path)


def test_a_newest_checkpoint_that_is_missing_is_named(tmp_path):
    for name in ("ckpt-1.index", "ckpt-2.index"):
        (tmp_path / name).touch()
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-3"\n')
    with pytest.raises(FileNotFoundError, match=r"ckpt-3\.index is missing, .* such as .*ckpt-2"):
        find_checkpoint(tmp_path)


# === The reader ===
def name_of(i):
    return f"model/{i}{'x' * 400}"


def test_variables_of_all_formats_are_read_without_those_of_the_optimizer(tmp_path):
    random = np.random.default_rng(1)
    model = tf.Module()
    model.layers = []
    for number_format in ("float16", "bfloat16", "float32", "float64"):
        layer = tf.Module()
        layer.kernel = tf.Variable(tf.cast(random.standard_normal((3, 5, 2)), number_format))
        layer.scalar = tf.Variable(tf.cast(random.standard_normal(()), number_format))
        model.layers.append(layer)
    optimizer = tf.Module()
    optimizer.moment = tf.Variable([1.0])
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, steps=tf.Variable(7))
    expected = tf.train.load_checkpoint(checkpoint.save(str(tmp_path / "ckpt")))
    names, found = read_checkpoint(tmp_path / "ckpt-1", "model/.*")
    assert set(names) == set(expected.get_variable_to_shape_map())
    assert found.keys() == {name for name in names if name.startswith("model/")}
    assert len(found) == 8
    for name, array in found.items():
        assert array.dtype == "float32"
        np.testing.assert_array_equal(array, expected.get_tensor(name).astype("float32"))


def test_an_index_of_several_blocks_and_data_of_several_files_are_read(tmp_path):
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, start in zip(folders, (0, 700), strict=True):
        names = [name_of(i) for i in range(start, start + 700)]
        values = [np.float32([i]) for i in range(start, start + 700)]
        tf.raw_ops.SaveV2(
            prefix=str(folder), tensor_names=names, shape_and_slices=[""] * 700, tensors=values
        )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=[str(folder) for folder in folders],
        destination_prefix=str(tmp_path / "whole"),
    )
    _, found = read_checkpoint(tmp_path / "whole", "model/.*")
    assert len(list(tmp_path.glob("whole.data-*-of-00002"))) == 2
    assert (tmp_path / "whole.index").stat().st_size > 1 << 18  # the size of a block
    assert [found[name_of(i)].item() for i in range(1400)] == list(range(1400))
