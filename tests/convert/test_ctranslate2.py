"""CTranslate2 models made into ours, compared with the engine itself."""

import os
from pathlib import Path

import keras
import numpy as np
import pytest

from aiayn_keras.convert import convert_ctranslate2
from aiayn_keras.convert.ctranslate2_binary import read_model_bin
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
)
from tests.claims.engine_words import MAX_DIFFERENCE, compare, our_answers
from tests.convert.ctranslate2_models import (
    SOURCE_WORDS,
    TARGET_WORDS,
    random_spec,
    write_model_bin,
    write_spec,
)
from tests.helpers import assert_close, slow_but
from tests.models import conftest as toy
from tests.number_words import number_words

ctranslate2 = pytest.importorskip("ctranslate2")

tokenizer = toy.tokenizer

SHARED_WORDS = ["<pad>", "<unk>", "<s>", "</s>", "one", "two", "three", "four", "five"]
PAIRS = [
    ("ein zwei drei", "one two three four five six"),
    ("آ", "b"),
    ("b b niemals آ", "six one"),
    ("zwei ein", ""),
]
VARIANTS = {
    "pre-norm": {"num_layers": (1, 2)},
    "post-norm, swish": {"pre_norm": False, "activation": "SWISH", "num_layers": (2, 1)},
    "no biases, gelu": {"has_bias": False, "activation": "GELU", "num_layers": (6, 2)},
    "positions, unscaled, tanh": {"positions": 17, "scale": False, "activation": "Tanh"},
    "another scale, epsilon": {"scale": 2.5, "layer_norm_epsilon": 0.01},
    "start is end, sigmoid": {"decoder_start_token": "</s>", "activation": "Sigmoid"},
    "start is padding": {
        "source": SHARED_WORDS,
        "target": SHARED_WORDS,
        "is_tied": True,
        "decoder_start_token": "<pad>",
    },
    "starts from zeros": {"starts_from_zeros": True},
    "starts from zeros, no start token": {
        "starts_from_zeros": True,
        "decoder_start_token": "none",
        "pre_norm": False,
        "positions": 17,
    },
    "starts from zeros, shared matrix": {
        "starts_from_zeros": True,
        "source": SHARED_WORDS,
        "target": SHARED_WORDS,
        "is_tied": True,
    },
    "shared words": {"source": SHARED_WORDS, "target": SHARED_WORDS},
    "shared matrix": {"source": SHARED_WORDS, "target": SHARED_WORDS, "is_tied": True},
}


def engine_log_probs(folder, pairs):
    translator = ctranslate2.Translator(str(folder), intra_threads=1, compute_type="float32")
    sources, targets = ([text.split() for text in texts] for texts in zip(*pairs, strict=True))
    return [score.log_probs for score in translator.score_batch(sources, targets)]


def our_log_probs(model, pairs):
    """Log-probability of every target token, from logits, all pairs in one padded batch."""
    tokenizer = model.preprocessor.tokenizer
    end = tokenizer.end_token_id
    labels = [[*tokenizer.of_targets()(target), end] for _, target in pairs]
    sides = {
        "encoder": [[*tokenizer(source), *tokenizer.source_ids] for source, _ in pairs],
        "decoder": [[tokenizer.start_token_id, *row[:-1]] for row in labels],
    }
    inputs = {}
    for side, rows in sides.items():
        ids = np.zeros((len(rows), max(map(len, rows))), "int32")
        mask = np.zeros_like(ids)
        for i, row in enumerate(rows):
            ids[i, : len(row)], mask[i, : len(row)] = row, 1
        inputs |= {f"{side}_token_ids": ids, f"{side}_padding_mask": mask}
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(model(inputs)))
    return [log_probs[i, np.arange(len(row)), row] for i, row in enumerate(labels)]


