import copy
import functools

import keras
import keras_hub
import numpy as np
import pytest
from keras import ops

from aiayn_keras.decoding import beam_sampler
from aiayn_keras.decoding.beam_sampler import BeamSampler
from aiayn_keras.decoding.cached_decoding import start_decoding
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras.optimization import LabelSmoothedCrossEntropy, WarmupSchedule
from tests.helpers import assert_close
from tests.number_words import number_words


@pytest.fixture
def small(tokenizer):
    """An untrained model that a test may change."""
    backbone = TransformerBackbone(
        tokenizer.vocabulary_size(), 1, 2, 16, 24, max_sequence_length=40
    )
    return TransformerSeq2SeqLM(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 8, 8))


@pytest.fixture(scope="module")
def sources(pairs):
    return [source for source, _ in pairs]


@pytest.fixture(scope="module")
def translations(model, sources):
    return model.translate(sources, num_return_sequences=3)


# === Training ===


@pytest.mark.parametrize("progress", [True, "bar", np.array(2)])
def test_progress_must_be_a_function(progress, model):
    for work in (
        lambda: model.translate("Ja.", progress=progress),
        lambda: model.translate_documents("Ja.", progress=progress),
        lambda: model.record_search("Ja.", progress=progress),
    ):
        with pytest.raises(TypeError, match="`progress` must be a function"):
            work()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": {}}, "Unknown `format` {}"),
        ({"format": ["onnx"]}, "Unknown `format`"),
        ({"card": "CC BY 4.0"}, "`card` must be a dictionary"),
        ({"precision": np.array([1, 2])}, '`precision` must be "float32"'),
    ],
)
def test_arguments_of_an_export_are_refused_by_name(options, message, model, tmp_path):
    with pytest.raises(ValueError, match=message):
        model.export(tmp_path / "m", **options)
    assert not list(tmp_path.iterdir())


def test_it_compiles_to_the_paper_s_recipe(small):
    small.compile()
    optimizer = small.optimizer
    assert isinstance(optimizer, keras.optimizers.Adam)
    assert (optimizer.beta_1, optimizer.beta_2, optimizer.epsilon) == (0.9, 0.98, 1e-9)
    schedule = optimizer._learning_rate
    assert isinstance(schedule, WarmupSchedule)
    assert schedule.get_config() == {
        "hidden_dim": 16,
        "warmup_steps": 4000,
        "peak_learning_rate": None,
        "gradient_accumulation_steps": 1,
    }
    assert isinstance(small.loss, LabelSmoothedCrossEntropy)
    assert small.loss.label_smoothing == 0.1
    assert isinstance(small.sampler, BeamSampler)
    assert small.sampler.get_config() == BeamSampler(4, 0.6).get_config()
    names = [metric.name for metric in small._compile_metrics._user_weighted_metrics]
    assert names == ["accuracy", "perplexity"]
    assert small.jit_compile is (keras.config.backend() == "jax")


def test_every_part_of_the_recipe_can_be_replaced(small):
    optimizer, loss = keras.optimizers.SGD(0.5), LabelSmoothedCrossEntropy(0.2)
    small.compile(optimizer, loss, weighted_metrics=[], sampler="greedy", jit_compile=True)
    assert small.jit_compile
    assert small.optimizer is optimizer
    assert small.loss is loss
    assert isinstance(small.sampler, keras_hub.samplers.GreedySampler)
    assert not small._compile_metrics._user_weighted_metrics


def test_it_is_trained_on_strings(small):
    small.compile(keras.optimizers.Adam(1e-2))
    sources, targets = zip(*number_words(64, 5), strict=True)
    pairs = {"encoder_text": list(sources), "decoder_text": list(targets)}
    before = small.get_weights()
    history = small.fit(pairs, batch_size=16, epochs=2, verbose=0).history
    assert history.keys() == {"loss", "accuracy", "perplexity"}
    assert history["loss"][1] < history["loss"][0]
    for old, new in zip(before, small.get_weights(), strict=True):
        assert np.abs(new - old).max() > 0, "every weight is trained"


