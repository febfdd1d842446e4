from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras import ops

from aiayn_keras.convert.tokenizers import build_word_model
from aiayn_keras.decoding import translation_search
from aiayn_keras.decoding.beam_sampler import until_end
from aiayn_keras.decoding.cached_decoding import start_decoding_together
from aiayn_keras.decoding.scoring import token_log_probs
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.decoding.translation_search import TranslationSearch
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras_light.translating import _Prompts
from tests.helpers import assert_close
from tests.layers.helpers import to_numpy

SOURCES = ["eins zwei drei", "fünf", "neun neun acht sieben", "null eins"]


def texts(translations):
    return [translation.text for translation in translations]


def all_texts(translations):
    return [[h.text for h in translation.hypotheses] for translation in translations]


def with_weights(model, change):
    """A model of the same vocabulary with other weights."""
    backbone = TransformerBackbone(**{**model.backbone.get_config(), "name": "other"})
    backbone.set_weights([change(weight) for weight in model.backbone.get_weights()])
    other = TransformerSeq2SeqLM(backbone, model.preprocessor)
    other.compile()
    return other


def test_lengths_are_kept(model):
    for minimum, maximum in ((7, 9), (1, 1), (0, 2), (4, 4)):
        for translation in model.translate(
            SOURCES, num_return_sequences=4, min_length=minimum, max_length=maximum
        ):
            for hypothesis in translation.hypotheses:
                assert minimum <= len(hypothesis.tokens) <= maximum


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"min_length": 6, "max_length": 8},
        {"no_repeat_ngram_size": 1},
        {"coverage_penalty": 0.5},
        {"prefixes": ["one two", "", "nine", "five"]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_scores_under_limits_are_those_of_scoring(model, tokenizer, options):
    """Of texts whose wordpieces are those that were found: scoring splits a text anew."""
    translations = model.translate(SOURCES, num_return_sequences=4, **options)
    found = [
        (source, hypothesis)
        for source, translation in zip(SOURCES, translations, strict=True)
        for hypothesis in translation.hypotheses
        if [*map(tokenizer.id_to_token, tokenizer([hypothesis.text])[0])] == [*hypothesis.tokens]
    ]
    assert len(found) > 4
    sources, hypotheses = zip(*found, strict=True)
    scores = model.score(list(sources), texts(hypotheses))
    assert_close([hypothesis.score for hypothesis in hypotheses], scores, 1e-4, 1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_hypotheses_are_ranked_by_their_normalized_scores(model, alpha):
    translations = model.translate([*SOURCES, ""], 4, alpha, num_return_sequences=4)
    for translation in translations[:-1]:
        found = [hypothesis.normalized_score for hypothesis in translation.hypotheses]
        penalties = [((5 + len(h.tokens) + 1) / 6) ** alpha for h in translation.hypotheses]
        scores = [hypothesis.score for hypothesis in translation.hypotheses]
        assert_close(found, np.array(scores) / penalties, 1e-5)
        assert found == sorted(found, reverse=True)
        assert translation.normalized_score == found[0]
    assert translations[-1].normalized_score == 0.0


@pytest.mark.parametrize("ngram_size", [1, 2])
def test_no_ngram_is_written_twice(model, ngram_size):
    plain = model.translate(["neun neun neun neun"])[0]
    assert len(set(plain.tokens)) < len(plain.tokens)  # without being told, it repeats
    for hypothesis in model.translate(
        ["neun neun neun neun"], num_return_sequences=4, no_repeat_ngram_size=ngram_size
    )[0].hypotheses:
        ngrams = list(zip(*(hypothesis.tokens[i:] for i in range(ngram_size)), strict=False))
        assert len(set(ngrams)) == len(ngrams)


def test_translations_begin_with_their_prefixes(model):
    prefixes = ["nine", "", "one two", "zero one"]
    for batch_size in (1, 64):
        translations = model.translate(
            SOURCES, prefixes=prefixes, num_return_sequences=2, batch_size=batch_size
        )
        for prefix, translation in zip(prefixes, translations, strict=True):
            assert all(h.text.startswith(prefix) for h in translation.hypotheses)
        # Without a prefix, and with the one it would have chosen, it is the free translation.
        assert translations[1].text == model.translate(SOURCES)[1].text
        assert translations[3].text == model.translate(SOURCES)[3].text


@pytest.mark.slow
def test_a_coverage_penalty_prefers_hypotheses_that_looked_at_every_word(model):
    """Recomputed from the alignments of all hypotheses that a wide beam finds."""
    beta = 3.0
    wide = model.translate(
        SOURCES, 12, 0.0, num_return_sequences=12, return_alignments=True, max_length=6
    )
    penalized = model.translate(
        SOURCES, 12, 0.0, coverage_penalty=beta, num_return_sequences=12, max_length=6
    )
    num_shared = 0
    for free, covering in zip(wide, penalized, strict=True):
        bonus = {
            h.tokens: beta * np.log(np.minimum(h.alignment.sum(axis=0), 1.0)).sum()
            for h in free.hypotheses
        }
        scores = [h.score + bonus[h.tokens] for h in covering.hypotheses if h.tokens in bonus]
        num_shared += len(scores)
        assert scores == sorted(scores, reverse=True)
        best = max(h.score + bonus[h.tokens] for h in free.hypotheses)
        if covering.tokens in bonus:
            assert scores[0] >= best - 1e-4
    assert num_shared >= 3 * len(SOURCES)  # what the one search finds the other mostly finds too


def test_alignments_are_the_attention_of_the_decoder_s_last_layer(model):
    translations = model.translate(SOURCES, num_return_sequences=2, return_alignments=True)
    for source, translation in zip(SOURCES, translations, strict=True):
        for hypothesis in translation.hypotheses:
            maps = model.attention_maps(source, hypothesis.text)
            assert hypothesis.alignment.shape == maps.cross.shape[2:]
            assert_close(hypothesis.alignment, maps.cross[-1].mean(axis=0), 1e-4, 1e-5)


def small_model(tokenizer, num_positions):
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 1, 1, 4, 4, max_sequence_length=num_positions
    )
    return TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))


