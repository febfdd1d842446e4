"""Training steps that need less time and memory than Keras' own."""

from types import SimpleNamespace

import keras
import keras_hub
from keras import ops

from aiayn_keras.backend import (
    begin_computing,
    build_optimizer,
    projected_cross_entropy,
    projects_in_loss,
)
from aiayn_keras.layers import ReversibleEmbedding
from aiayn_keras.models.batch_sources import (
    is_batch_source,
    preprocessed_arrays,
    preprocessed_batches,
)
from aiayn_keras.models.transformer_seq2seq_lm_preprocessor import refuse_beside_text
from aiayn_keras.optimization import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    TokenAccuracy,
    TokenStatistics,
)

_REDUCTIONS = ("mean_with_sample_weight", "sum")
"""Reductions of the loss that are sums of weighted losses."""


class TrainingSteps(keras_hub.models.Seq2SeqLM):
    """Steps of `fit` and `evaluate`.

    The logits of all positions take most of a step's memory, and passes over them much of its time.
    On JAX, with this package's loss and metrics, the loss is computed from the hidden states, and
    `TokenStatistics` replace the logits. Otherwise the steps are Keras' own.
    """

    _compiled_metrics = SimpleNamespace(of_tokens=None)

    def compile(self, *args, metrics=None, weighted_metrics=None, **kwargs):
        """Compiles the model, see `keras.Model.compile`."""
        super().compile(*args, metrics=metrics, weighted_metrics=weighted_metrics, **kwargs)
        of_tokens = tuple(weighted_metrics or ())
        are_ours = all(isinstance(metric, (TokenAccuracy, Perplexity)) for metric in of_tokens)
        is_plain = not metrics and kwargs.get("loss_weights") is None
        # Not a plain attribute, which Keras would take for further metrics.
        self._compiled_metrics = SimpleNamespace(
            of_tokens=of_tokens if are_ours and is_plain else None
        )

    def fit(self, x=None, y=None, *args, validation_data=None, class_weight=None, **kwargs):
        """Trains the model, see `keras.Model.fit`.

        Raises:
            ValueError: For `class_weight`, since every token has a class of its own, and for
                batches that give `y` or `sample_weight` beside text.
            RuntimeError: In a process that was forked after a model was used.
        """
        begin_computing()
        if class_weight is not None:
            raise ValueError(
                "`class_weight` cannot weight tokens: give `sample_weight` with arrays of token "
                f"ids. Received: class_weight={class_weight}."
            )
        self._refuse_beside_text(y, kwargs)
        if not is_batch_source(x):
            if is_batch_source(validation_data):
                raise ValueError(
                    "`validation_data` must be arrays, strings, a `tf.data.Dataset` or a Grain "
                    f"data set if `x` is one of them. Received: {type(validation_data).__name__}."
                )
            return super().fit(x, y, *args, validation_data=validation_data, **kwargs)
        x, kwargs["steps_per_epoch"] = self._batches(x, y, kwargs.get("steps_per_epoch"))
        if is_batch_source(validation_data):
            validation_data, kwargs["validation_steps"] = self._batches(
                validation_data, None, kwargs.get("validation_steps")
            )
        elif hasattr(validation_data, "map"):  # of tf.data or Grain
            validation_data = validation_data.map(
                lambda *batch: self.preprocess_samples(*keras.utils.unpack_x_y_sample_weight(batch))
            )
        elif validation_data is not None:
            validation_data = preprocessed_arrays(validation_data, self.preprocess_samples)
        return keras.Model.fit(self, x, None, *args, validation_data=validation_data, **kwargs)

    def evaluate(self, x=None, y=None, *args, **kwargs):
        """Measures loss and metrics, see `keras.Model.evaluate`."""
        begin_computing()
        if kwargs.get("_use_cached_eval_dataset"):  # by `fit`, which has preprocessed the data
            return keras.Model.evaluate(self, x, y, *args, **kwargs)
        self._refuse_beside_text(y, kwargs)
        if not is_batch_source(x):
            return super().evaluate(x, y, *args, **kwargs)
        x, kwargs["steps"] = self._batches(x, y, kwargs.get("steps"))
        return keras.Model.evaluate(self, x, None, *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Computes logits, see `keras.Model.predict`."""
        begin_computing()
        if not is_batch_source(x):
            return super().predict(x, *args, **kwargs)
        x, kwargs["steps"] = self._batches(x, None, kwargs.get("steps"))
        return keras.Model.predict(self, x, *args, **kwargs)

    def _refuse_beside_text(self, y, arguments):
        """Refuses `y` and `sample_weight`, which KerasHub would drop without a word."""
        if self.preprocessor is not None:
            refuse_beside_text(y=y, sample_weight=arguments.get("sample_weight"))

    def _batches(self, x, y, steps):
        """Returns preprocessed batches, and how many of them make an epoch if that is known."""
        if y is not None:
            raise ValueError(f"`y` must not be given: `x`, a {type(x).__name__}, gives the labels.")
        batches, num_batches = preprocessed_batches(x, self.preprocess_samples)
        return batches, num_batches if steps is None else steps

    def make_train_function(self, force=False):
        """Compiles the step, see `keras.Model.make_train_function`."""
        begin_computing()
        build_optimizer(self)
        return super().make_train_function(force)

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
        if not self._projects_in_loss():
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
        with keras.StatelessScope(state_mapping=mapping) as scope:
            loss, statistics = self._loss_and_statistics(x, y, sample_weight, training)
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
        for metric in self._compiled_metrics.of_tokens:
            metric.update_from_statistics(y_pred, sample_weight)
        of_loss = [metric for metric in self.metrics if metric.name == "loss"]
        metrics = (*of_loss, *self._compiled_metrics.of_tokens)
        return {metric.name: metric.result() for metric in metrics}

    def _projects_in_loss(self):
        embedding = self.backbone.token_embedding
        return (
            projects_in_loss()
            and self._compiled_metrics.of_tokens is not None
            and type(self.loss) is LabelSmoothedCrossEntropy
            and self.loss.reduction in _REDUCTIONS
            and embedding.quantization_mode is None
            and embedding.logits_bias is None
            and type(embedding) is ReversibleEmbedding  # not one whose `call` is another
            # float16 gradients must be scaled before they are rounded.
            and self.backbone.compute_dtype != "float16"
            and not self.losses
            # A subclass's own computation must not be bypassed.
            and type(self).call is keras_hub.models.Seq2SeqLM.call
            and type(self).compute_loss is keras_hub.models.Seq2SeqLM.compute_loss
        )

    def _loss_and_statistics(self, x, y, sample_weight, training):
        hidden_states = self.backbone(x, training=training)["decoder_sequence_output"]
        embedding = self.backbone.token_embedding
        matrix = embedding.matrix() if embedding.tie_weights else embedding.output_kernel().T
        weights = ops.ones(y.shape) if sample_weight is None else ops.cast(sample_weight, "float32")
        if self.loss.reduction == "mean_with_sample_weight":
            weights = ops.divide_no_nan(weights, ops.sum(weights))
        loss, *statistics = projected_cross_entropy(
            hidden_states, matrix, y, weights, self.loss.label_smoothing
        )
        return loss, TokenStatistics(*statistics)