def assert_same_log_probs(folder, model, pairs):
    ours = our_log_probs(model, pairs)
    for row, expected in zip(ours, engine_log_probs(folder, pairs), strict=True):
        assert_close(row, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    "options",
    slow_but(
        [
            *("pre-norm", "another scale, epsilon", "starts from zeros, no start token"),
            *("shared words", "shared matrix"),
        ],
        VARIANTS,
    ),
)
def test_every_kind_of_model_scores_as_the_engine_does(options, tmp_path):
    num_layers = options.get("num_layers", 1)
    folder = write_spec(random_spec(**{**options, "num_layers": num_layers}), tmp_path / "model")
    model, pairs = convert_ctranslate2(folder), PAIRS
    if isinstance(num_layers, tuple):
        backbone = model.backbone
        assert (backbone.num_encoder_layers, backbone.num_decoder_layers) == num_layers
    if "source" in options:
        pairs = [("one two never three", "five two"), ("two", "two two three"), ("one", "")]
    assert_same_log_probs(folder, model, pairs)


@pytest.mark.parametrize(
    "quantization", slow_but(["int8", "float16"], ["int8", "int16", "float16", "int8_float16"])
)
def test_quantized_weights_are_what_the_engine_reads(quantization, tmp_path):
    folder = write_spec(random_spec(num_layers=1, positions=17), tmp_path / "model", quantization)
    assert_same_log_probs(folder, convert_ctranslate2(folder), PAIRS)


@pytest.mark.slow
def test_bfloat16_weights_are_read(tmp_path):
    pytest.importorskip("torch")
    folder = write_spec(random_spec(), tmp_path / "model", "bfloat16")
    assert_same_log_probs(folder, convert_ctranslate2(folder), PAIRS)


def test_it_translates_as_the_engine_does(tmp_path):
    spec = random_spec(seed=3)
    for word, bias in (("<s>", -30), ("<unk>", -30), ("</s>", 3)):  # two are not written by ours
        spec.decoder.projection.bias[TARGET_WORDS.index(word)] = bias
    folder = write_spec(spec, tmp_path / "model")
    sources = [source for source, _ in PAIRS]
    answers = ctranslate2.Translator(str(folder), intra_threads=1).translate_batch(
        [source.split() for source in sources],
        beam_size=3,
        length_penalty=0,
        min_decoding_length=0,
        num_hypotheses=2,
        return_scores=True,
    )
    found = convert_ctranslate2(folder).translate(
        sources, num_beams=3, length_penalty=0.0, num_return_sequences=2, min_length=0
    )
    for answer, translation in zip(answers, found, strict=True):
        hypotheses = translation.hypotheses
        assert [" ".join(words) for words in answer.hypotheses] == [h.text for h in hypotheses]
        assert_close(answer.scores, [h.score for h in hypotheses], rtol=0, atol=1e-4)


@pytest.mark.slow
def test_a_word_of_both_vocabularies_is_the_source_s_or_the_target_s(tmp_path):
    model = convert_ctranslate2(write_spec(random_spec(), tmp_path / "model"))
    tokenizer = model.preprocessor.tokenizer
    assert tokenizer.vocabulary_size() == 4 + 5 + 7
    assert list(tokenizer("ein b drei one")) == [4, 8, 6, 1]
    assert list(tokenizer.of_targets()("one b ein")) == [9, 12, 1]
    assert tokenizer.of_targets().detokenize([9, 12]) == "one b"


def test_a_shared_tied_vocabulary_stays_one_matrix(tmp_path):
    spec = random_spec(source=SHARED_WORDS, target=SHARED_WORDS, is_tied=True, has_bias=False)
    backbone = convert_ctranslate2(write_spec(spec, tmp_path / "model")).backbone
    assert backbone.vocabulary_size == len(SHARED_WORDS)
    assert (backbone.tie_weights, backbone.logits_bias) == (True, False)


@pytest.fixture
def exported(tokenizer, seed, tmp_path):
    """Function that exports a model of ours with random weights."""

    def export(**options):
        backbone = TransformerBackbone(
            tokenizer.vocabulary_size(),
            num_layers=2,
            num_heads=3,
            hidden_dim=12,
            intermediate_dim=20,
            max_sequence_length=19,
            **options,
        )
        noise = np.random.default_rng(seed)
        for weight in backbone.weights:
            weight.assign(weight + noise.normal(0.0, 0.4, weight.shape))
        model = TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 9, 9))
        return model, model.export(tmp_path / "exported", format="ctranslate2")

    return export


