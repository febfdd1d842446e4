"""Models exported to Hugging Face's Marian, run by transformers and compared with the models."""

import contextlib
import functools
import importlib.util
import io
import json
import re
from pathlib import Path

import keras
import numpy as np
import pytest
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from aiayn_keras.convert import convert_marian
from aiayn_keras.convert.tokenizers import reorder
from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.export import export_hf_marian
from aiayn_keras.models import TransformerSeq2SeqLM, TransformerTokenizer
from tests.export.random_model import build_hasty_model, build_random_model
from tests.helpers import D, assert_close
from tests.number_words import number_words, train_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:.*sacremoses:UserWarning")

DEMO = Path(__file__).parents[2] / "saved_models" / "demo_en_de_keras"
MAX_PIECES = 40
VARIANTS = {
    "paper": {},
    "attention_bias": {"attention_bias": True, "logits_bias": True},
    "epsilon_of_marian": {"layer_norm_epsilon": 1e-5},
    "swish": {"activation": "swish", "num_decoder_layers": 1},
    "gelu": {"activation": "gelu", "num_encoder_layers": 1},
    "mixed_bfloat16": {"dtype": "mixed_bfloat16"},
}


@pytest.fixture(scope="module")
def model():
    """A trained model. Tests must not change it."""
    return TransformerSeq2SeqLM.from_preset(DEMO)


@pytest.fixture(scope="module")
def pairs():
    """Pairs of texts that the model has not seen."""
    texts = generate_demo_pairs(12, seed=5, split="test")
    return list(zip(texts.sources, texts.targets, strict=True))


@pytest.fixture(scope="module")
def translations(model, pairs):
    """Function that gives our translations with a number of beams, each found once."""
    texts = [source for source, _ in pairs]

    @functools.cache
    def translate(num_beams):
        found = model.translate(texts, num_beams, 0.0, max_length=MAX_PIECES)
        return [translation.text for translation in found]

    return translate


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer()


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return model.export(tmp_path_factory.mktemp("hf") / "toy", format="hf_marian")


@pytest.fixture(scope="module")
def theirs(exported):
    return transformers.MarianMTModel.from_pretrained(exported).eval()


@pytest.fixture(scope="module")
def their_tokenizer(exported):
    return transformers.AutoTokenizer.from_pretrained(exported)


@pytest.fixture
def random_model(tokenizer, seed):
    """Function that makes an untrained model in which no weight is 0 or 1."""

    def build(tokenizer=tokenizer, **options):
        return build_random_model(tokenizer, seed, **options)

    return build


def test_settings_of_the_search_are_those_of_the_model(random_model, tmp_path):
    model = random_model()
    for place, (defaults, wanted) in enumerate(
        [
            ({}, (4, 0.0, 0)),
            ({"num_beams": 6, "length_penalty": 1.0, "length_penalty_offset": 0}, (6, 1.0, 0)),
            ({"num_beams": 2, "length_penalty": 0.8}, (2, 0.0, 0)),  # GNMT's is not theirs
            ({"no_repeat_ngram_size": 3}, (4, 0.0, 3)),
        ]
    ):
        model.search_defaults = defaults
        folder = export_hf_marian(model, tmp_path / str(place))
        settings = json.loads((folder / "generation_config.json").read_text())
        size = settings.get("no_repeat_ngram_size", 0)
        assert (settings["num_beams"], settings["length_penalty"], size) == wanted
        readme = (folder / "README.md").read_text()
        assert f"`num_beams={wanted[0]}, length_penalty={wanted[1]}" in readme


def random_inputs(model):
    """Ids of sources with their mask, some of it padding, and of targets."""
    random = np.random.default_rng(2)
    sources, targets = random.integers(4, model.backbone.vocabulary_size, (2, 3, 7))
    targets[:, 0] = 2
    mask = np.ones_like(sources)
    sources[1, 4:], mask[1, 4:] = 0, 0
    return sources, mask, targets