def test_the_metrics_are_per_real_token(model, pairs):
    """Perplexity of more and of less padded batches is that of scoring each pair."""
    source_texts, target_texts = map(list, zip(*pairs, strict=True))
    scores = model.score(source_texts, target_texts)
    lengths = [len(ids) + 1 for ids in model.preprocessor.tokenizer(target_texts)]
    expected = np.exp(-scores.sum() / sum(lengths))
    for length in (8, 12):
        preprocessor = TransformerSeq2SeqLMPreprocessor(
            model.preprocessor.tokenizer, length, length
        )
        x, y, weights = preprocessor({"encoder_text": source_texts, "decoder_text": target_texts})
        logits = model(x)
        (_, perplexity) = model._compile_metrics._user_weighted_metrics
        metric = type(perplexity)()
        metric.update_state(y, logits, sample_weight=weights)
        assert_close(metric.result(), expected, 1e-3)


# === Translation ===


def test_the_model_of_these_tests_has_learned(translations, pairs):
    correct = [t.text == target for t, (_, target) in zip(translations, pairs, strict=True)]
    assert sum(correct) >= 6  # of 12; how many exactly is another number on every machine


def test_scores_are_those_of_scoring_the_translations(model, sources, translations):
    for i in range(3):
        texts = [translation.hypotheses[i].text for translation in translations]
        again = model.preprocessor.tokenizer(texts)
        found = [
            [model.preprocessor.tokenizer.token_to_id(piece) for piece in t.hypotheses[i].tokens]
            for t in translations
        ]
        same = [k for k in range(len(sources)) if again[k] == found[k]]
        assert len(same) > len(sources) // 2, "most texts are tokenized as they were written"
        expected = [translations[k].hypotheses[i].score for k in same]
        scores = model.score([sources[k] for k in same], [texts[k] for k in same])
        assert_close(scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_of_no_pairs_is_refused(model, batch_size):
    with pytest.raises(ValueError, match=f"`batch_size` must be at least 1.*{batch_size}"):
        model.score(["eins"], ["one"], batch_size=batch_size)


def test_a_pair_has_one_score_in_any_company(model, pairs):
    source_texts, target_texts = map(list, zip(*pairs, strict=True))
    scores = model.score(source_texts, target_texts)
    assert scores.shape == (len(pairs),)
    assert_close(model.score(source_texts, target_texts, batch_size=1), scores, 1e-4, 1e-4)
    assert_close(model.score(source_texts[::-1], target_texts[::-1]), scores[::-1], 1e-4, 1e-4)


def test_translations_come_in_the_order_of_the_texts(model, sources, translations):
    backwards = model.translate(sources[::-1], num_return_sequences=3)
    assert [t.text for t in backwards[::-1]] == [t.text for t in translations]
    assert len({t.text for t in translations}) > 8, "or else their order does not matter"


@pytest.mark.parametrize("batch_size", [1, 5])
def test_the_batch_size_changes_no_translation(model, sources, translations, batch_size):
    others = model.translate(sources, num_return_sequences=3, batch_size=batch_size)
    for other, translation in zip(others, translations, strict=True):
        assert [h.text for h in other.hypotheses] == [h.text for h in translation.hypotheses]
        assert [h.tokens for h in other.hypotheses] == [h.tokens for h in translation.hypotheses]
        assert_close(other.score, translation.score, 1e-4, 1e-4)


def test_hypotheses_come_best_first_and_the_first_is_the_translation(translations):
    for translation in translations:
        best, *_ = translation.hypotheses
        assert len(translation.hypotheses) == 3
        assert (best.text, best.score, best.tokens) == (
            translation.text,
            translation.score,
            translation.tokens,
        )
        penalized = [h.score / ((5 + len(h.tokens) + 1) / 6) ** 0.6 for h in translation.hypotheses]
        assert penalized == sorted(penalized, reverse=True)


def test_tokens_make_up_the_text(translations):
    for translation in translations:
        for hypothesis in translation.hypotheses:
            text = "".join(hypothesis.tokens).replace("▁", " ").strip()
            assert text == hypothesis.text


def test_fewer_hypotheses_are_the_first_of_more(model, sources, translations):
    for one, three in zip(model.translate(sources[:4]), translations[:4], strict=True):
        assert [h.text for h in one.hypotheses] == [three.text]


def test_the_length_penalty_prefers_longer_texts(model, sources):
    def num_tokens(length_penalty):
        found = model.translate(sources, num_return_sequences=1, length_penalty=length_penalty)
        return sum(len(translation.tokens) for translation in found)

    assert num_tokens(10.0) > num_tokens(0.0)


def test_a_text_without_words_is_translated_to_nothing(model, sources, translations):
    empty, known, blank = model.translate(["", sources[0], "  "], num_return_sequences=2)
    assert known.text == translations[0].text
    for translation in (empty, blank):
        assert (translation.text, translation.score, translation.tokens) == ("", 0.0, ())
        assert [h.text for h in translation.hypotheses] == ["", ""]
    assert model.translate([]) == []


def test_progress_counts_texts(model, sources):
    done = []
    model.translate([*sources[:7], ""], batch_size=3, progress=done.append)
    assert done == [1, 3, 3, 1]


def test_a_text_that_is_too_long_is_named(model):
    long_text = " ".join(["eins"] * 80)
    with pytest.raises(ValueError, match=r"`?texts\[1\].*81 tokens.*70 positions.*'eins eins") as e:
        model.translate(["eins", long_text])
    assert "split" in str(e.value)
    with pytest.raises(ValueError, match=r"targets\[0\]"):
        model.score(["eins"], [long_text])


def test_a_single_text_has_a_single_translation_as_generate_has(model, sources, translations):
    found = model.translate(sources[0], num_return_sequences=3)
    assert [each.text for each in found.hypotheses] == [
        each.text for each in translations[0].hypotheses
    ]
    assert isinstance(model.generate(sources[0]), str)
    prefixed = model.translate("eins zwei", prefixes="three")
    assert prefixed.text == model.translate(["eins zwei"], prefixes=["three"])[0].text
    assert prefixed.text.startswith("three")


@pytest.mark.parametrize("number", [0, 5])
def test_more_sequences_than_beams_are_refused(model, number):
    with pytest.raises(ValueError, match=rf"`num_return_sequences` must be.*={number}"):
        model.translate(["eins"], num_return_sequences=number)


def test_pairs_of_unequal_number_are_refused(model):
    with pytest.raises(ValueError, match="2 sources, 1 targets"):
        model.score(["eins", "zwei"], ["one"])


def test_without_a_tokenizer_nothing_is_translated(small):
    bare = TransformerSeq2SeqLM(small.backbone)
    with pytest.raises(ValueError, match="has no `preprocessor`"):
        bare.translate(["eins"])


def test_new_weights_give_new_translations(small, sources):
    targets = ["one two", "nine"]
    before = small.translate(sources[:2])
    scores = small.score(sources[:2], targets)
    small.set_weights([np.random.permutation(weight) for weight in small.get_weights()])
    assert [t.score for t in small.translate(sources[:2])] != [t.score for t in before]
    assert np.abs(small.score(sources[:2], targets) - scores).min() > 1e-3


def test_a_preprocessor_that_no_longer_fits_is_refused(small, sources):
    """On JAX, too long rows made all weights NaN; ids of another vocabulary were other words."""
    texts = {"encoder_text": ["drei"], "decoder_text": ["three"]}
    uses = [
        lambda: small.fit(texts, verbose=0),
        lambda: small.evaluate(texts, verbose=0),
        lambda: small.train_on_batch(texts),
        lambda: small.generate("drei"),
    ]
    preprocessor = small.preprocessor
    preprocessor.decoder_sequence_length = 41
    for use in uses:
        with pytest.raises(ValueError, match=r"lengths must be at most .*=40. Received: 41"):
            use()
    other = TransformerTokenizer.train(sources, small.backbone.vocabulary_size - 1)
    small.preprocessor = TransformerSeq2SeqLMPreprocessor(other, 8, 8)
    uses += [lambda: small.translate("drei"), lambda: small.score(["drei"], ["three"])]
    for use in uses:
        with pytest.raises(ValueError, match="they do not belong together"):
            use()


# === KerasHub ===


@pytest.fixture
def generating(model):
    """The trained model, whose sampler a test may change."""
    sampler = model.sampler
    yield model
    model.sampler, model.generate_function = sampler, None


def with_sampler(model, sampler):
    model.sampler, model.generate_function = keras_hub.samplers.get(sampler), None
    return model


def test_generate_gives_the_best_translation(generating, sources):
    """The preprocessor's eight ids of the target are a start, six tokens and an end."""
    expected = generating.translate(sources, max_length=6)
    with_sampler(generating, BeamSampler())
    texts = generating.generate({"encoder_text": sources, "decoder_text": [""] * len(sources)})
    assert texts == [translation.text for translation in expected]


@pytest.mark.parametrize(
    "sampler",
    [
        "greedy",
        keras_hub.samplers.TopKSampler(k=1),
        keras_hub.samplers.ContrastiveSampler(k=2, alpha=0.0),
    ],
    ids=["greedy", "top_k", "contrastive"],
)
def test_generate_takes_the_samplers_of_keras_hub(generating, sources, sampler):
    """KerasHub's samplers need no end: after the start, all seven ids may be tokens."""
    expected = generating.translate(sources, num_beams=1, length_penalty=0.0, max_length=7)
    with_sampler(generating, sampler)
    texts = generating.generate({"encoder_text": sources, "decoder_text": [""] * len(sources)})
    assert texts == [translation.text for translation in expected]


def test_a_contrastive_search_compares_hidden_states_with_earlier_ones(generating, sources):
    source, k, alpha = sources[0], 3, 0.6
    with_sampler(generating, keras_hub.samplers.ContrastiveSampler(k=k, alpha=alpha))
    text = generating.generate({"encoder_text": [source], "decoder_text": [""]})[0]
    inputs = generating.preprocessor.generate_preprocess(
        {"encoder_text": [source], "decoder_text": [""]}
    )
    inputs = {name: keras.ops.convert_to_numpy(array) for name, array in inputs.items()}
    length = inputs["decoder_token_ids"].shape[1]

    def run(token_ids):
        inputs["decoder_token_ids"] = np.array([token_ids], "int32")
        inputs["decoder_padding_mask"] = np.ones((1, len(token_ids)), "int32")
        states = generating.backbone(inputs)["decoder_sequence_output"]
        logits = generating.backbone.token_embedding(states, reverse=True)
        states = keras.ops.convert_to_numpy(states)[0]
        return states, keras.ops.convert_to_numpy(keras.ops.softmax(logits[0, -1]))

    token_ids, tokenizer = [2], generating.preprocessor.tokenizer
    while len(token_ids) < length and token_ids[-1] != tokenizer.end_token_id:
        earlier, probabilities = run(token_ids)
        scores = {}
        for token in map(int, np.argsort(probabilities)[-k:]):
            new = run([*token_ids, token])[0][-1]
            norms = np.linalg.norm(earlier, axis=1) * np.linalg.norm(new)
            similarity = (earlier @ new / norms).max()
            scores[token] = (1 - alpha) * probabilities[token] - alpha * similarity
        token_ids.append(max(scores, key=scores.get))
    pieces = [token for token in token_ids if token not in tokenizer.special_token_ids]
    assert text == tokenizer.of_targets().detokenize(pieces)


class PythonSampler(keras_hub.samplers.GreedySampler):
    """Has an `if` on a tensor, which works on TensorFlow as AutoGraph rewrites it."""

    def get_next_token(self, probabilities):
        token = super().get_next_token(probabilities)
        if ops.max(probabilities) > 2:
            token = token * 0
        return token


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="TensorFlow has AutoGraph.")
# Of the rewriting itself on Python 3.13; as an error, it would end it.
@pytest.mark.filterwarnings(
    "ignore:.*got an unexpected keyword argument .___pyct_anno:DeprecationWarning"
)
@pytest.mark.parametrize("sampler", [BeamSampler(2), PythonSampler()], ids=["beams", "own"])
def test_generate_rewrites_samplers_of_others_only(generating, sources, sampler, monkeypatch):
    """Rewritten, a search takes four times as long to trace."""
    import tensorflow as tf

    seen = []

    def recorded(function):
        @functools.wraps(function)
        def record(*args, **kwargs):
            seen.append(tf.__internal__.autograph.control_status_ctx().status.name)
            return function(*args, **kwargs)

        return record

    def start(*args, **kwargs):
        next_token, cache = recorded(start_decoding)(*args, **kwargs)
        return recorded(next_token), cache

    monkeypatch.setattr(beam_sampler, "start_decoding", start)
    with_sampler(generating, sampler)
    (text,) = generating.generate(sources[:1])
    assert text
    assert len(seen) > 1
    assert set(seen) == {"DISABLED"}