@pytest.mark.parametrize(
    "options",
    [
        {},
        {
            "normalize_first": True,
            "attention_bias": True,
            "activation": "gelu",
            "num_decoder_layers": 1,
        },
        {"position_embedding": "learned", "tie_weights": False, "logits_bias": True},
    ],
)
def test_our_own_export_comes_back(exported, options):
    model, folder = exported(**options)
    back = convert_ctranslate2(folder)
    tokenizers = back.preprocessor.tokenizer, model.preprocessor.tokenizer
    assert tokenizers[0](["acht uhr"]) == tokenizers[1](["acht uhr"])
    ours = {weight.path: weight for weight in model.backbone.weights}
    assert len(back.backbone.weights) == len(ours)
    for weight in back.backbone.weights:
        assert_close(weight, ours[weight.path], rtol=0, atol=0)
    config, expected = back.backbone.get_config(), model.backbone.get_config()
    for name in ("activation", "layer_norm_epsilon", "max_sequence_length", "normalize_first"):
        assert config[name] == pytest.approx(expected[name])


def test_two_vocabularies_come_back_from_an_export(tmp_path):
    model = convert_ctranslate2(write_spec(random_spec(num_layers=1), tmp_path / "model"))
    back = convert_ctranslate2(model.export(tmp_path / "exported", format="ctranslate2"))
    for row, expected in zip(our_log_probs(back, PAIRS), our_log_probs(model, PAIRS), strict=True):
        assert_close(row, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("version", "revision"), [(2, 2), (3, 4), (5, 5)])
def test_older_files_are_read(version, revision, tmp_path):
    spec = random_spec(scale=True)
    folder = write_spec(spec, tmp_path / "model")
    variables = {
        name: value.numpy()
        for name, value in spec.variables().items()
        if not isinstance(value, str) and (version > 2 or value.numpy().ndim)
    }
    if version == 2:  # of eight heads, and no other way to say so
        variables["num_heads"] = np.int16(3)
    variables["with_source_eos"] = np.int8(1)
    write_model_bin(folder / "model.bin", variables, version, "TransformerSpec", revision)
    (folder / "config.json").unlink()
    assert_same_log_probs(folder, convert_ctranslate2(folder), PAIRS)


@pytest.mark.parametrize("start", ["</s>", "<blank>"])  # padding is Pegasus' start
def test_a_model_whose_callers_add_the_end_is_refused(start, tmp_path):
    folder = tmp_path / "model"
    write_spec(random_spec(add_source_eos=False, decoder_start_token=start), folder)
    with pytest.raises(ValueError, match=r"config\.json: models whose sources have no end"):
        convert_ctranslate2(folder)


