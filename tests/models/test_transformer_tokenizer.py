import base64
import gzip
import io
from pathlib import Path

import keras
import keras_hub
import numpy as np
import pytest
import sentencepiece

from aiayn_keras.models import TransformerBackbone, TransformerTokenizer

SENTENCES = [
    f"{subject} {verb} {thing}."
    for subject in ("Der Bär", "Die Kröte", "A bear", "Das kleine Mädchen")
    for verb in ("sieht", "mag", "likes", "hört")
    for thing in ("große Füße", "the old bridge", "Äpfel", "süße Öfen")
]


SIZES = {"bpe": 80, "unigram": 44}


@pytest.fixture(scope="module", params=SIZES)
def tokenizer(request):
    tokenizer = TransformerTokenizer.train(SENTENCES, SIZES[request.param], request.param)
    assert tokenizer.vocabulary_size() == SIZES[request.param]
    return tokenizer


def test_merges_and_probabilities_make_different_vocabularies():
    bpe, unigram = (TransformerTokenizer.train(SENTENCES, 44, kind) for kind in SIZES)
    assert bpe.get_vocabulary() != unigram.get_vocabulary()


def test_special_tokens_come_first(tokenizer):
    assert [tokenizer.id_to_token(i) for i in range(4)] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (0, 1)
    assert (tokenizer.start_token_id, tokenizer.end_token_id) == (2, 3)


def test_text_survives(tokenizer):
    assert tokenizer.detokenize(tokenizer(SENTENCES)) == SENTENCES


def test_a_text_becomes_the_pieces_that_make_it_up(tokenizer):
    (ids,) = tokenizer(["Die Kröte mag Äpfel."])
    assert "".join(map(tokenizer.id_to_token, ids)) == "▁Die▁Kröte▁mag▁Äpfel."
    assert not set(ids) & {0, 1, 2, 3}


def test_a_special_token_in_a_text_is_text(tokenizer):
    (ids,) = tokenizer(["</s>"])
    assert tokenizer.end_token_id not in ids


def test_an_unknown_character_is_the_unknown_token(tokenizer):
    (ids,) = tokenizer(["Das 猫"])
    assert tokenizer.unk_token_id in ids


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_sentences_give_the_same_vocabulary(tmp_path, end):
    parts = [SENTENCES[:30], SENTENCES[30:]]
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes("".join(line + end for line in part).encode("utf-8"))
    expected = TransformerTokenizer.train(SENTENCES, 80).get_vocabulary()
    assert TransformerTokenizer.train(paths, 80).get_vocabulary() == expected
    paths[0].write_bytes(b"".join(path.read_bytes() for path in paths))
    assert TransformerTokenizer.train(paths[0], 80).get_vocabulary() == expected
    assert TransformerTokenizer.train(str(paths[0]), 80).get_vocabulary() == expected


def test_an_iterator_of_sentences_will_do():
    expected = TransformerTokenizer.train(SENTENCES, 80).get_vocabulary()
    assert TransformerTokenizer.train(iter(SENTENCES), 80).get_vocabulary() == expected


def test_normalization_is_kept_in_the_tokenizer():
    folding = TransformerTokenizer.train(SENTENCES, 70, normalization="nmt_nfkc_cf")
    assert folding.detokenize(folding(["DIE KRÖTE"])) == ["die kröte"]
    exact = TransformerTokenizer.train([*SENTENCES, "ﬁ"], 90, normalization="identity")
    assert exact.detokenize(exact(["ﬁ"])) == ["ﬁ"]


def test_unknown_model_type_is_refused():
    with pytest.raises(ValueError, match=r"`model_type` must be .*model_type='word'"):
        TransformerTokenizer.train(SENTENCES, 80, model_type="word")


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_too_large_a_vocabulary_is_refused(model_type):
    with pytest.raises(ValueError, match=r"`vocabulary_size`=5000 .*at most \d+ tokens"):
        TransformerTokenizer.train(SENTENCES, 5000, model_type=model_type)


def test_too_small_a_vocabulary_is_refused():
    with pytest.raises(ValueError, match=r"`vocabulary_size`=6 .*alone are \d+"):
        TransformerTokenizer.train(SENTENCES, 6)


def test_no_text_is_refused():
    with pytest.raises(ValueError, match="could be learned from `texts`"):
        TransformerTokenizer.train([], 80)


def test_empty_texts_are_named():
    with pytest.raises(ValueError, match="they are empty"):
        TransformerTokenizer.train(["", " "], 20)