def test_alignments_need_no_more_positions_than_the_translation(tokenizer):
    """The room for a translation is greater: its source's length and fifty more."""
    small = small_model(tokenizer, num_positions=20)
    for translation in small.translate(SOURCES, return_alignments=True):
        assert len(translation.alignment) == len(translation.tokens) + 1


def test_padding_needs_no_positions(tokenizer):
    """Lengths are padded to multiples of eight, which may be more than the model's positions."""
    long, short = "neun " * 17, "eins"
    small = small_model(tokenizer, num_positions=len(tokenizer(long)) + 1)
    assert small.backbone.max_sequence_length == 18 < 24 - 2
    alone = [*small.translate([long]), *small.translate([short])]
    assert texts(small.translate([long, short])) == texts(alone)


def test_without_being_asked_there_is_no_alignment(model):
    assert model.translate(SOURCES)[0].alignment is None


def test_token_scores_sum_to_the_score(model, tokenizer):
    targets = ["one two three", "five", "nine", ""]
    per_token = model.score(SOURCES, targets, per_token=True)
    assert [len(scores) for scores in per_token] == [len(ids) + 1 for ids in tokenizer(targets)]
    assert_close([scores.sum() for scores in per_token], model.score(SOURCES, targets), 1e-5)


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (None, None, "`sources` must be a list of strings"),
        (["a"], "ab", "`targets` must be a list of strings"),
        (["a", "b"], ["c"], "must be of equal length. Received: 2 sources, 1 targets"),
    ],
)
def test_what_cannot_be_scored_is_named(model, sources, targets, message):
    with pytest.raises(ValueError, match=message):
        model.score(sources, targets)


def test_a_source_without_any_token_is_scored(model, tokenizer):
    endless = TransformerTokenizer(tokenizer.proto, source_end=False)
    other = TransformerSeq2SeqLM(model.backbone, TransformerSeq2SeqLMPreprocessor(endless, 16, 16))
    scores = other.score(["", "eins"], ["one", "one"])
    assert np.isfinite(scores).all()
    assert_close(scores[:1], other.score([""], ["one"]), 1e-4, 1e-4)
    with pytest.raises(ValueError, match="`source` has no wordpieces"):
        other.attention_maps("", "one")