@pytest.mark.slow
def test_a_model_that_starts_from_zeros_reads_an_end_whoever_adds_it(tmp_path):
    """CTranslate2's converter of Hugging Face's Marian leaves it to the caller."""
    options = {"decoder_start_token": "</s>", "starts_from_zeros": True}
    folder = write_spec(random_spec(add_source_eos=False, **options), tmp_path / "model")
    model = convert_ctranslate2(folder)
    assert model.preprocessor.tokenizer.source_end
    ended = [(f"{source} </s>", target) for source, target in PAIRS]
    for row, expected in zip(
        our_log_probs(model, PAIRS), engine_log_probs(folder, ended), strict=True
    ):
        assert_close(row, expected, rtol=0, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*sacremoses:UserWarning")
def test_a_marian_model_that_the_engine_has_converted_is_what_the_engine_runs(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    import sentencepiece

    from tests.convert.marian_models import write_marian_model

    (tmp_path / "marian").mkdir()
    write_marian_model(tmp_path / "marian", left_out=0)
    files = [f"{side}.spm" for side in ("source", "target")]
    converter = ctranslate2.converters.TransformersConverter(
        str(tmp_path / "marian"), copy_files=files
    )
    folder = converter.convert(str(tmp_path / "engine"))
    translator = ctranslate2.Translator(folder, intra_threads=1, compute_type="float32")
    split, split_target = (
        sentencepiece.SentencePieceProcessor(str(tmp_path / "engine" / name)) for name in files
    )
    model = convert_ctranslate2(folder)
    texts = list(map(list, zip(*number_words(20, seed=5), strict=True)))
    sources = [[*pieces, "</s>"] for pieces in split.encode(texts[0], out_type=str)]
    scores = translator.score_batch(sources, split_target.encode(texts[1], out_type=str))
    assert_close(model.score(*texts), [sum(each.log_probs) for each in scores], 1e-4, 1e-4)
    options = {"min_decoding_length": 0, "max_decoding_length": 9, "beam_size": 1}
    answers = translator.translate_batch(sources, **options, suppress_sequences=[["<unk>"]])
    found = model.translate(texts[0], 1, 0.0, max_length=9)
    for translation, answer in zip(found, answers, strict=True):  # ours makes them end
        assert list(translation.hypotheses[0].tokens[:8]) == answer.hypotheses[0][:8]


@pytest.fixture(scope="module")
def without_end(tmp_path_factory):
    """A folder of a model whose sources do not end, and ours."""
    folder = tmp_path_factory.mktemp("engine") / "model"
    write_spec(random_spec(add_source_eos=False), folder)
    return folder, convert_ctranslate2(folder)


@pytest.mark.slow
def test_sources_may_have_no_end_token(without_end):
    folder, model = without_end
    assert_same_log_probs(folder, model, PAIRS)
    sources, targets = zip(*PAIRS, strict=True)
    expected = [sum(row) for row in engine_log_probs(folder, PAIRS)]
    assert_close(model.score(list(sources), list(targets)), expected, 1e-4, 1e-4)


@pytest.mark.slow
def test_sources_without_end_stay_so_in_folders_and_batches(without_end, tmp_path):
    _, model = without_end
    sources, targets = map(list, zip(*PAIRS, strict=True))
    model.save_to_preset(tmp_path / "model")
    loaded = TransformerSeq2SeqLM.from_preset(tmp_path / "model")
    expected = model.translate([*sources, ""], 2, 0.0, max_length=9)
    assert loaded.translate([*sources, ""], 2, 0.0, max_length=9) == expected
    assert expected[-1].text == ""
    assert model.translate([sources[0].split()[0]], 1, 0.0, max_length=9)[0].score < 0
    assert [model.translate([text], 2, 0.0, max_length=9)[0].text for text in sources] == [
        each.text for each in expected[:-1]
    ]
    inputs, labels, _ = loaded.preprocessor({"encoder_text": sources, "decoder_text": targets})
    assert not (keras.ops.convert_to_numpy(inputs["encoder_token_ids"]) == 3).any()
    assert ((keras.ops.convert_to_numpy(labels) == 3).sum(axis=1) == 1).all()


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a TensorFlow graph")
def test_a_served_graph_ends_no_sources_either(without_end):
    import tensorflow as tf

    from aiayn_keras.export.served_translator import ServedText

    _, model = without_end
    tokenizer = model.preprocessor.tokenizer
    texts = [source for source, _ in PAIRS] + [""]
    served = ServedText(tokenizer, "truncate")
    batch = served.tokenize(tf.constant(texts), 9, "text")
    rows = [row[mask > 0].tolist() for row, mask in zip(
        batch.token_ids.numpy(), batch.padding_mask.numpy(), strict=True
    )]  # fmt: skip
    assert rows == tokenizer(texts)
    assert batch.has_words.numpy().tolist() == [bool(row) for row in rows]
    targets = served.tokenize(tf.constant(texts), 9, "text", is_target=True)
    assert (targets.token_ids.numpy() == 3).sum() == len(texts)
    ids, mask = served.limit_ids(batch.token_ids[:-1], 2)  # the last text is empty
    assert ids.shape[1] == 2
    assert (mask.numpy() == (ids.numpy() != 0)).all()


def test_an_unknown_token_that_the_vocabulary_lacks_is_the_last_one(tmp_path):
    folder = write_spec(random_spec(), tmp_path / "model")
    (folder / "source_vocabulary.json").unlink()
    (folder / "source_vocabulary.txt").write_text("\n".join(SOURCE_WORDS[:-1]) + "\n", "utf-8")
    assert SOURCE_WORDS[-1] == "<unk>"
    assert_same_log_probs(folder, convert_ctranslate2(folder), PAIRS)


def test_two_vocabularies_that_are_wordpieces_want_their_model(tmp_path):
    words = [word if word.startswith("<") else f"▁{word}" for word in SOURCE_WORDS]
    folder = write_spec(random_spec(source=words), tmp_path / "model")
    with pytest.raises(ValueError, match=r"wordpieces, such as '▁ein': put .*sentencepiece\.model"):
        convert_ctranslate2(folder)


@pytest.mark.slow
def test_a_sentencepiece_model_in_another_order_is_used(tokenizer, tmp_path):
    words = tokenizer.get_vocabulary()
    words = [*words[:3:-1], "</s>", "<unk>", "<s>"]
    left_out = words.pop(2)
    folder = write_spec(random_spec(source=words, target=words), tmp_path / "model")
    (folder / "sentencepiece.model").write_bytes(tokenizer.proto)
    model = convert_ctranslate2(folder)
    found = model.preprocessor.tokenizer
    pieces = tokenizer.get_vocabulary()
    text = "acht neun zehn uhr null"
    assert [found.id_to_token(i) for i in found(text)] == [pieces[i] for i in tokenizer(text)]
    row = found.token_to_id(left_out)
    embeddings = keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
    assert_close(embeddings[row], embeddings[1], rtol=0, atol=0)


# === A real model of somebody else, where it is at hand ===
REAL_MODEL = Path(os.environ.get("AIAYN_KERAS_DATA", "nowhere")) / "ctranslate2-aren"
needs_real_model = pytest.mark.skipif(
    not REAL_MODEL.is_dir(), reason="AIAYN_KERAS_DATA has no such model"
)


@needs_real_model
def test_arabic_letters_become_latin_ones():
    texts, scores = our_answers(convert_ctranslate2(REAL_MODEL), [["آ", "ت", "ز", "م", "و", "ن"]])
    assert texts == ["a t z m o n"]
    assert scores[0] == pytest.approx(-1.0617, abs=1e-3)


@needs_real_model
def test_random_words_are_translated_as_by_the_engine():
    different, difference = compare(REAL_MODEL, num_words=20)
    assert different == []
    assert difference < MAX_DIFFERENCE


# === Sizes ===
def test_names_of_one_quantized_weight_share_its_numbers(tmp_path):
    weight = np.arange(-6, 6, dtype="int8").reshape(3, 4)
    variables = {"a/weight": weight, "a/weight_scale": np.float32([1, 2, 4])}
    aliases = [(f"b{n}/weight", "a/weight") for n in range(1000)]
    write_model_bin(tmp_path / "model.bin", variables, aliases=aliases)
    arrays = read_model_bin(tmp_path / "model.bin").variables
    assert len(arrays) == 1001
    assert_close(arrays["b7/weight"], weight / np.float32([[1], [2], [4]]), rtol=0, atol=0)
    assert all(array is arrays["a/weight"] for array in arrays.values())


def test_a_file_of_holes_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "model.bin"
    write_model_bin(path, {"a/weight": np.ones((9, 9), "float32")})
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match=r"model\.bin consists of holes: 1,099,511,627,776 bytes"):
        read_model_bin(path)


def test_weights_that_grow_beyond_all_measure_are_refused(tmp_path):
    """Each name has a scale of its own, so that none shares its numbers with others."""
    variables = {"a/weight": np.ones((100, 1000), "int8"), "a/weight_scale": np.float32(1)}
    variables |= {f"b{n}/weight_scale": np.float32(n + 1) for n in range(50)}
    aliases = [(f"b{n}/weight", "a/weight") for n in range(50)]
    write_model_bin(tmp_path / "model.bin", variables, aliases=aliases)
    with pytest.raises(ValueError, match=r"model.bin: its weights take more than .* 16 times"):
        read_model_bin(tmp_path / "model.bin")