def our_logits(model):
    sources, mask, targets = random_inputs(model)
    inputs = {
        "encoder_token_ids": sources,
        "encoder_padding_mask": mask,
        "decoder_token_ids": targets,
        "decoder_padding_mask": np.ones_like(targets),
    }
    return keras.ops.convert_to_numpy(keras.ops.cast(model(inputs), "float32"))


def assert_same_logits(model, theirs, atol=1e-4):
    with torch.no_grad():
        expected = theirs(*map(torch.tensor, random_inputs(model))).logits.numpy()
    assert_close(our_logits(model), expected, 0, atol)


def load(folder):
    return transformers.MarianMTModel.from_pretrained(folder).eval()


def generate(theirs, their_tokenizer, texts, **options):
    with torch.no_grad():
        return theirs.generate(
            **their_tokenizer(texts, return_tensors="pt", padding=True),
            max_length=MAX_PIECES + 2,
            **options,
        )


# === The same function ===


def test_logits_of_the_trained_model_are_equal(model, theirs):
    assert_same_logits(model, theirs)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_logits_of_every_supported_model_are_equal(random_model, options, tmp_path):
    model = random_model(**options)
    theirs = load(export_hf_marian(model, tmp_path / "random"))
    if "dtype" in options:  # theirs computes in float32
        in_float32 = random_model()
        in_float32.set_weights(model.get_weights())
        model = in_float32
    assert_same_logits(model, theirs)


def test_a_smaller_epsilon_is_met_by_larger_numbers(random_model, tmp_path):
    """All but the first normalizations: where the variance is small, 1e-5 changes the result."""
    model = random_model(layer_norm_epsilon=1e-7)
    for block in (*model.backbone.encoder_blocks, *model.backbone.decoder_blocks):
        for layer in block._flatten_layers():
            if isinstance(layer, keras.layers.LayerNormalization):
                layer.gamma.assign(layer.gamma * 1e-3)
                layer.beta.assign(layer.beta * 1e-3)
            elif isinstance(layer, keras.layers.Dense) and layer.units == D:
                layer.kernel.assign(layer.kernel * 1e-2)
    model.backbone.decoder_blocks[-1].feed_forward_add_norm.layer_norm.gamma.assign([1.0] * D)
    theirs = load(export_hf_marian(model, tmp_path / "random"))
    assert_same_logits(model, theirs, 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("interleaved", [True, False])
def test_a_given_table_may_have_sines_and_cosines_in_either_order(
    random_model, interleaved, tmp_path
):
    plain, model = random_model(), random_model(position_embedding="given")
    table = plain.backbone.encoder_embedding.table
    if not interleaved:
        table = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)
    for embedding in (model.backbone.encoder_embedding, model.backbone.decoder_embedding):
        embedding.table.assign(table)
    theirs = load(export_hf_marian(model, tmp_path / "random"))
    assert_same_logits(model, theirs)


@pytest.mark.slow
def test_lora_is_merged(random_model, tmp_path):
    model = random_model()
    model.backbone.enable_lora(2)
    for weight in model.backbone.trainable_weights:
        weight.assign(weight + 0.1)
    theirs = load(export_hf_marian(model, tmp_path / "lora"))
    assert_same_logits(model, theirs, 2e-4)


@pytest.mark.slow
def test_converted_again_it_is_the_same_model(model, exported):
    again = convert_marian(exported)
    assert_close(our_logits(again), our_logits(model), 0, 1e-4)
    ours, theirs = (each.preprocessor.tokenizer for each in (model, again))
    assert theirs.get_vocabulary() == ours.get_vocabulary()


# === Tokens ===


