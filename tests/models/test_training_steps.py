"""Training steps: once traced, and with `TokenStatistics` in the place of logits, as Keras' own."""

import keras
import keras_hub
import numpy as np
import pytest

from aiayn_keras.layers import EncoderBlock
from aiayn_keras.models import (
    TransformerBackbone,
    TransformerSeq2SeqLM,
    TransformerSeq2SeqLMPreprocessor,
    TransformerTokenizer,
)
from aiayn_keras.models.batch_sources import TextBatches
from aiayn_keras.models.token_losses import computes_statistics
from aiayn_keras.optimization import LabelSmoothedCrossEntropy, Perplexity, TokenStatistics
from tests.helpers import assert_close, slow_but

BACKEND = keras.config.backend()
not_torch = pytest.mark.skipif(BACKEND == "torch", reason="PyTorch has Keras' steps.")
only_jax = pytest.mark.skipif(BACKEND != "jax", reason="Only JAX's steps have these methods.")
EAGER = {"run_eagerly": True} if BACKEND == "tensorflow" else {}
"""For tests of what data become: TensorFlow would take seconds to trace each model's steps."""
V, B, S, T = 50, 6, 9, 11


class WithAnotherLoss(TransformerSeq2SeqLM):
    def compute_loss(self, *args, **kwargs):
        return 100.0 + super().compute_loss(*args, **kwargs)


class WithAnotherMetric(TransformerSeq2SeqLM):
    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        metrics = super().compute_metrics(x, y, y_pred, sample_weight)
        return {**metrics, "number of logits": y_pred.shape[-1]}


class WithItsOwnStep(TransformerSeq2SeqLM):
    """Its step is Keras', but it looks at the predictions."""

    def _update_metrics_variables(self, metrics_variables, loss, x, y, y_pred, sample_weight):
        self.predicted = y_pred.shape
        return super()._update_metrics_variables(
            metrics_variables, loss, x, y, y_pred, sample_weight
        )

    def train_step(self, state, data):
        return super().train_step(state, data)


class BlockWithLosses(EncoderBlock):
    """A block whose outputs add to the loss, and with `regularize` its weights, too."""

    regularize = False

    def build(self, x_shape):
        super().build(x_shape)
        if self.regularize:
            self.feed_forward.hidden_dense.kernel.regularizer = keras.regularizers.L2(0.1)

    def call(self, x, *args, **kwargs):
        y = super().call(x, *args, **kwargs)
        self.add_loss(keras.ops.mean(keras.ops.square(y)))
        return y


class BackboneWithLosses(TransformerBackbone):
    encoder_block_cls = BlockWithLosses


class RegularizedBackbone(TransformerBackbone):
    encoder_block_cls = type("RegularizedBlock", (BlockWithLosses,), {"regularize": True})


class TwicePerplexity(Perplexity):
    def update_state(self, *args, **kwargs):
        super().update_state(*args, **kwargs)
        self.total.assign(2.0 * self.total)


def make_model(
    tie_weights=True,
    logits_bias=False,
    dropout=0.1,
    dtype=None,
    cls=TransformerSeq2SeqLM,
    backbone_cls=TransformerBackbone,
    **compile_options,
):
    keras.utils.set_random_seed(1)
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 32}
    backbone = backbone_cls(
        V, tie_weights=tie_weights, logits_bias=logits_bias, dropout=dropout, dtype=dtype, **sizes
    )
    model = cls(backbone)
    model.compile(optimizer=keras.optimizers.SGD(0.1), **compile_options)
    return model


def make_batch():
    random = np.random.default_rng(2)
    mask = (np.arange(T) < random.integers(3, T, (B, 1))).astype("int32")
    x = {
        "encoder_token_ids": random.integers(1, V, (B, S)),
        "encoder_padding_mask": np.ones((B, S), "int32"),
        "decoder_token_ids": random.integers(1, V, (B, T)),
        "decoder_padding_mask": mask,
    }
    return x, random.integers(1, V, (B, T)), mask.astype("float32")