@pytest.mark.parametrize("text", ["No such file.", "The cat sat on the mat. " * 50])
def test_a_string_that_is_no_path_is_refused(text):
    with pytest.raises(ValueError, match=r"`texts` must be sentences.*the string '(No|The)"):
        TransformerTokenizer.train(text, 80)
    with pytest.raises(ValueError, match="`target_texts` must be sentences"):
        TransformerTokenizer.train(["a"], 80, target_texts=text)


def test_targets_are_given_like_sources(tmp_path):
    path = tmp_path / "targets.txt"
    path.write_text("ein rotes Haus！\n", "utf-8")
    of_list = TransformerTokenizer.train(["a red house"], 32, target_texts=["ein rotes Haus！"])
    for given in (path, str(path), [path]):
        of_file = TransformerTokenizer.train(["a red house"], 32, target_texts=given)
        assert of_file.get_vocabulary() == of_list.get_vocabulary()


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_text_is_refused(missing):
    for texts in ({"texts": ["a", missing]}, {"texts": ["a"], "target_texts": ["b", missing]}):
        with pytest.raises(ValueError, match=rf"Texts must be strings.*text 1 is {missing}\.$"):
            TransformerTokenizer.train(**texts, vocabulary_size=32)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(143), LookupError("no row 2")])
def test_errors_of_texts_and_ctrl_c_are_not_those_of_the_vocabulary(error):
    def texts():
        yield "a red house"
        raise error

    for given in ({"texts": texts()}, {"texts": ["a"], "target_texts": texts()}):
        with pytest.raises(type(error)) as caught:
            TransformerTokenizer.train(**given, vocabulary_size=32)
        assert caught.value is error