def test_texts_become_the_same_tokens(model, their_tokenizer, pairs):
    ours = model.preprocessor.tokenizer
    texts = [
        *(text for pair in pairs for text in pair),
        "",
        "The ☃ is happy.",
        "  The\tgirl is happy. ",
    ]
    assert their_tokenizer(texts)["input_ids"] == [[*ids, 3] for ids in ours(texts)]
    ids = their_tokenizer(text_target=texts)["input_ids"]
    assert ids == [[*ids, 3] for ids in ours(texts)]
    known = texts[: 2 * len(pairs)]
    ids = their_tokenizer(known)["input_ids"]
    decoded = their_tokenizer.batch_decode([[2, *row] for row in ids], skip_special_tokens=True)
    assert decoded == known == ours.detokenize(ours(known))


def test_translations_may_have_pieces_of_their_own(random_model, tmp_path):
    import sentencepiece.sentencepiece_model_pb2 as schema

    pairs = number_words(12, seed=4)
    source = TransformerTokenizer.train([text for pair in pairs for text in pair], 40)
    target = schema.ModelProto.FromString(source.proto)
    for piece in target.pieces[4:]:  # of which no translation has one of the source's names
        piece.piece = piece.piece.upper()
    tokenizer = TransformerTokenizer(source.proto, target.SerializeToString())
    export_hf_marian(random_model(tokenizer), tmp_path / "two")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "two")
    sources, targets = (list(texts) for texts in zip(*pairs, strict=True))
    targets = [text.upper() for text in targets]
    assert theirs(sources)["input_ids"] == [[*ids, 3] for ids in tokenizer(sources)]
    expected = [[*ids, 3] for ids in tokenizer.of_targets()(targets)]
    assert theirs(text_target=targets)["input_ids"] == expected
    assert theirs.batch_decode(expected, skip_special_tokens=True) == targets
    again = convert_marian(tmp_path / "two").preprocessor.tokenizer
    assert again(sources) == tokenizer(sources)
    assert again.of_targets()(targets) == tokenizer.of_targets()(targets)
    assert again.of_targets().detokenize(tokenizer.of_targets()(targets)) == targets


# === The same translations ===


