"""Training steps that need less time and memory than Keras' own."""

from types import SimpleNamespace

import keras
import keras_hub

from aiayn_keras.backend import (
    TRAINABLE_HAVE_CHANGED,
    begin_computing,
    build_optimizer,
    compiles_by_default,
    has_own_steps,
    keeps_variables,
    test_step,
    train_step,
)
from aiayn_keras.common.weight_files import (
    check_depth,
    check_file_of_model,
    check_weight_file,
    keeping_adapters_alive,
)
from aiayn_keras.models.architecture import FixedParts
from aiayn_keras.models.batch_sources import (
    gives_batches,
    is_grain,
    is_iterated,
    preprocessed_batches,
    split_texts,
    texts_of_batch,
)
from aiayn_keras.models.model_folder import WEIGHTS
from aiayn_keras.models.token_id_checks import with_checked_ids
from aiayn_keras.models.token_losses import computes_statistics, loss_and_statistics
from aiayn_keras.optimization import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    TokenAccuracy,
    TokenStatistics,
)

_CROSS_ENTROPIES = ("sparse_categorical_crossentropy", "categorical_crossentropy")
_OF_PROBABILITIES = (
    *(*_CROSS_ENTROPIES, "crossentropy", "ce"),
    *("SparseCategoricalCrossentropy", "CategoricalCrossentropy"),
    *(getattr(keras.losses, name) for name in _CROSS_ENTROPIES),
)
"""Losses and metrics that Keras, if they have no arguments, computes from probabilities."""