def steps_of(model):
    """Logs of two updates and an evaluation, and the weights after them."""
    x, y, weights = make_batch()
    logs = [model.train_on_batch(x, y, weights, return_dict=True) for _ in range(2)]
    logs.append(model.test_on_batch(x, y, weights, return_dict=True))
    return logs, [keras.ops.convert_to_numpy(variable) for variable in model.trainable_variables]


# A metric that needs logits makes the step Keras' own.
def logits_metric():
    return keras.metrics.SparseCategoricalAccuracy(name="of_logits")


@not_torch
@pytest.mark.parametrize(
    "options",
    [
        {"loss": LabelSmoothedCrossEntropy(0.2, reduction="sum")},
        {"tie_weights": False, "dtype": "mixed_bfloat16"},
        {"dtype": "mixed_float16"},
        {"dtype": "bfloat16"},
        {"backbone_cls": RegularizedBackbone},
    ],
)
def test_steps_are_those_of_keras(options):
    ours, keras_own = make_model(**options), make_model(metrics=[logits_metric()], **options)
    assert computes_statistics(ours) or options.get("dtype") == "mixed_float16"
    assert not computes_statistics(keras_own)
    assert_same_steps(ours, keras_own, 1e-2 if options.get("dtype") else 1e-5)


def assert_same_steps(ours, other, tolerance):
    (logs, weights), (expected_logs, expected_weights) = steps_of(ours), steps_of(other)
    for log, expected in zip(logs, expected_logs, strict=True):
        assert_close(list(log.values()), [expected[name] for name in log], rtol=tolerance)
    for array, expected in zip(weights, expected_weights, strict=True):
        assert_close(array, expected, rtol=tolerance, atol=tolerance)


def prediction_of(model):
    """Records the arguments of a model's metrics in a step."""
    variables = model.trainable_variables, model.non_trainable_variables, model.metrics_variables
    values = ([variable.value for variable in group] for group in variables)
    return model.compute_loss_and_updates(*values, *make_batch())[1][1]


@only_jax
def test_metrics_get_statistics():
    assert isinstance(prediction_of(make_model()), TokenStatistics)


def capped():
    model = make_model()
    model.backbone.token_embedding.logit_soft_cap = 0.5
    return model


def quantized():
    model = make_model()
    model.backbone.token_embedding.quantize("int8")
    return model


OTHERS = {
    "another metric": lambda: make_model(metrics=[logits_metric()]),
    "another weighted metric": lambda: make_model(weighted_metrics=[logits_metric()]),
    "another loss": lambda: make_model(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    ),
    "another reduction": lambda: make_model(loss=LabelSmoothedCrossEntropy(reduction="mean")),
    "weights of the losses": lambda: make_model(loss_weights=0.25),
    "a loss of a subclass": lambda: make_model(cls=WithAnotherLoss),
    "a metric of a subclass": lambda: make_model(cls=WithAnotherMetric),
    "a bias of the logits": lambda: make_model(logits_bias=True),
    "a metric of an own class": lambda: make_model(weighted_metrics=[TwicePerplexity()]),
    "a changed projection": capped,
    "quantized weights": quantized,
}


@only_jax
@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_whatever_needs_logits_gets_them(make):
    assert prediction_of(make()).shape == (B, T, V)


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_whatever_needs_logits_has_the_steps_of_keras(make):
    assert not computes_statistics(make())


def test_weights_of_losses_and_losses_of_subclasses_count():
    loss, *others = (
        model.test_on_batch(*make_batch(), return_dict=True)["loss"]
        for model in (make_model(), make_model(loss_weights=0.25), make_model(cls=WithAnotherLoss))
    )
    assert_close(others, [0.25 * loss, 100.0 + loss], rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("loss", "sparse_categorical_crossentropy"),
        ("loss", keras.losses.sparse_categorical_crossentropy),
        ("loss", keras.losses.SparseCategoricalCrossentropy()),
        ("metrics", ["accuracy", "ce"]),
        ("weighted_metrics", [keras_hub.metrics.Perplexity()]),
    ],
)
def test_logits_are_not_taken_for_probabilities(name, part):
    with pytest.raises(ValueError, match=f"`{name}` must take logits.* Received: {name}="):
        make_model(**{name: part})