@pytest.mark.slow
def test_an_ensemble_of_one_model_twice_is_the_model(model):
    twin = with_weights(model, lambda weight: weight)
    expected = model.translate(SOURCES, num_return_sequences=4)
    translations = model.translate(SOURCES, num_return_sequences=4, ensemble=[twin])
    assert all_texts(translations) == all_texts(expected)
    assert_close([t.score for t in translations], [t.score for t in expected], 1e-4, 1e-4)


@pytest.mark.slow
def test_an_ensemble_averages_probabilities(model):
    other = with_weights(model, lambda weight: weight * 0.7)
    targets = ["one two three", "five", "nine nine eight seven", "zero one"]
    translations = model.translate(SOURCES, ensemble=[other], coverage_penalty=0.1)
    members = [
        member.score(SOURCES, texts(translations), per_token=True) for member in (model, other)
    ]
    for i, translation in enumerate(translations):
        mean = np.mean([np.exp(member[i]) for member in members], axis=0)
        assert_close(translation.score, np.log(mean).sum(), 1e-4, 1e-4)
    assert texts(translations) == targets


@pytest.mark.slow
def test_an_ensemble_may_hold_other_sizes(model):
    backbone = TransformerBackbone(
        model.backbone.vocabulary_size,
        num_layers=1,
        num_heads=3,
        hidden_dim=12,
        intermediate_dim=11,
        max_sequence_length=70,
    )
    other = TransformerSeq2SeqLM(backbone, model.preprocessor)
    assert len(model.translate(SOURCES, ensemble=[other], batch_size=2)) == len(SOURCES)


def test_an_ensemble_has_one_vocabulary(model):
    backbone = TransformerBackbone(20, 1, 1, 4, 4, max_sequence_length=128)
    with pytest.raises(
        ValueError, match=r"All models of an `ensemble` must share one vocabulary.*20\]"
    ):
        model.translate(SOURCES, ensemble=[TransformerSeq2SeqLM(backbone)])


@pytest.mark.parametrize("other", [None, "model", 3])
def test_an_ensemble_is_of_models(model, other):
    with pytest.raises(TypeError, match=r"`ensemble\[1\]` must be a TransformerSeq2SeqLM"):
        model.translate(["Ja."], ensemble=[model, other])


@pytest.mark.parametrize("others", [None, 3, "the model"])
def test_an_ensemble_is_a_list(model, others):
    others = model if others == "the model" else others
    for translate in (model.translate, model.translate_documents):
        with pytest.raises(TypeError, match="`ensemble` must be a list of TransformerSeq2SeqLMs"):
            translate(["Ja."], ensemble=others)


def test_an_ensemble_of_one_size_may_have_several_vocabularies_and_is_refused(model, tokenizer):
    words = [tokenizer.id_to_token(i) for i in range(4, tokenizer.vocabulary_size())]
    other = TransformerTokenizer(build_word_model([None] * 4 + words[::-1]))
    preprocessor = TransformerSeq2SeqLMPreprocessor(other, 16, 16)
    with pytest.raises(
        ValueError, match=r"All models of an `ensemble` must share one vocabulary.*tokenizers"
    ):
        model.translate(SOURCES, ensemble=[TransformerSeq2SeqLM(model.backbone, preprocessor)])


def test_a_model_that_is_not_compiled_translates_too(model):
    fresh = TransformerSeq2SeqLM(model.backbone, model.preprocessor, compile=False)
    assert texts(fresh.translate(SOURCES)) == texts(model.translate(SOURCES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": 5, "max_length": 4}, "`min_length` must be from 0.*max_length=4"),
        ({"min_length": -1, "max_length": 4}, "`min_length` must be at least 0.*min_length=-1"),
        ({"prefixes": ["one"]}, "`texts` and `prefixes` must be of equal length.*1 prefixes"),
        ({"prefixes": "one"}, "`prefixes` must be a list of strings"),
        (
            {"prefixes": ["", "", "猫", ""]},
            r"`prefixes\[2\]`: the prefix must be made of characters.*'猫'",
        ),
        ({"coverage_penalty": -1.0}, "`coverage_penalty` must be at least 0"),
        ({"no_repeat_ngram_size": -1}, "`no_repeat_ngram_size` must be at least 0"),
        ({"batch_size": -1}, "`batch_size` must be at least 1.*batch_size=-1"),
        (
            {"prefixes": ["one", "one two three", "", ""], "max_length": 2},
            r"`prefixes\[1\]`: the prefix has 3 wordpieces.*at most 2 .*'one two three'",
        ),
    ],
)
def test_what_cannot_be_is_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        model.translate(SOURCES, **options)


