"""Rules of normalization: against Python's `unicodedata`, SentencePiece's own, and by hand."""

import itertools
import unicodedata

import keras
import pytest
import sentencepiece

from aiayn_keras import TransformerSeq2SeqLM, TransformerTokenizer
from aiayn_keras.models.text_normalization import normalizer, set_normalization

SOURCES = ["The boy said no.", "A girl said yes, she said so.", "No boy said “so”."] * 8
TARGETS = ["你好，世界！", "½ m² ℃", "می‌خواهم", "“No”…"] * 8


@pytest.fixture(scope="module")
def clean():
    return normalizer("clean_nfkc")


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("“I am hungry,” he said.", '"I am hungry," he said.'),
        ("„Nein“ «si» ‚a‘ don’t 5′ 6″", '"Nein" "si" \'a\' don\'t 5\' 6"'),
        ("Come in – it's cold.", "Come in, it's cold."),
        ("the tall one — he works here --", "the tall one, he works here --"),
        ("I know—he said--no", "I know, he said, no"),
        ("well-known 1990–1995 −5", "well-known 1990-1995 -5"),
        ("— Yes.", "- Yes."),
        ("my brother - the tall one", "my brother, the tall one"),
        ("What is 10 - 3, 10 – 3? 4 — 9, 5 -- 6", "What is 10 - 3, 10 - 3? 4 - 9, 5 - 6"),
        ("bo\u00adught a\u200bb \ufeffc \u202ad\u202c e\u034ff\u180e", "bought ab c d ef"),
        ("\u2060a\x01b\x7fc\x9fd\ufe0f", "abcd"),
        ("I like\u0085tea\u2028and\u2003you\u00a0all", "I like tea and you all"),
        ("w\u200do\u200cr d\u200d", "wor d"),
        ("wait…", "wait..."),
        ("ｆｕｌｌ　ｗｉｄｔｈ ﬁne cafe\u0301", "full width fine café"),
        # Meaningful joiners are kept, and so is text that a model may not know.
        ("می\u200cخواهم क्\u200dष 👩\u200d🚀", "می\u200cخواهم क्\u200dष 👩\u200d🚀"),
        ("I like tea. 😀 你好", "I like tea. 😀 你好"),
        # Other numbers and words would come of these.
        ("10⁶ m² x⁻¹ here.¹ ½ ⅓", "10⁶ m² x⁻¹ here.¹ ½ ⅓"),
        ("1½ 20¼ 3⅞ CO₂", "1 1/2 20 1/4 3 7/8 CO2"),
        ("Lego™ № 5 ℠", "Lego™ № 5 ℠"),
        ("25 ºC 77ºF 1.º", "25 °C 77°F 1.o"),
        ("« si », «\u202fno\u00a0»", '"si", "no"'),
        ("in\u2009–\u2009out\u200a—\u200aoff 4\u202f–\u202f9", "in, out, off 4 - 9"),
        ("one\x0btwo\u3164three\u2800four\uffa0five", "one two three four five"),
        ("l\u0332i\u0336n\u0335e\u0338s a\ufffcb\ufffec\ufdd0d =\u0338", "lines abcd ≠"),
    ],
)
def test_sources_are_cleaned(clean, typed, read):
    assert clean(typed) == read


def test_whatever_is_clean_is_read_as_before(clean):
    before = normalizer("nmt_nfkc")
    own = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc", add_dummy_prefix=False, escape_whitespaces=False
    )
    dirt = {"Cf", "Cc", "Pd", "Pi", "Pf", "Po", "Ps", "Sk", "Mn", "Zl", "Zp", "Lm"}
    letters = [chr(code) for code in range(0x20, 0x30000) if not 0xD800 <= code < 0xE000]
    checked = [letter for letter in letters if unicodedata.category(letter) not in dirt]
    others = "−❛❜❝❞〝〞〟\u2800\u3164\uffa0\ufffc"  # marks and spaces by another name
    others += "²³¹⁰ⁱ⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅟↉™℠№"
    others += "\ufffe\uffff" + "".join(map(chr, range(0xFDD0, 0xFDF0)))  # no characters
    checked = [letter for letter in checked if letter not in others]
    assert len(checked) > 100_000
    for letter in checked:
        assert clean(f"a{letter}b") == before(f"a{letter}b") == own.normalize(f"a{letter}b")


