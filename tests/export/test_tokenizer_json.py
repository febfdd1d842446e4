"""`tokenizer.json` beside the SentencePiece model that it is made of."""

import io
from pathlib import Path

import numpy as np
import pytest

from aiayn_keras.convert.tokenizers import NUM_SPECIALS, build_word_model, reorder
from aiayn_keras.export.hugging_face_files import write_tokenizer_json, write_tokenizers
from aiayn_keras.models import TransformerTokenizer
from aiayn_keras.models.transformer_tokenizer import SPECIAL_PIECES

tokenizers = pytest.importorskip("tokenizers")
sentencepiece = pytest.importorskip("sentencepiece")
from sentencepiece import sentencepiece_model_pb2  # noqa: E402

ROOT = Path(__file__).parents[2]
SPANISH = ROOT / "saved_models/tatoeba_en_es_keras/assets/tokenizer/vocabulary.spm"
ODD = [
    "",
    " ",
    "  two  spaces  ",
    "tab\there",
    "no\u00a0break\u3000wide",
    "zero\u200bwidth soft\u00adhyphen",
    "ﬁne ①② Ⅷ ０１２",
    "e\u0301 é",
    "日本語 ☃☃ ☃",
    "aaaaaaaaaaaaa!!!!????....",
    "\ufeffx",
    "Hangul \u1100\u1161\u11a8 and ﬁ o\u0323\u0301 of a Mac's file names",
    "10⁶ m² 1½ 25 ºC « yes » in\u2009–\u2009out\x0bLego™ №",
    "Come in – it's cold -- he said—no. well-known 1990–1995 a— — b - “c” - d 10 - 3 4 – 9",
]


@pytest.fixture(scope="module")
def lines():
    """Real text: this project's pages and programs."""
    paths = sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "aiayn_keras").rglob("*.py"))
    found = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    return [line for line in dict.fromkeys(found) if "<" not in line][:3000] + ODD


def train(lines, normalization="nmt_nfkc"):
    return TransformerTokenizer.train(lines, 300, "unigram", normalization)


def read(proto, folder):
    write_tokenizer_json(folder / "tokenizer.json", proto)
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def pieces_of(proto):
    return sentencepiece.SentencePieceProcessor(model_proto=proto)


def assert_same(proto, tokenizer, lines):
    """Every line becomes the same ids, and those with nothing unknown the same text again."""
    pieces = pieces_of(proto)
    expected = pieces.encode(lines)
    found = [each.ids for each in tokenizer.encode_batch(lines)]
    others = [pair for pair in zip(found, expected, strict=True) if pair[0] != [*pair[1], 3]]
    for ids, expected_ids in others:  # two splits of one probability, such as of "==="
        assert sorted(ids[:-1]) == sorted(expected_ids)
    assert len(others) <= 0.005 * len(lines)
    known = [ids for ids in expected if pieces.unk_id() not in ids]
    assert tokenizer.decode_batch(known) == pieces.decode(known)


def test_ids_and_texts_of_bpe_are_ours(lines, tmp_path):
    assert len(lines) > 2000
    proto = SPANISH.read_bytes()
    assert_same(proto, read(proto, tmp_path), lines)


def test_bpe_joins_by_scores_in_whatever_order_tokens_are(lines, tmp_path):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(SPANISH.read_bytes())
    pieces = [piece.piece for piece in model.pieces][NUM_SPECIALS:]
    proto = reorder(model, pieces[::-1])
    assert_same(proto, read(proto, tmp_path), lines)


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "nmt_nfkc_cf", "identity"])
def test_ids_and_texts_of_unigram_are_ours(lines, normalization, tmp_path):
    ours = train(lines[:800], normalization)
    assert_same(ours.proto, read(ours.proto, tmp_path), lines)


def test_words_that_are_never_split_are_found(lines, tmp_path):
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(train(lines[:800]).proto)
    pieces = [piece.piece for piece in model.pieces][NUM_SPECIALS:]
    proto = reorder(model, [*pieces, "▁>>fra<<", "▁>>eng<<"], {"▁>>fra<<", "▁>>eng<<"})
    texts = [">>fra<< the model", ">>eng<< the model", "the >>fra<< model", ">>xxx<< the model"]
    assert_same(proto, read(proto, tmp_path), texts)


def test_control_symbols_of_a_converted_model_are_neither_read_nor_written(lines, tmp_path):
    original = train_freely(lines[:500], control_symbols=["<mask>"])
    pieces = pieces_of(original)
    names = pieces.id_to_piece(list(range(NUM_SPECIALS, 400)))
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(original)
    proto = reorder(model, names[::-1])
    ours = TransformerTokenizer(proto)
    mask, *ids = map(ours.token_to_id, ["<mask>", *pieces.encode("the model", out_type=str)])
    assert mask not in ours("the <mask> model")
    for write in (ours.detokenize, read(proto, tmp_path).decode_batch, pieces_of(proto).decode):
        assert write([[mask, *ids, mask]]) == ["the model"]