def test_a_loss_of_probabilities_behind_the_optimizer_is_noticed():
    model = make_model()
    with pytest.raises(ValueError, match="`loss` must take logits"):
        model.compile("adam", "sparse_categorical_crossentropy")


@pytest.mark.filterwarnings("ignore:`OfProbabilities.call` changes")
def test_a_model_of_probabilities_may_have_a_loss_of_them():
    class OfProbabilities(TransformerSeq2SeqLM):
        def call(self, *args, **kwargs):
            return keras.ops.softmax(super().call(*args, **kwargs))

    loss = keras.losses.SparseCategoricalCrossentropy
    model, usual = (
        make_model(cls=cls, loss=of_logits, weighted_metrics=[])
        for cls, of_logits in ((OfProbabilities, loss()), (TransformerSeq2SeqLM, loss(True)))
    )
    assert_close(model.test_on_batch(*make_batch()), usual.test_on_batch(*make_batch()), 1e-4)


def test_losses_of_own_parts_count():
    model = make_model(backbone_cls=BackboneWithLosses, dropout=0.0)
    x, y, weights = make_batch()
    tokens = keras.ops.convert_to_numpy(model.loss(y, model(x), weights))
    added = sum(map(keras.ops.convert_to_numpy, model.losses))
    assert added > 0.5
    assert_close(model.test_on_batch(x, y, weights)[0], tokens + added, rtol=1e-5)
    assert_close(model.train_on_batch(x, y, weights)[0], tokens + added, rtol=1e-5)