@pytest.mark.parametrize(
    "texts",
    [None, b"eins", 3, {"eins": 1}, {"eins"}, (text for text in ["eins"])],
    ids=lambda texts: type(texts).__name__,
)
def test_texts_must_be_a_list(model, texts):
    with pytest.raises(ValueError, match="`texts` must be a list of strings"):
        model.translate(texts)


@pytest.mark.parametrize("text", [None, 3, b"eins", "\ud800"], ids=repr)
def test_a_text_must_be_a_string_of_unicode_characters(model, text):
    with pytest.raises(ValueError, match=r"`texts\[1\]` must be a string of Unicode characters"):
        model.translate(["eins", text])


def test_a_model_whose_weights_are_no_numbers_translates_nothing(model):
    broken = with_weights(model, lambda weight: weight * np.float32("nan"))
    with pytest.raises(ValueError, match="gives no probabilities"):
        broken.translate(SOURCES)


def test_other_limits_need_no_other_search(model):
    fresh = with_weights(model, lambda weight: weight)
    for max_length in range(1, 9):
        fresh.translate(SOURCES, min_length=0, max_length=max_length)
        fresh.translate(SOURCES, min_length=max_length, max_length=9)
    assert len(fresh._compiled_functions) == 2  # with a least length and without


def test_many_lengths_need_few_compilations(model):
    if keras.config.backend() != "jax":
        pytest.skip("TensorFlow traces once for all shapes, PyTorch never")
    import jax

    backbone = TransformerBackbone(
        model.backbone.vocabulary_size, 1, 1, 4, 4, max_sequence_length=70
    )
    fresh = TransformerSeq2SeqLM(backbone, model.preprocessor)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, seconds, **kwargs: (
            compiled.append(kwargs.get("fun_name"))
            if name == "/jax/core/compile/backend_compile_duration"
            else None
        )
    )
    lengths = list(range(1, 21))
    fresh.translate([" ".join(["eins"] * n) for n in lengths], max_length=3, batch_size=1)
    shapes = {-(-(n + 1) // 8) for n in lengths}
    assert compiled.count("jit(stateless)") <= len(shapes) or compiled.count("stateless") <= len(
        shapes
    )


PAD, UNKNOWN, START, END = range(4)


def encoded(tokenizer, texts, length):
    token_ids = np.zeros((len(texts), length), "int32")
    for row, ids in enumerate(tokenizer(texts)):
        token_ids[row, : len(ids) + 1] = [*ids, END]
    return token_ids, (token_ids != 0).astype("int32")


def test_until_end_keeps_the_first_end_behind_the_prompt():
    token_ids = ops.convert_to_tensor([[2, 3, 5, 3, 6, 3], [2, 5, 6, 7, 8, 9]])
    prompt_mask = ops.convert_to_tensor([[1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    kept = until_end(token_ids, (3, 7), prompt_mask)
    assert_close(kept, [[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]])
    assert_close(until_end(token_ids, (), prompt_mask), np.ones((2, 6)))


def test_token_log_probs_are_the_model_s_log_probabilities(model, tokenizer):
    encoder_ids, encoder_mask = encoded(tokenizer, ["eins zwei", "fünf"], 4)
    labels, decoder_mask = encoded(tokenizer, ["one two", "nine nine nine"], 5)
    decoder_ids = np.concatenate([[[START]] * 2, labels[:, :-1]], axis=1)
    logits = to_numpy(
        model(
            {
                "encoder_token_ids": encoder_ids,
                "encoder_padding_mask": encoder_mask,
                "decoder_token_ids": decoder_ids,
                "decoder_padding_mask": decoder_mask,
            }
        )
    )
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = np.take_along_axis(log_probs, labels[:, :, np.newaxis], axis=2)[:, :, 0]
    expected = np.where(decoder_mask, expected, 0.0)
    tensors = map(
        ops.convert_to_tensor, (encoder_ids, encoder_mask, decoder_ids, decoder_mask, labels)
    )
    assert_close(token_log_probs(model.backbone, *tensors), expected, 1e-4, 1e-4)


@pytest.fixture
def add_to_logits(monkeypatch):
    """Function that makes every search see logits to which `(V,)` are added."""

    def add(added):
        def start(*args, **options):
            step, cache = start_decoding_together(*args, **options)

            def changed(token_ids, cache, index):
                logits, hidden_states, cache = step(token_ids, cache, index)
                return logits + ops.convert_to_tensor(added), hidden_states, cache

            return changed, cache

        monkeypatch.setattr(translation_search, "start_decoding_together", start)

    return add


@pytest.mark.parametrize(("options", "extra"), [({}, 50), ({"extra_length": 3}, 3)])
def test_a_translation_is_at_most_so_many_tokens_longer_than_its_source(
    model, tokenizer, add_to_logits, options, extra
):
    """A model that never ends by itself: each row stops at its own limit."""
    encoder_ids, encoder_mask = map(
        ops.convert_to_tensor, encoded(tokenizer, ["eins zwei drei", "fünf"], 6)
    )
    num_pieces = np.array([len(ids) for ids in tokenizer(["eins zwei drei", "fünf"])])
    never_ending = np.zeros(tokenizer.vocabulary_size(), "float32")
    never_ending[END] = -1e4
    add_to_logits(never_ending)
    options = SearchOptions(num_beams=1, **options)
    search = TranslationSearch((model.backbone,), tokenizer, options)
    token_ids, _ = search.find(encoder_ids, encoder_mask)
    token_ids = keras.ops.convert_to_numpy(token_ids)[:, 0]
    np.testing.assert_array_equal((token_ids == END).argmax(axis=1), num_pieces + extra + 1)


@pytest.mark.parametrize("wanted", [PAD, UNKNOWN, START])
def test_no_special_token_is_written_however_much_the_model_wants_it(
    model, tokenizer, wanted, add_to_logits
):
    wish = np.zeros(tokenizer.vocabulary_size(), "float32")
    wish[wanted] = 30.0
    add_to_logits(wish)
    encoder_ids, encoder_mask = map(ops.convert_to_tensor, encoded(tokenizer, ["eins zwei"], 4))
    search = TranslationSearch((model.backbone,), tokenizer, SearchOptions(num_beams=2))
    token_ids, _ = search.find(encoder_ids, encoder_mask)
    for row in keras.ops.convert_to_numpy(token_ids)[0].tolist():
        assert row[0] == START
        assert not {PAD, UNKNOWN, START} & set(row[1 : row.index(END)])


def test_a_batch_has_room_for_the_longest_translation_its_end_and_the_start():
    tokenizer = SimpleNamespace(source_ids=(3,), start_token_id=2)
    options = SearchOptions(extra_length=4)
    search = SimpleNamespace(tokenizer=tokenizer, options=options, max_sequence_length=50)
    prompts, limits, _ = _Prompts([[7, 8, 3]], None, search).batch([0], 2, source_length=3)
    # Two wordpieces and four more; the end of the source does not count.
    assert limits.tolist() == [6, 6]
    assert prompts.tolist() == [[2, 0, 0, 0, 0, 0, 0, 0]] * 2


@pytest.mark.parametrize(("max_length", "limit", "width"), [(5, 5, 8), (7, 7, 16), (1000, 49, 56)])
def test_a_batch_with_a_maximum_length_has_few_widths_and_no_more_room_than_the_model(
    max_length, limit, width
):
    tokenizer = SimpleNamespace(source_ids=(3,), start_token_id=2)
    options = SearchOptions(max_length=max_length)
    search = SimpleNamespace(tokenizer=tokenizer, options=options, max_sequence_length=50)
    prompts, limits, _ = _Prompts([[7, 8, 3]], None, search).batch([0], 1, source_length=3)
    assert limits.tolist() == [limit]
    assert prompts.shape == (1, width)