def test_targets_are_composed_and_nothing_else():
    compose = normalizer("nfc")
    for text in TARGETS:
        assert compose(text) == text
    for code in range(0xA1, 0x30000):
        letter = chr(code)
        if 0xD800 <= code < 0xE000 or letter.isspace():
            continue
        composed = unicodedata.normalize("NFC", letter)
        assert compose(letter) == composed
        assert compose(unicodedata.normalize("NFD", letter)) == composed


def test_each_side_has_its_own_rules_and_both_one_vocabulary():
    tokenizer = TransformerTokenizer.train(
        SOURCES,
        vocabulary_size=80,
        normalization="clean_nfkc",
        target_texts=TARGETS,
    )
    targets = tokenizer.of_targets()
    assert targets.detokenize(targets(TARGETS[:4])) == TARGETS[:4]
    assert tokenizer(["No boy said “so”."]) == tokenizer(['No boy said "so".'])
    assert tokenizer.get_vocabulary() == targets.get_vocabulary()
    assert tokenizer.unk_token_id not in itertools.chain(*tokenizer(SOURCES), *targets(TARGETS))


@pytest.mark.parametrize("options", [{}, {"normalization": "clean_nfkc"}])
def test_sources_are_cleaned_and_targets_are_not_if_nothing_is_said(options):
    tokenizer = TransformerTokenizer.train([*SOURCES, *TARGETS], 80, **options)
    targets = tokenizer.of_targets()
    assert targets.detokenize(targets([*SOURCES, *TARGETS])) == [*SOURCES, *TARGETS]
    assert tokenizer(["No b\u00adoy said “so”."]) == tokenizer(['No boy said "so".'])
    ids = itertools.chain(*tokenizer([*SOURCES, *TARGETS]), *targets([*SOURCES, *TARGETS]))
    assert tokenizer.unk_token_id not in ids
    plain = [text for text in SOURCES if text.isascii()]
    of_plain, older = (
        TransformerTokenizer.train(plain, 30, normalization=name).get_vocabulary()
        for name in ("clean_nfkc", "nmt_nfkc")
    )
    assert of_plain == older


def test_one_normalization_for_both_makes_one_model():
    for name, of_targets in (("nfc", None), ("clean_nfkc", "clean_nfkc"), ("nmt_nfkc", None)):
        tokenizer = TransformerTokenizer.train(
            SOURCES, 40, normalization=name, target_normalization=of_targets
        )
        assert tokenizer.target_proto is None
        assert tokenizer.detokenize(tokenizer("The boy said no.")) == "The boy said no."
    with pytest.raises(ValueError, match=r"must be one of clean_nfkc, .*Received: 'nfx'"):
        TransformerTokenizer.train(SOURCES, 40, target_normalization="nfx")


def test_a_tokenizer_gets_other_rules_and_keeps_its_tokens():
    plain = TransformerTokenizer.train(SOURCES[:2], 40, normalization="nmt_nfkc")
    cleaning = plain.with_normalization("clean_nfkc")
    assert cleaning(["The b\u00adoy said – no."]) == plain(["The boy said, no."])
    assert cleaning.get_vocabulary() == plain.get_vocabulary()
    assert cleaning.of_targets().proto == plain.proto
    assert set_normalization(cleaning.proto, "nmt_nfkc") == plain.proto


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="One backend is enough.")
def test_a_graph_cleans_as_python_does():
    tf = pytest.importorskip("tensorflow")
    text = pytest.importorskip("tensorflow_text")
    model = TransformerSeq2SeqLM.from_preset("saved_models/demo_en_de_keras")
    tokenizer = model.preprocessor.tokenizer.with_normalization("clean_nfkc")
    texts = [f"She{chr(code)} knows{chr(code)}it" for code in range(1, 0x3000)]
    texts += [f"a {chr(code)}b" for code in range(0x3000, 0x20000) if not 0xD800 <= code < 0xE000]
    op = text.SentencepieceTokenizer(model=tokenizer.proto, out_type=tf.int32)
    assert op.tokenize(tf.constant(texts)).to_list() == tokenizer(texts)