def test_translations_of_other_tokens_have_a_file_of_their_own(lines, tmp_path):
    source = train(lines[:800])
    target = train(lines[800:1600])
    write_tokenizers(tmp_path, TransformerTokenizer(source.proto, target.proto))
    found = {
        name: tokenizers.Tokenizer.from_file(str(tmp_path / name))
        for name in ("tokenizer.json", "target_tokenizer.json")
    }
    assert_same(source.proto, found["tokenizer.json"], lines)
    assert_same(target.proto, found["target_tokenizer.json"], lines)


def test_translations_with_rules_of_their_own_have_a_file_of_their_own(lines, tmp_path):
    source = train(lines[:800], normalization="clean_nfkc")
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(source.proto)
    model.normalizer_spec.name, model.normalizer_spec.precompiled_charsmap = "identity", b""
    target = model.SerializeToString()
    write_tokenizers(tmp_path, TransformerTokenizer(source.proto, target))
    found = tokenizers.Tokenizer.from_file(str(tmp_path / "target_tokenizer.json"))
    texts = ["½ Ａ ﬁne", *lines[:20]]
    assert_same(target, found, texts)
    assert found.encode(texts[0]).ids != source(texts[0]).tolist()


def test_a_source_may_have_no_end_and_one_file_is_enough(tmp_path):
    proto = SPANISH.read_bytes()
    write_tokenizers(tmp_path, TransformerTokenizer(proto, source_end=False))
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tokenizer.encode("I am happy.").ids[-1] != 3


def test_a_model_of_words_is_refused(tmp_path):
    proto = build_word_model([*[None] * NUM_SPECIALS, "yes", "no"])
    with pytest.raises(ValueError, match=r"of the type unigram, or BPE .* Received: WORD"):
        read(proto, tmp_path)


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_unknown_characters_are_bytes(lines, tmp_path, model_type):
    proto = TransformerTokenizer.train(
        lines[:1000], 700, model_type, "clean_nfkc", byte_fallback=True
    ).proto
    emoji = ["tea 😀👨\u200d👩\u200d👧 and", "😀", "Владимир 東京 9", "a\ue000b"]
    assert_same(proto, read(proto, tmp_path), lines + emoji)


@pytest.mark.slow
def test_digits_and_bytes_of_a_changed_vocabulary(lines, tmp_path):
    changed = TransformerTokenizer(SPANISH.read_bytes()).with_byte_fallback().with_split_digits()
    numbers = ["It costs 1,442.50 dollars at 12:30 on 4/5/2019.", "2nd 10% 3x 000 🚀 7"]
    assert_same(changed.proto, read(changed.proto, tmp_path), lines + numbers)


def train_freely(lines, **options):
    """A SentencePiece model of options that `TransformerTokenizer.train` does not have."""
    model = io.BytesIO()
    special = {f"{name}_piece": piece for name, piece in SPECIAL_PIECES.items()}
    ids = {f"{name}_id": i for i, name in enumerate(SPECIAL_PIECES)}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=400,
        character_coverage=1.0,
        minloglevel=2,
        **{"model_type": "unigram", **special, **ids, **options},
    )
    return model.getvalue()


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize(
    "options",
    [
        {"add_dummy_prefix": False},
        {"remove_extra_whitespaces": False},
        {"split_by_whitespace": False},
        {"control_symbols": ["[to French]", "<mask>"]},
    ],
    ids=str,
)
def test_ids_and_texts_are_those_of_models_trained_elsewhere(lines, tmp_path, model_type, options):
    proto = train_freely(lines[:500], model_type=model_type, **options)
    tokenizer = read(proto, tmp_path)
    texts = [*lines[:1500], "  two  spaces  ", " one"]
    assert_same(proto, tokenizer, texts)
    pieces = pieces_of(proto)
    random = np.random.default_rng(0)
    written = [random.integers(4, 400, 6).tolist() for _ in range(300)]
    assert tokenizer.decode_batch(written) == pieces.decode(written)


def test_a_translation_does_not_begin_with_spaces(lines, tmp_path):
    """As one may that has learned from texts such as "☃ a", whose ☃ is unknown and not written."""
    proto = train(lines[:800]).proto
    pieces = pieces_of(proto)
    space = pieces.piece_to_id("▁")
    ids = [space, space, *pieces.encode("a  model"), space]
    assert read(proto, tmp_path).decode(ids) == pieces.decode(ids) == "a model "


def test_spaces_behind_words_are_refused(lines, tmp_path):
    proto = train_freely(lines[:500], treat_whitespace_as_suffix=True)
    with pytest.raises(ValueError, match=r"spaces before words.*treat_whitespace_as_suffix=True"):
        read(proto, tmp_path)


def test_symbols_of_bpe_are_refused_by_name(lines, tmp_path):
    proto = train_freely(lines[:500], model_type="bpe", user_defined_symbols=[">>de<<"])
    with pytest.raises(ValueError, match=r"`whole_words`.* Received: BPE with '>>de<<'"):
        read(proto, tmp_path)


def test_symbols_that_the_normalization_would_rewrite_are_refused(lines, tmp_path):
    options = {"user_defined_symbols": ["<sep>", "NASA"]}
    read(train_freely(lines[:500], **options), tmp_path)
    proto = train_freely(lines[:500], normalization_rule_name="nmt_nfkc_cf", **options)
    with pytest.raises(ValueError, match=r"nmt_nfkc_cf leaves as they are.* Received: 'NASA'"):
        read(proto, tmp_path)