def test_generate_writes_no_more_than_the_model_has_positions(generating):
    most = generating.backbone.max_sequence_length
    generating.generate(["drei"], max_length=most)
    with pytest.raises(ValueError, match=rf"`max_length` must be at most {most}.*: .*={most + 1}"):
        generating.generate(["drei"], max_length=most + 1)


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ([], {}, r"`inputs` must have at least one text"),
        (b"Ja.", {}, r"`inputs` must be a string or a list of strings. Received: b'Ja.'"),
        (None, {}, r"`inputs` must be a string or a list of strings"),
        (np.array("Ja."), {}, r"`inputs` must be a string or a list of strings"),
        (["Ja.", None], {}, r"`inputs`, text 1, must be a string. Received: None"),
        ({"decoder_text": ["Ja."]}, {}, r"`inputs` must have 'encoder_text'"),
        ({"encoder_text": ["Ja."]}, {}, r"`inputs` must have 'decoder_text'"),
        ({"encoder_text": ["a"], "decoder_text": ["b", "c"]}, {}, "'decoder_text': 2"),
        ("\ud800", {}, "`inputs` must be of Unicode characters"),
        (["a", "\ud800"], {}, "`inputs`, text 1, must be of Unicode characters"),
        ("Ja.", {"strip_prompt": True}, "`strip_prompt` is for models without an encoder"),
        ({"encoder_text": "Ja.", "decoder_text": 3}, {}, r"`inputs\['decoder_text'\]` must be"),
        ("Ja.", {"max_length": 0}, r"`max_length` must be at least 1"),
        ("Ja.", {"max_length": "3"}, r"`max_length` must be an integer"),
    ],
)
def test_generate_names_what_it_cannot_read(generating, inputs, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        generating.generate(inputs, **options)


def test_generate_reads_a_tuple_as_a_list(generating):
    assert generating.generate(("drei", "vier")) == generating.generate(["drei", "vier"])


def test_generate_goes_on_from_a_prompt(generating):
    with_sampler(generating, BeamSampler())
    text = generating.generate({"encoder_text": ["drei vier"], "decoder_text": ["nine"]})
    assert text[0].startswith("nine ")


@pytest.mark.parametrize("sampler", ["greedy", BeamSampler()], ids=["greedy", "beam"])
@pytest.mark.parametrize("prompt", ["", "nine"])
def test_generate_refuses_weights_that_are_no_numbers(generating, sampler, prompt):
    with_sampler(generating, sampler)
    inputs = {"encoder_text": ["drei vier", "vier"], "decoder_text": [prompt, prompt]}
    expected = generating.generate(inputs)
    weight = generating.backbone.decoder_blocks[0].feed_forward_add_norm.layer_norm.gamma
    before = keras.ops.convert_to_numpy(weight)
    try:
        weight.assign(np.full(weight.shape, np.nan))
        with pytest.raises(ValueError, match=r"weights of decoder_block_0/.*/gamma are not all"):
            generating.generate(inputs)
        with pytest.raises(ValueError, match="are not all finite"):
            generating.generate({name: texts[0] for name, texts in inputs.items()})
    finally:
        weight.assign(before)
    assert generating.generate(inputs) == expected


# === Saving ===


def test_a_preset_translates_the_same(model, sources, translations, tmp_path):
    model.save_to_preset(tmp_path)
    for cls in (keras_hub.models.Seq2SeqLM, TransformerSeq2SeqLM):
        other = cls.from_preset(str(tmp_path))
        assert isinstance(other, TransformerSeq2SeqLM)
        found = other.translate(sources[:4], num_return_sequences=3)
        for actual, expected in zip(found, translations, strict=False):
            assert [h.text for h in actual.hypotheses] == [h.text for h in expected.hypotheses]
            assert_close(actual.score, expected.score, 1e-4, 1e-4)


@pytest.mark.slow
def test_a_keras_file_goes_on_as_it_was(small, tmp_path):
    small.compile(
        loss=LabelSmoothedCrossEntropy(0.2),
        sampler=BeamSampler(num_beams=2),
    )
    inputs = small.preprocessor(
        {"encoder_text": ["drei", "eins zwei"], "decoder_text": ["three", "one two"]}
    )
    x, y, weights = inputs
    small.preprocessor = None
    keras.Model.fit(small, x, y, sample_weight=weights, verbose=0)
    small.save(tmp_path / "model.keras")
    other = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(other, TransformerSeq2SeqLM)
    assert_close(other(x), small(x))
    assert other.loss.label_smoothing == 0.2
    assert other.sampler.get_config() == small.sampler.get_config()
    assert int(other.optimizer.iterations) == int(small.optimizer.iterations) == 1
    for actual, expected in zip(other.optimizer.variables, small.optimizer.variables, strict=True):
        assert_close(actual, expected)


def test_a_keras_file_leaves_it_to_the_backend_whether_a_step_is_compiled(small):
    """One of JAX was compiled on PyTorch, too, which took a minute."""
    assert "jit_compile" not in small.get_compile_config()
    for jit_compile in (True, False):
        small.compile(jit_compile=jit_compile)
        assert small.get_compile_config()["jit_compile"] is jit_compile


@keras.saving.register_keras_serializable(package="tests")
class LastSampler(keras_hub.samplers.GreedySampler):
    pass


def test_a_keras_file_and_a_copy_keep_the_sampler(small, tmp_path, monkeypatch):
    """A copy wrote texts as the default does."""
    for sampler in (keras_hub.samplers.TopKSampler(k=3, seed=5, temperature=0.7), LastSampler()):
        small.compile(sampler=sampler)
        small.fit(["drei"], ["three"], verbose=0)
        small.save(tmp_path / "model.keras")
        for other in (keras.saving.load_model(tmp_path / "model.keras"), copy.deepcopy(small)):
            assert type(other.sampler) is type(sampler)
            assert other.sampler.get_config() == sampler.get_config()
    monkeypatch.delitem(keras.saving.get_custom_objects(), "tests>LastSampler")
    monkeypatch.delattr(f"{__name__}.LastSampler")
    with pytest.warns(UserWarning, match="uses BeamSampler, since the sampler of the file cannot"):
        assert type(keras.saving.load_model(tmp_path / "model.keras").sampler) is BeamSampler


@pytest.mark.parametrize("tie_weights", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"recursive": True},
        {"clone_function": lambda layer: layer},
        {"call_function": lambda layer, *args, **kwargs: layer(*args, **kwargs)},
    ],
    ids=["plain", "recursive", "clone_function", "call_function"],
)
def test_a_clone_computes_the_same(options, tie_weights):
    model = TransformerSeq2SeqLM(
        TransformerBackbone(19, 1, 2, 8, 12, tie_weights=tie_weights, max_sequence_length=9)
    )
    names = "encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask"
    x = {name: np.arange(1, 8).reshape(1, 7) for name in names}
    x["encoder_padding_mask"] = x["decoder_padding_mask"] = np.ones((1, 7), int)
    clone = keras.models.clone_model(model, **options)
    assert [weight.path for weight in clone.weights] == [weight.path for weight in model.weights]
    clone.set_weights(model.get_weights())
    assert_close(clone(x), model(x))
    assert clone.loss.get_config() == model.loss.get_config()