def test_a_file_that_is_missing_is_no_vocabulary_that_is_too_large(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^Corpus file .*none\.txt' does not exist\.$"):
        TransformerTokenizer.train(tmp_path / "none.txt", 32)


def test_files_are_read_like_those_of_a_corpus(tmp_path):
    """A `.gz` file ended in a UnicodeDecodeError that named no file."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfa red house\r\na red bus\r\n"))
    of_list = TransformerTokenizer.train(["a red house", "a red bus"], 32)
    of_file = TransformerTokenizer.train(tmp_path / "a.gz", 32)
    assert of_file.get_vocabulary() == of_list.get_vocabulary()
    (tmp_path / "a.txt").write_bytes("a\nolé\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"a\.txt, line 2: not valid UTF-8 \(byte 0xe9\)"):
        TransformerTokenizer.train(tmp_path / "a.txt", 32)


def test_zero_characters_are_left_out_as_other_controls_are(tokenizer):
    tf = pytest.importorskip("tensorflow")
    spelling = tokenizer.with_byte_fallback()
    text = SENTENCES[0]
    with_zeros = "\0".join(text) + "\0"
    (expected,) = spelling([text])
    assert spelling([with_zeros, with_zeros.encode()]) == [expected, expected]
    assert spelling([with_zeros.replace("\0", "\x01")]) == [expected]
    assert list(spelling(with_zeros)) == expected
    assert spelling.without_layer()([with_zeros]) == [expected]
    (in_graph,) = tf.data.Dataset.from_tensors([with_zeros]).map(spelling)
    assert in_graph.to_list() == [expected]


def test_a_vocabulary_is_learned_from_texts_with_zero_characters(tmp_path):
    spoiled = [sentence.replace(" ", " \0") for sentence in SENTENCES]
    expected = TransformerTokenizer.train(SENTENCES, 70).proto
    assert TransformerTokenizer.train(spoiled, 70).proto == expected
    path = tmp_path / "text"
    path.write_text("\n".join(spoiled), "utf-8")
    assert TransformerTokenizer.train(path, 70).proto == expected


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match=r"none\.txt"):
        TransformerTokenizer.train(tmp_path / "none.txt", 80)


def test_a_preset_holds_the_vocabulary(tokenizer, tmp_path):
    TransformerBackbone(19, 1, 1, 4, 4).save_to_preset(tmp_path)  # KerasHub looks for one
    tokenizer.save_to_preset(tmp_path)
    for cls in (TransformerTokenizer, keras_hub.tokenizers.Tokenizer):
        other = cls.from_preset(str(tmp_path))
        assert isinstance(other, TransformerTokenizer)
        assert other.get_vocabulary() == tokenizer.get_vocabulary()
        assert other(SENTENCES) == tokenizer(SENTENCES)
        assert other.end_token_id == 3


def test_it_is_registered():
    name = keras.saving.get_registered_name(TransformerTokenizer)
    assert name == "aiayn_keras>TransformerTokenizer"


LABELS = ("S", "SBAR", "NP", "N")
TREE = "(S (NP XX , )NP (SBAR (N XX )N )SBAR )S"


def test_whole_words_are_one_token_each_and_never_split():
    words = sorted({"XX", ",", *(f"{bracket}{label}" for bracket in "()" for label in LABELS)})
    tokenizer = TransformerTokenizer.train(SENTENCES, 90, "bpe", "identity", whole_words=words)
    (ids,) = tokenizer([TREE])
    assert [tokenizer.id_to_token(i) for i in ids] == [f"▁{word}" for word in TREE.split()]
    assert tokenizer.detokenize([ids]) == [TREE]
    # A word of a source begins with the word mark, and no other piece does.
    for text in (*SENTENCES, "XX XXL (S (SB 猫猫 ,5 Die"):
        pieces = [tokenizer.id_to_token(i) for i in tokenizer(text)]
        assert sum(piece.startswith("▁") for piece in pieces) == len(text.split())


@pytest.mark.parametrize(
    ("words", "normalization", "message"),
    [
        (["xx", "NASA"], "nmt_nfkc_cf", r"nmt_nfkc_cf writes them.*'NASA', which becomes 'nasa'"),
        (["½"], "nmt_nfkc", "'½', which becomes '1⁄2'"),
        (["a b"], "identity", r"without spaces. Received: 'a b'"),
        ([""], "identity", r"without spaces. Received: ''"),
        ([5], "identity", r"without spaces. Received: 5"),
        ("XX", "identity", r"a sequence of strings. Received: 'XX'"),
    ],
)
def test_whole_words_that_no_text_holds_are_refused(words, normalization, message):
    with pytest.raises(ValueError, match=message):
        TransformerTokenizer.train(SENTENCES, 90, "bpe", normalization, whole_words=words)


def test_a_whole_word_may_be_one_of_translations():
    tokenizer = TransformerTokenizer.train(
        SENTENCES, 90, "bpe", "nmt_nfkc", ["½"], target_texts=SENTENCES
    )
    targets = tokenizer.of_targets()
    assert [targets.id_to_token(i) for i in targets("½")] == ["▁½"]


def test_a_separate_target_is_a_file_of_its_own_and_an_old_one_is_none(tmp_path):
    sources, targets = (TransformerTokenizer.train(SENTENCES, 44, kind).proto for kind in SIZES)
    both = TransformerTokenizer(sources, target_proto=targets)
    both.save_assets(tmp_path)
    again = TransformerTokenizer.from_config(both.get_config())
    # All that KerasHub fetches of a preset at an address.
    assert sorted(again.file_assets) == sorted(path.name for path in tmp_path.iterdir())
    again.load_assets(tmp_path)
    assert (again.proto, again.target_proto) == (sources, targets)

    alone = TransformerTokenizer.from_config(TransformerTokenizer(sources).get_config())
    alone.load_assets(tmp_path)
    assert alone.target_proto is None
    (tmp_path / "target_vocabulary.spm").unlink()
    with pytest.raises(FileNotFoundError, match=r"target_vocabulary\.spm"):
        again.load_assets(tmp_path)


def as_base64(path):
    return base64.b64encode(path.read_bytes()).decode()


@pytest.mark.parametrize("given", [Path, str, Path.read_bytes, as_base64])
def test_a_model_of_other_special_pieces_is_refused_however_it_is_given(given, tmp_path):
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=written, vocab_size=44, pad_id=3
    )
    path = tmp_path / "other.model"
    path.write_bytes(written.getvalue())
    with pytest.raises(ValueError, match="must hold a SentencePiece model that begins with"):
        TransformerTokenizer(given(path))


@pytest.fixture(scope="module")
def of_numbers():
    """A vocabulary with pieces of several digits."""
    texts = [f"In 19{i} it cost {i}0 or {i}00." for i in range(10, 100)]
    tokenizer = TransformerTokenizer.train(texts, 90, split_digits=False)
    assert len(tokenizer(["1940"])[0]) < 4
    return tokenizer


def test_digits_are_tokens_of_their_own(of_numbers):
    texts = [f"In 19{i} it cost {i}0 or {i}00." for i in range(10, 100)]
    for tokenizer in (TransformerTokenizer.train(texts, 40), of_numbers.with_split_digits()):
        (ids,) = tokenizer(["In 1940 40."])
        pieces = [tokenizer.id_to_token(i) for i in ids]
        assert pieces == ["▁In", "▁", *"1940", "▁", *"40", "."]


def test_split_digits_leave_every_other_piece_at_its_id(of_numbers):
    split = of_numbers.with_split_digits()
    pairs = list(zip(of_numbers.get_vocabulary(), split.get_vocabulary(), strict=True))
    changed = [old for old, new in pairs if old != new]
    assert "00" in changed
    assert all(len(piece) > 1 and any(map(str.isdigit, piece)) for piece in changed)


def test_a_vocabulary_without_digits_cannot_split_them(tokenizer):
    with pytest.raises(ValueError, match="it has no piece '0'"):
        tokenizer.with_split_digits()


@pytest.mark.parametrize("changed", [False, True])
def test_unknown_characters_are_spelled_as_bytes(tokenizer, changed):
    size = 44 + 256
    spelled = (
        tokenizer.with_byte_fallback()
        if changed
        else TransformerTokenizer.train(SENTENCES, size, "unigram", byte_fallback=True)
    )
    text = "Das 猫 sieht 👨\u200d👩\u200d👧."
    (ids,) = spelled([text])
    assert spelled.unk_token_id not in ids
    pieces = [spelled.id_to_token(i) for i in ids]
    at = pieces.index("<0xE7>")
    assert pieces[at : at + 3] == ["<0xE7>", "<0x8C>", "<0xAB>"]
    assert len(spelled.byte_token_ids()) == 256
    assert spelled.detokenize([ids]) == [text]


def test_byte_pieces_are_added_once_and_behind_the_others(tokenizer):
    once = tokenizer.with_byte_fallback()
    assert once.get_vocabulary()[: tokenizer.vocabulary_size()] == tokenizer.get_vocabulary()
    assert once.with_byte_fallback().get_vocabulary() == once.get_vocabulary()
    assert tokenizer.byte_token_ids() == []
    assert once(SENTENCES) == tokenizer(SENTENCES)


def test_each_side_keeps_its_normalization(tokenizer):
    changed = tokenizer.with_normalization("nfkc_cf").with_target_normalization("nfc")
    again = changed.with_byte_fallback()
    assert again.detokenize(again(["Das"])) == ["das"]
    targets = again.of_targets()
    assert targets.detokenize(targets(["Das ²"])) == ["Das ²"]


@pytest.mark.parametrize(
    ("name", "default", "value"),
    [("copy_without_letters", False, True), ("learned_length", None, 63)],
)
def test_facts_about_the_model_are_kept(tokenizer, name, default, value):
    assert getattr(tokenizer, name) is default
    tokenizer = TransformerTokenizer(tokenizer.proto, **{name: value})
    loaded = TransformerTokenizer.from_config(tokenizer.get_config())
    loaded.set_proto(tokenizer.proto)
    assert getattr(loaded, name) == getattr(loaded.with_byte_fallback(), name) == value


@pytest.mark.parametrize(("length", "error"), [(0, ValueError), (63.0, TypeError)])
def test_a_learned_length_is_a_number_of_tokens(tokenizer, length, error):
    with pytest.raises(error, match="`learned_length` must be"):
        TransformerTokenizer(tokenizer.proto, learned_length=length)


def clear(seed):
    keras.utils.clear_session()


@pytest.mark.parametrize("reseed", [keras.utils.set_random_seed, clear])
def test_a_pipeline_survives_a_new_seed(tokenizer, reseed):
    tf = pytest.importorskip("tensorflow")
    texts = tf.data.Dataset.from_tensor_slices(SENTENCES).batch(2)
    pipeline = texts.map(tokenizer)
    text_of = tf.function(tokenizer.detokenize)
    expected = tokenizer(SENTENCES[:2])
    ids = tf.ragged.constant(expected, dtype="int32")
    halfway = iter(pipeline)
    for seed in (1, 2):
        assert next(iter(pipeline)).to_list() == expected
        assert [text.decode() for text in text_of(ids).numpy()] == SENTENCES[:2]
        assert next(halfway).to_list() == tokenizer(SENTENCES[2 * seed - 2 : 2 * seed])
        reseed(seed)
    assert next(iter(texts.map(tokenizer))).to_list() == expected


@pytest.mark.parametrize("ids", [[-1], [10**6], [[5, -1]], [1.5]])
def test_ids_that_do_not_exist_are_refused(tokenizer, ids):
    size = tokenizer.vocabulary_size()
    with pytest.raises(ValueError, match=f"`inputs` must be token ids from 0 to {size - 1}"):
        tokenizer.detokenize(ids)


@pytest.mark.parametrize("inputs", [["a"], "a", [["a", "b"]], np.array(["a"]), [b"a"]])
def test_pieces_are_not_token_ids(tokenizer, inputs):
    with pytest.raises(ValueError, match="`inputs` must be token ids from 0"):
        tokenizer.detokenize(inputs)