@pytest.mark.parametrize("num_beams", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_translations_are_equal(theirs, their_tokenizer, pairs, translations, num_beams):
    texts = [source for source, _ in pairs]
    found = generate(theirs, their_tokenizer, texts, num_beams=num_beams)
    actual = their_tokenizer.batch_decode(found, skip_special_tokens=True)
    assert actual == translations(num_beams)


@pytest.mark.slow
def test_with_their_length_penalty_the_n_best_and_their_scores_are_equal(
    model, theirs, their_tokenizer, pairs
):
    texts = [source for source, _ in pairs]
    found = generate(
        theirs,
        their_tokenizer,
        texts,
        length_penalty=1.0,
        early_stopping="never",
        num_return_sequences=4,
        output_scores=True,
        return_dict_in_generate=True,
    )
    ours = model.translate(
        texts,
        4,
        1.0,
        length_penalty_offset=0,
        num_return_sequences=4,
        max_length=MAX_PIECES,
    )
    expected = [hypothesis for translation in ours for hypothesis in translation.hypotheses]
    actual = their_tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    ended = [i for i, ids in enumerate(found.sequences.tolist()) if 3 in ids]
    assert [actual[i] for i in ended] == [expected[i].text for i in ended]
    scores = [expected[i].normalized_score for i in ended]
    assert_close(found.sequences_scores[ended], scores, 1e-4, 1e-4)
    assert len(ended) > 40


@pytest.mark.slow
def test_tokens_that_our_search_never_writes_are_not_written(random_model, tmp_path):
    model = random_model(logits_bias=True)
    model.backbone.token_embedding.logits_bias.assign_add([99.0] * 3 + [-99.0] + [0.0] * 92)
    theirs = load(export_hf_marian(model, tmp_path / "random"))
    for num_beams in (1, 3):
        ids = theirs.generate(torch.tensor([[4, 5, 3]]), num_beams=num_beams, max_length=9)
        assert ids.shape == (1, 9)
        assert ids[0, 1:].min() > 3


def test_a_text_is_never_translated_to_nothing(tokenizer, seed, tmp_path):
    model = build_hasty_model(tokenizer, seed)
    theirs = load(export_hf_marian(model, tmp_path / "hasty"))
    for num_beams in (1, 3):
        ids = theirs.generate(torch.tensor([[4, 5, 3]]), num_beams=num_beams)[0].tolist()
        assert len(ids) == 3
        assert ids[1] > 3
        assert ids[2] == 3


def test_the_readme_runs_the_model(exported, pairs, translations, monkeypatch):
    readme = (exported / "README.md").read_text("utf-8")
    assert readme.startswith("---\ntags:\n- translation\n- marian\n---\n\n# toy\n")
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(code.splitlines()) <= 10
    monkeypatch.chdir(exported)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(code.replace("Good morning.", pairs[0][0]), {})
    assert output.getvalue() == f"{translations(4)[:1]}\n"


def test_files_and_their_license(random_model, tmp_path):
    folder = random_model().export(tmp_path / "hf", "hf_marian", license="cc-by-4.0")
    assert {path.name for path in folder.iterdir()} == {
        *("config.json", "generation_config.json", "model.safetensors", "README.md"),
        *("vocab.json", "source.spm", "target.spm", "tokenizer_config.json"),
    }
    assert 'license: "cc-by-4.0"\n---\n' in (folder / "README.md").read_text("utf-8")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert (config["decoder_start_token_id"], config["pad_token_id"]) == (2, 0)


# === Refusals ===


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalize_first": True}, "`normalize_first` must be False. Received: .*=True"),
        ({"key_dim": 5}, "`key_dim` must be 4. Received: key_dim=5"),
        ({"value_dim": 7}, "`value_dim` must be 4. Received: value_dim=7"),
        ({"activation": "tanh"}, "must be one of relu, silu, gelu. Received: activation='tanh'"),
        ({"tie_weights": False}, "`tie_weights` must be True. Received: tie_weights=False"),
        ({"layer_norm_epsilon": 1e-3}, "from 1e-12 to 1e-05. Received: .*=0.001"),
        ({"layer_norm_epsilon": 0.0}, "from 1e-12 to 1e-05. Received: .*=0.0"),
        ({"position_embedding": "learned"}, "sinusoids for positions. Received: .*'learned'"),
        ({"position_embedding": "given"}, "'given', a table of other numbers"),
    ],
)
def test_what_marian_has_not_got_is_refused_by_name(random_model, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        export_hf_marian(random_model(**options), tmp_path / "models" / "random")
    assert list(tmp_path.iterdir()) == []


def test_sources_without_an_end_are_refused(random_model, tokenizer, tmp_path):
    endless = TransformerTokenizer(tokenizer.proto, source_end=False)
    with pytest.raises(ValueError, match="`source_end` must be True"):
        export_hf_marian(random_model(endless), tmp_path / "random")
    assert list(tmp_path.iterdir()) == []


def test_two_tokens_of_one_name_there_are_refused(random_model, tokenizer, tmp_path):
    words = ["eins", ">>de<<", "▁>>de<<"]
    proto = reorder(ModelProto.FromString(tokenizer.proto), words, words)
    with pytest.raises(ValueError, match="tokens 5 and 6, '>>de<<' and '▁>>de<<'"):
        export_hf_marian(random_model(TransformerTokenizer(proto)), tmp_path / "random")
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_wordpieces_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="no `preprocessor`"):
        export_hf_marian(TransformerSeq2SeqLM(model.backbone), tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_overwritten(model, tmp_path):
    (tmp_path / "toy").mkdir()
    with pytest.raises(FileExistsError, match="toy exists already"):
        export_hf_marian(model, tmp_path / "toy")


def test_without_safetensors_the_error_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install 'aiayn-keras\\[interop\\]'"):
        export_hf_marian(model, tmp_path / "toy")
    assert list(tmp_path.iterdir()) == []