class TrainingSteps(FixedParts, keras_hub.models.Seq2SeqLM):
    """Steps of `fit` and `evaluate`.

    The logits of all positions take most of a step's memory, and passes over them much of its time.
    On JAX and TensorFlow, with this package's loss and metrics, the loss is computed from the
    hidden states, and `TokenStatistics` replace the logits. On TensorFlow, the rows of a batch may
    be divided among the cores (`backend.divide_batches_among_cores`), unless a part of the user's
    own might look at several rows. Otherwise the steps are Keras' own.
    """

    parts = ("backbone",)
    _compiled_metrics = SimpleNamespace(of_tokens=None)
    _trained = ()

    def compile(self, *args, metrics=None, weighted_metrics=None, **kwargs):
        """Compiles the model, see `keras.Model.compile`.

        Raises:
            ValueError: For a loss or metric that takes probabilities, where the model gives logits.
        """
        if type(self).call is keras_hub.models.Seq2SeqLM.call:
            _refuse_probabilities(
                loss=kwargs.get("loss"), metrics=metrics, weighted_metrics=weighted_metrics
            )
        self._compiles_by_default = "jit_compile" not in kwargs
        # Keras warns of `jit_compile` beside `run_eagerly`, even if only one of them was given.
        is_eager = kwargs.get("run_eagerly")
        kwargs.setdefault("jit_compile", compiles_by_default() and not is_eager)
        super().compile(*args, metrics=metrics, weighted_metrics=weighted_metrics, **kwargs)
        of_tokens = tuple(weighted_metrics or ())
        # Not those derived from them, which may do something else with the logits.
        are_ours = all(type(metric) in (TokenAccuracy, Perplexity) for metric in of_tokens)
        is_plain = not metrics and kwargs.get("loss_weights") is None
        # Not a plain attribute, which Keras would take for further metrics.
        self._compiled_metrics = SimpleNamespace(
            of_tokens=of_tokens if are_ours and is_plain else None
        )

    def get_compile_config(self):
        """The arguments of `compile` for a `.keras` file, see `keras.Model.get_compile_config`.

        `jit_compile` is among them only if it was given; the default depends on the backend.
        """
        config = super().get_compile_config()
        if config and self._compiles_by_default:
            del config["jit_compile"]
        return config

    def compile_from_config(self, config):
        """Compiles as a loaded `.keras` file specifies, which holds the sampler elsewhere."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def load_weights(self, filepath, **kwargs):
        """Loads what `save_weights` or `save` wrote, see `keras.Model.load_weights`.

        LoRA adapters, which a file has merged into the matrices beside them, begin anew.

        Raises:
            OSError: If the file does not exist.
            ValueError: If the file is damaged or of another architecture. Keras itself would load a
                deeper model's first layers and leave out the others.
        """
        if str(filepath).endswith((".h5", ".keras", ".weights.json")):  # and not of Orbax
            check_file_of_model(filepath)
            if not kwargs.get("skip_mismatch"):
                check_depth(filepath, self.backbone, is_inner=True)
        with keeping_adapters_alive(self):
            super().load_weights(filepath, **kwargs)

    def load_task_weights(self, filepath):
        """Loads weights that a derived class has in addition to the backbone's.

        Raises:
            OSError: If the file is missing or not a regular file.
            ValueError: If the model has no such weights, or the file is damaged.
        """
        if not self.has_task_weights():
            raise ValueError(
                f"{filepath} cannot belong to this model, whose weights are all in {WEIGHTS}. "
                "Delete it."
            )
        check_weight_file(filepath)
        super().load_task_weights(filepath)

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        """Trains the model, see `keras.Model.fit`.

        With a preprocessor, `x` is a dictionary of `encoder_text` and `decoder_text`, or the
        sources, with the targets as `y`; in lists, arrays, or the batches of a `tf.data.Dataset`, a
        `PyDataset`, a generator, a PyTorch `DataLoader` or a data set of Grain. `sample_weight`,
        `(B,)`, multiplies the weights of a pair's tokens. Texts in memory come in a new order each
        epoch, unless `shuffle=False`.

        Raises:
            ValueError: For `class_weight`, since every token has a class of its own; for token ids
                in arrays that the model does not have; for texts of unequal numbers; and for `y`,
                `sample_weight`, `batch_size` or `validation_split` beside data that gives batches.
            RuntimeError: In a process that was forked after a model was used.
        """
        begin_computing()
        _refuse_class_weight(class_weight)
        # `BackupAndRestore` sets it for one training; Keras would start the next ones there, too.
        self._initial_epoch = None
        options = {
            "epochs": epochs,
            "verbose": verbose,
            "callbacks": callbacks,
            "initial_epoch": initial_epoch,
            "validation_freq": validation_freq,
        }
        x, validation_data = self._with_checked_ids(x, y, validation_data)
        if is_grain(x):
            if is_iterated(validation_data):
                raise ValueError(
                    "`validation_data` must be texts or arrays, a `tf.data.Dataset` or a data set "
                    f"of Grain if `x` is of Grain. Received: {type(validation_data).__name__}."
                )
            with keeps_variables(self, is_training=True):
                return super().fit(
                    x,
                    y,
                    batch_size,
                    sample_weight,
                    validation_data,
                    validation_split,
                    shuffle=False,  # it has its own order, and Keras would warn of another one
                    steps_per_epoch=steps_per_epoch,
                    validation_steps=validation_steps,
                    **options,
                )
        # Other data has an order of its own, and Keras would warn about that.
        shuffle = shuffle and (not gives_batches(x) or isinstance(x, keras.utils.PyDataset))
        if self.preprocessor is not None:
            in_batches = gives_batches(x)
            if validation_split and validation_data is None:
                if in_batches:
                    raise ValueError(
                        "`validation_split` splits texts in memory. Give `validation_data` beside "
                        f"a {type(x).__name__}. Received: validation_split={validation_split}."
                    )
                (x, y, sample_weight), validation_data = split_texts(
                    (x, y, sample_weight), validation_split
                )
            if validation_data is not None:
                if validation_batch_size is None and not gives_batches(validation_data):
                    validation_batch_size = batch_size
                validation_data, validation_steps = self._preprocessed(
                    validation_data, validation_steps, validation_batch_size
                )
            x, steps_per_epoch = self._preprocessed(
                (x, y, sample_weight), steps_per_epoch, batch_size, shuffle
            )
            shuffle = shuffle and in_batches
            y = sample_weight = batch_size = validation_batch_size = None
            validation_split = 0.0
        with keeps_variables(self, is_training=True):
            return keras.Model.fit(
                self,
                x,
                y,
                batch_size=batch_size,
                validation_split=validation_split,
                validation_data=validation_data,
                shuffle=shuffle,
                sample_weight=sample_weight,
                steps_per_epoch=steps_per_epoch,
                validation_steps=validation_steps,
                validation_batch_size=validation_batch_size,
                **options,
            )

    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        **kwargs,
    ):
        """Measures loss and metrics, see `keras.Model.evaluate` and, for the data, `fit`."""
        begin_computing()
        is_prepared = kwargs.get("_use_cached_eval_dataset")  # by `fit`
        if not is_prepared:
            x, _ = self._with_checked_ids(x, y)
        if is_grain(x):
            kwargs.update(verbose=verbose, steps=steps)
            with keeps_variables(self):
                return super().evaluate(x, y, batch_size, sample_weight, **kwargs)
        if self.preprocessor is not None and not is_prepared:
            x, steps = self._preprocessed((x, y, sample_weight), steps, batch_size)
            y = sample_weight = batch_size = None
        with keeps_variables(self):
            return keras.Model.evaluate(
                self, x, y, batch_size, verbose, sample_weight, steps, **kwargs
            )

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """Computes logits, see `keras.Model.predict`."""
        begin_computing()
        options = {"verbose": verbose, "callbacks": callbacks}
        x, _ = self._with_checked_ids(x)
        if is_grain(x):
            with keeps_variables(self):
                return super().predict(x, batch_size, steps=steps, **options)
        if self.preprocessor is not None:
            data = x if isinstance(x, tuple) else (x, None, None)
            x, steps = self._preprocessed(data, steps, batch_size)
            batch_size = None
        with keeps_variables(self):
            return keras.Model.predict(self, x, batch_size, steps=steps, **options)

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        """Trains on one batch, see `keras.Model.train_on_batch` and, for the data, `fit`."""
        begin_computing(self)
        _refuse_class_weight(class_weight)
        batch = self._checked_batch(x, y, sample_weight)
        return super().train_on_batch(*batch, return_dict=return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Measures one batch, see `keras.Model.test_on_batch` and, for the data, `fit`."""
        begin_computing(self)
        batch = self._checked_batch(x, y, sample_weight)
        return super().test_on_batch(*batch, return_dict=return_dict)

    def predict_on_batch(self, x):
        """Computes logits of one batch, see `keras.Model.predict_on_batch`."""
        begin_computing(self)
        return super().predict_on_batch(self._checked_batch(x)[0])

    def _checked_batch(self, x, y=None, sample_weight=None):
        if self.preprocessor is not None:
            return texts_of_batch(x, y, sample_weight)
        self._with_checked_ids(x, y)
        return x, y, sample_weight

    def preprocess_samples(self, x, y=None, sample_weight=None):
        """Makes token ids of texts, see `keras_hub.models.Task`.

        Raises:
            ValueError: If the preprocessor, or a length of it, has been replaced by one that the
                backbone cannot read.
        """
        if self.preprocessor is not None:
            self.preprocessor.check_backbone(self.backbone)
        return super().preprocess_samples(x, y, sample_weight)

    def _with_checked_ids(self, x, y=None, validation_data=None):
        """Returns `x` and `validation_data`; if they hold token ids instead of texts, checked."""
        if self.preprocessor is not None:
            return x, validation_data
        has_labels = isinstance(self.loss, LabelSmoothedCrossEntropy)
        of_model = self.backbone.vocabulary_size, has_labels
        if gives_batches(validation_data):
            validation_data = with_checked_ids(validation_data, None, *of_model)
        elif validation_data is not None:
            with_checked_ids(*keras.utils.unpack_x_y_sample_weight(validation_data)[:2], *of_model)
        return with_checked_ids(x, y, *of_model), validation_data

    def _preprocessed(self, data, steps, batch_size, shuffle=False):
        """Returns preprocessed batches, and how many of them make an epoch if Keras needs that."""
        if not gives_batches(data):
            data = keras.utils.unpack_x_y_sample_weight(data)
            if gives_batches(data[0]):
                _refuse_beside_batches(*data)
                data = data[0]
        return preprocessed_batches(data, self.preprocess_samples, steps, batch_size, shuffle)

    def make_train_function(self, force=False):
        """Compiles the step, see `keras.Model.make_train_function`.

        Raises:
            RuntimeError: If the variables to train are not those of the compiled step.
        """
        begin_computing()
        trained = tuple(map(id, self.trainable_variables))
        if self.train_function is not None and not force and trained != self._trained:
            raise RuntimeError(TRAINABLE_HAVE_CHANGED)
        self._trained = trained
        build_optimizer(self)
        return super().make_train_function(force)

    def train_step(self, *args):
        """Computes an update, see `keras.Model.train_step`."""
        if has_own_steps() and self.trainable_variables and computes_statistics(self):
            return train_step(self, *args, loss_and_statistics)
        return super().train_step(*args)

    def test_step(self, *args):
        """Measures a batch, see `keras.Model.test_step`."""
        if has_own_steps() and computes_statistics(self):
            return test_step(self, *args, loss_and_statistics)
        return super().test_step(*args)

    def compute_loss_and_updates(
        self,
        trainable_variables,
        non_trainable_variables,
        metrics_variables,
        x,
        y,
        sample_weight,
        training=False,
        optimizer_variables=None,
    ):
        """The loss as a function of the variables, for Keras' JAX trainer to differentiate."""
        if not computes_statistics(self):
            return super().compute_loss_and_updates(
                trainable_variables,
                non_trainable_variables,
                metrics_variables,
                x,
                y,
                sample_weight,
                training=training,
                optimizer_variables=optimizer_variables,
            )
        mapping = [
            *zip(self.trainable_variables, trainable_variables, strict=True),
            *zip(self.non_trainable_variables, non_trainable_variables, strict=True),
        ]
        with keras.StatelessScope(state_mapping=mapping, collect_losses=True) as scope:
            loss, statistics = loss_and_statistics(self, x, y, sample_weight, training)
        non_trainable_variables = [
            scope.get_current_value(variable) for variable in self.non_trainable_variables
        ]
        scaled_loss = loss
        if training:
            mapping = zip(self.optimizer.variables, optimizer_variables, strict=True)
            with keras.StatelessScope(state_mapping=mapping):
                scaled_loss = self.optimizer.scale_loss(loss)
        return scaled_loss, (loss, statistics, non_trainable_variables, metrics_variables)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Updates the metrics from logits or `TokenStatistics`, see `keras.Model`."""
        if not isinstance(y_pred, TokenStatistics):
            return super().compute_metrics(x, y, y_pred, sample_weight)
        if self._compile_metrics is not None and not self._compile_metrics.built:
            # Keras does not reset metrics before it has seen what they are computed from.
            logits = keras.KerasTensor((*y.shape, self.backbone.vocabulary_size))
            self._compile_metrics.build(y, logits)
        for metric in self._compiled_metrics.of_tokens:
            metric.update_from_statistics(y_pred, sample_weight)
        return self.get_metrics_result()


def _refuse_probabilities(**parts):
    """Raises a ValueError for a loss or metric that would silently misread logits."""
    for name, value in parts.items():
        for part in keras.tree.flatten(value):
            if part in _OF_PROBABILITIES or getattr(part, "from_logits", True) is False:
                raise ValueError(
                    f"`{name}` must take logits, which the model gives, and not probabilities: "
                    "`keras.losses.SparseCategoricalCrossentropy(from_logits=True)`, or the metric "
                    f"of that name. Received: {name}={part!r:.100}."
                )


def _refuse_class_weight(class_weight):
    if class_weight is not None:
        raise ValueError(
            "`class_weight` cannot weight tokens: give `sample_weight`. "
            f"Received: class_weight={class_weight}."
        )


def _refuse_beside_batches(x, y, sample_weight):
    """Raises a ValueError for an argument that batches already contain."""
    for name, value in {"y": y, "sample_weight": sample_weight}.items():
        if value is not None:
            raise ValueError(
                f"`{name}` must not be given: `x`, a {type(x).__name__}, gives it with each batch."
            )