class BlockWithAMetric(EncoderBlock):
    """A block that measures its outputs, in a metric that a model finds and reports."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.size = keras.metrics.Mean(name="size_of_outputs")

    def call(self, x, *args, **kwargs):
        y = super().call(x, *args, **kwargs)
        self.size.update_state(keras.ops.mean(keras.ops.abs(y)))
        return y


class BackboneWithAMetric(TransformerBackbone):
    encoder_block_cls = BlockWithAMetric


@pytest.mark.skipif(BACKEND == "jax", reason="Keras has no metrics in layers on JAX.")
def test_metrics_of_own_parts_are_reported():
    model = make_model(backbone_cls=BackboneWithAMetric)
    (x, y, weights), names = make_batch(), ("loss", "accuracy", "perplexity", "size_of_outputs")
    history = model.fit(x, y, sample_weight=weights, validation_data=(x, y), verbose=0).history
    assert history.keys() == {*names, *(f"val_{name}" for name in names)}
    assert min(history["size_of_outputs"] + history["val_size_of_outputs"]) > 0.1


@not_torch
def test_metrics_begin_anew_with_every_evaluation():
    """Keras resets those alone that it has seen computed."""
    model, (x, y, weights) = make_model(), make_batch()

    def evaluate():
        return model.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)

    first = evaluate()
    assert_close(list(evaluate().values()), list(first.values()))
    model.fit(x, y, sample_weight=weights, epochs=2, verbose=0)
    changed = evaluate()
    assert changed["perplexity"] < first["perplexity"]
    assert_close(list(evaluate().values()), list(changed.values()))


@not_torch
def test_batches_of_different_sizes_count_as_in_keras():
    x, y, weights = make_batch()
    ours, keras_own = (
        make_model(metrics=metrics).evaluate(
            x, y, sample_weight=weights, batch_size=4, verbose=0, return_dict=True
        )
        for metrics in (None, [logits_metric()])
    )
    assert_close(list(ours.values()), [keras_own[name] for name in ours], rtol=1e-5)


@not_torch
def test_a_step_without_metrics():
    model = make_model(weighted_metrics=[])
    history = model.fit(*make_batch()[:2], epochs=2, verbose=0).history
    assert list(history) == ["loss"]
    assert history["loss"][1] < history["loss"][0]


def test_a_training_after_one_that_was_restored_has_all_its_epochs(tmp_path):
    """Keras went on counting from the restored epoch, and trained for none."""
    model, (x, y, weights) = make_model(weighted_metrics=[], **EAGER), make_batch()

    def fit(epochs, *callbacks):
        fitted = model.fit(
            x, y, sample_weight=weights, epochs=epochs, callbacks=callbacks, verbose=0
        )
        return fitted.epoch

    def backup():
        return keras.callbacks.BackupAndRestore(tmp_path, delete_checkpoint=False)

    assert fit(1, backup()) == [0]
    assert fit(2, backup()) == [1]  # restored
    assert fit(1) == [0]


@pytest.mark.skipif(BACKEND != "tensorflow", reason="Elsewhere the steps are Keras'.")
def test_a_step_without_variables_to_train():
    frozen = make_model()
    frozen.trainable = False
    frozen.compile(optimizer=keras.optimizers.SGD(0.1))
    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        frozen.train_on_batch(*make_batch())


@only_jax
def test_an_own_training_step_gets_logits():
    """It got `TokenStatistics`, which `ops.argmax` turned into meaningless numbers."""
    model = make_model(cls=WithItsOwnStep)
    model.train_on_batch(*make_batch())
    assert model.predicted == (B, T, V)


class OneBatch(keras.utils.PyDataset):
    """A `PyDataset` of a batch, read twice an epoch, that counts the epochs."""

    def __init__(self, batch):
        super().__init__()
        self.batch, self.epochs = batch, 0

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.batch

    def on_epoch_end(self):
        self.epochs += 1


def as_loader(batch):
    torch = pytest.importorskip("torch")
    return torch.utils.data.DataLoader([batch, batch], batch_size=None)


SOURCES = {
    "PyDataset": OneBatch,
    "generator": lambda batch: (each for each in [batch] * 4),
    "DataLoader": as_loader,
}


@pytest.mark.parametrize("make_source", slow_but(["generator"], SOURCES))
def test_batches_of_token_ids_train_as_arrays_do(make_source):
    batch = make_batch()
    history = (
        make_model(dropout=0.0, **EAGER)
        .fit(
            make_source(batch),
            epochs=2,
            steps_per_epoch=2,
            validation_data=OneBatch(batch),
            verbose=0,
        )
        .history
    )
    expected, model = [], make_model(dropout=0.0, **EAGER)
    for _ in range(2):
        for _ in range(2):
            model.train_on_batch(*batch)
        expected.append(model.test_on_batch(*batch, return_dict=True)["loss"])
        model.reset_metrics()
    assert_close(history["val_loss"], expected, rtol=1e-4)


TEXT = {"encoder_text": ["a red bus", "two birds"], "decoder_text": ["ein roter Bus", "zwei Vögel"]}


def make_text_model(model_cls=TransformerSeq2SeqLM):
    keras.utils.set_random_seed(1)
    tokenizer = TransformerTokenizer.train([*TEXT["encoder_text"], *TEXT["decoder_text"]], 34)
    backbone = TransformerBackbone(
        34, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32, dropout=0.0
    )
    model = model_cls(backbone, TransformerSeq2SeqLMPreprocessor(tokenizer, 16, 16))
    model.compile(optimizer=keras.optimizers.SGD(0.1), **EAGER)
    return model


@pytest.mark.parametrize("make_source", slow_but(["PyDataset"], SOURCES))
def test_batches_of_strings_are_those_of_a_dictionary_of_strings(make_source):
    expected = make_text_model().fit(
        TEXT, batch_size=2, epochs=2, shuffle=False, validation_data=TEXT, verbose=0
    )
    source = OneBatch(TEXT) if make_source is OneBatch else make_source(TEXT)
    found = make_text_model().fit(
        source, epochs=2, steps_per_epoch=1, validation_data=TEXT, verbose=0
    )
    for name, values in expected.history.items():
        assert_close(found.history[name], values, rtol=1e-4)


def test_batches_are_evaluated_and_predicted():
    model = make_text_model()
    assert_close(
        model.evaluate(OneBatch(TEXT), verbose=0), model.evaluate(TEXT, batch_size=2, verbose=0)
    )
    logits = model.predict(OneBatch(TEXT), verbose=0)
    assert_close(logits[:2], model.predict(TEXT, batch_size=2, verbose=0))


@pytest.mark.parametrize("name", ["encoder_token_ids", "decoder_token_ids", "y"])
@pytest.mark.parametrize("value", [-100, V])
def test_token_ids_that_a_model_does_not_have_are_refused(name, value):
    """JAX learned them without a word."""
    model, (x, y, weights) = make_model(), make_batch()
    data = {**x, "y": y}
    data[name] = data[name].copy()
    data[name][1, 2] = value
    y = data.pop("y")
    shown = "y" if name == "y" else rf'x\["{name}"\]'
    uses = [model.fit, model.evaluate, model.train_on_batch, model.test_on_batch]
    for use in (*uses, *([] if name == "y" else [model.predict, model.predict_on_batch])):
        options = {"sample_weight": weights} if use in uses else {}
        with pytest.raises(ValueError, match=rf"`{shown}` must have .* to {V - 1}\..*: {value}\."):
            use(data, *([y] if use in uses else []), **options)


def test_labels_for_a_loss_of_ones_own_are_its_own_matter():
    model, (x, y, _) = make_model(), make_batch()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-100)
    model.compile("sgd", loss, weighted_metrics=[])
    assert np.isfinite(model.evaluate(x, np.where(y % 2, y, -100), verbose=0))


def test_a_data_set_is_told_when_an_epoch_ends():
    source = OneBatch(TEXT)
    make_text_model().fit(source, epochs=3, verbose=0)
    assert source.epochs >= 3  # Keras may look at the first batch before


ENGLISH, GERMAN = TEXT.values()
IN_MEMORY = {
    "sources and targets": (ENGLISH, GERMAN),
    "arrays": (np.array(ENGLISH), np.array(GERMAN, dtype=object)),
    "a dictionary of arrays": ({name: np.array(texts) for name, texts in TEXT.items()},),
}


def loss_of(*data, **options):
    return make_text_model().evaluate(*data, batch_size=2, verbose=0, **options)[0]


@pytest.mark.parametrize("data", slow_but(["arrays"], IN_MEMORY))
def test_texts_in_memory_may_be_lists_and_arrays(data):
    assert_close(loss_of(*data), loss_of(TEXT), rtol=1e-5)
    history = make_text_model().fit(*data, batch_size=1, validation_split=0.5, verbose=0).history
    model = make_text_model()
    first, last = ({name: texts[i : i + 1] for name, texts in TEXT.items()} for i in (0, 1))
    model.fit(first, batch_size=1, verbose=0)
    assert_close(history["val_loss"], [model.evaluate(last, verbose=0)[0]], rtol=1e-4)


def test_pairs_of_a_tf_data_set_are_sources_and_targets():
    tf = pytest.importorskip("tensorflow")
    weights = np.array([1.0, 3.0], "float32")
    data = tf.data.Dataset.from_tensor_slices((ENGLISH, GERMAN, weights)).batch(2)
    found = make_text_model().evaluate(data, verbose=0)[0]
    assert_close(found, loss_of(ENGLISH, GERMAN, sample_weight=weights), rtol=1e-5)


def test_weights_of_pairs_multiply_those_of_their_tokens():
    model = make_text_model()
    x, y, token_weights = model.preprocessor(TEXT)
    weights = keras.ops.convert_to_numpy(token_weights) * np.array([[0.0], [2.0]], "float32")
    expected = keras.Model.test_on_batch(model, x, y, weights)[0]
    found = loss_of(TEXT, sample_weight=[0.0, 2.0])
    assert_close(found, expected, rtol=1e-5)
    assert abs(found - loss_of(TEXT)) > 1e-4
    with pytest.raises(
        ValueError, match=r"one weight for each pair, shape `\(B,\)`. Received: shape"
    ):
        loss_of(TEXT, sample_weight=np.ones((2, 3)))


@pytest.mark.parametrize("shape", slow_but(["(B,)"], {"(B,)": (B,), "(B, 1)": (B, 1)}))
def test_weights_of_rows_of_token_ids_are_those_of_their_tokens(shape):
    x, y, _ = make_batch()
    weights = np.arange(1.0, B + 1)
    of_tokens = np.repeat(weights[:, None], T, axis=1)
    logs, expected = (
        [model.train_on_batch(x, y, given), model.test_on_batch(x, y, given)]
        for model, given in [
            (make_model(dropout=0.0), weights.reshape(shape)),
            (make_model(dropout=0.0), of_tokens),
        ]
    )
    assert_close(logs, expected, rtol=1e-5)


def test_texts_in_memory_come_in_a_new_order_each_epoch():
    texts = [f"a {i}" for i in range(40)]
    batches = TextBatches((texts, texts, None), 8, shuffle=True)
    epochs = []
    for _ in range(2):
        order = [text for i in range(batches.num_batches) for text in batches[i][0]]
        assert sorted(order) == sorted(texts)
        epochs.append(order)
        batches.on_epoch_end()
    assert epochs[0] != epochs[1] != texts
    in_order = TextBatches((texts, texts, None), 8, shuffle=False)
    assert [text for i in range(5) for text in in_order[i][1]] == texts


@pytest.mark.parametrize("steps_per_epoch", [2, 5])
def test_epochs_shorter_than_a_pass_read_every_text_once_before_any_twice(steps_per_epoch):
    class Noting(TransformerSeq2SeqLM):
        def train_step(self, *args):
            seen.append(int(keras.ops.max(args[-1][2])))
            return super().train_step(*args)

    seen = []
    model = make_text_model(Noting)
    model.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    options = {"sample_weight": range(10), "steps_per_epoch": steps_per_epoch, "verbose": 0}
    model.fit(ENGLISH * 5, GERMAN * 5, 1, epochs=20 // steps_per_epoch, **options)
    passes = seen[:10], seen[10:]
    for each in passes:
        assert sorted(each) == list(range(10)) != each
    assert passes[0] != passes[1]


def test_what_cannot_be_used_is_refused_by_name():
    model = make_text_model()
    pairs = OneBatch((ENGLISH, GERMAN))
    for match, call in {
        "`class_weight` cannot weight tokens": lambda: model.fit(TEXT, class_weight={0: 1.0}),
        r"equal length. Received: lengths \[1, 2\]\.": lambda: model.train_on_batch(ENGLISH, ["a"]),
        r"equal length. Received: lengths \[2, 3\]\.": lambda: model.test_on_batch(
            {"encoder_text": ENGLISH, "decoder_text": ["a"] * 3}
        ),
        r"number. Received: sources: 2, targets: 1\.": lambda: model.preprocessor(ENGLISH, ["a"]),
        r"number. Received: sources: one .* targets: 1\.": lambda: model.preprocessor("a", ["a"]),
        "must be strings. Received: text 0 is None": lambda: model.predict_on_batch(
            {"encoder_text": [None, "a"], "decoder_text": GERMAN}
        ),
        "`x` must be texts, or data .* Received: None": lambda: model.evaluate(None),
        r"must be UTF-8. Received: text . is 'a \\ud800'": lambda: model.fit(
            ENGLISH, ["a", "a \ud800"]
        ),
        "`class_weight` cannot weight .* class_weight={0: 2.0}": lambda: model.train_on_batch(
            TEXT, class_weight={0: 2.0}
        ),
        "`y` cannot be given beside a dictionary of texts": lambda: model.fit(TEXT, np.zeros(2)),
        "need sources and targets": lambda: model.fit(ENGLISH),
        r"must be of equal length. Received: lengths \[1, 2\]": lambda: model.fit(ENGLISH, ["a"]),
        r"Missing: \['decoder_text'\]": lambda: model.evaluate({"encoder_text": ENGLISH}),
        "must be lists or arrays of strings. Received: 'a red bus'": lambda: model.fit(
            "a red bus", "ein roter Bus"
        ),
        "`y` must not be given: `x`, a OneBatch, gives it": lambda: model.fit(pairs, GERMAN),
        "`sample_weight` must not be given: `x`, a OneBatch, gives": lambda: model.evaluate(
            pairs, sample_weight=[1.0, 1.0]
        ),
        "`batch_size` cannot be given beside a OneBatch": lambda: model.fit(pairs, batch_size=2),
        "`validation_split` splits texts in memory": lambda: model.fit(pairs, validation_split=0.5),
        "`validation_split`=0.9999 leaves nothing": lambda: model.fit(
            TEXT, validation_split=0.9999
        ),
    }.items():
        with pytest.raises(ValueError, match=match):
            call()


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "torch", reason="PyTorch runs a step as it is.")
def test_a_step_is_traced_once():
    model, traced = make_model(), []
    model.compile()  # Adam, which has variables for every weight
    train_step = model.train_step

    def counted(*args):
        traced.append(args)
        return train_step(*args)

    model.train_step = counted
    for _ in range(2):
        model.train_on_batch(*make_batch())
    assert len(traced) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda backbone: setattr(backbone.encoder_blocks[0], "trainable", False),
        lambda backbone: backbone.decoder_blocks[0].feed_forward.hidden_dense.enable_lora(2),
    ],
    ids=["frozen", "adapted"],
)
def test_other_variables_are_trained_once_the_model_is_compiled_anew(change):
    model = make_model()
    x, y, weights = make_batch()
    model.train_on_batch(x, y, weights)
    change(model.backbone)
    with pytest.raises(RuntimeError, match=r"The trainable variables .*call `model\.compile"):
        model.train_on_batch(x, y, weights)
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    weights_of = model.backbone.weights
    before = [keras.ops.convert_to_numpy(variable) for variable in weights_of]
    for _ in range(2):  # the first one leaves the one half of an adapter as it is
        model.train_on_batch(x, y, weights)
    after = [keras.ops.convert_to_numpy(variable) for variable in weights_of]
    changed = [np.any(now != then) for now, then in zip(after, before, strict=True)]
    assert changed == [variable.trainable for variable in weights_of]
    assert not all(changed)


@only_jax
def test_gradients_of_float16_are_scaled_before_they_are_rounded():
    """Here every token has so small a weight that float16 rounds its gradient to nothing."""
    x, y, weights = make_batch()
    after = []
    for dtype in ("float32", "mixed_float16"):
        model = make_model(dtype=dtype)
        loss = LabelSmoothedCrossEntropy(reduction="sum")
        model.compile(optimizer=keras.optimizers.SGD(1e7), loss=loss)
        before = keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings)
        model.train_on_batch(x, y, weights / 2e7)
        after.append(keras.ops.convert_to_numpy(model.backbone.token_embedding.embeddings) - before)
    assert np.abs(after[1] - after[0]).max() < 0.02 * np.abs(after[0]).max()


def test_grain_data_in_its_own_order_is_fitted_without_a_warning():
    grain = pytest.importorskip("grain")
    data = grain.MapDataset.source([make_batch()]).repeat(4).to_iter_dataset()
    history = make_model().fit(data, epochs=2, steps_per_epoch=2, verbose=0).history
    assert history["loss"][1] < history["loss"][0]
