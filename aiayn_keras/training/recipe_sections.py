"""The sections of a recipe: fields, defaults and limits; `corpus` and `model` are beside it."""

import contextlib
import dataclasses
from typing import Literal

import pydantic

from aiayn_keras.backend import bfloat16_products
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.models.architecture import INTEGERS
from aiayn_keras.optimization import paper_adam
from aiayn_keras.training import recipe_limits as limits
from aiayn_keras.training.bleu import check_bleu_tokenizer
from aiayn_keras.training.recipe_limits import Share, count, number, type_of_search_option


class Section(pydantic.BaseModel):
    """Base of the sections: refuses unknown fields, infinite numbers, and checks the others."""

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False
    )


class TokenizerSection(Section):
    """The vocabulary, learned from both sides of the training text.

    With `model.initial` nothing is learned: only `sampling_alpha` may be given then.

    Attributes:
        vocabulary_size: Number of tokens, the four special ones included.
        model_type: `"bpe"` or `"unigram"`.
        normalization: Name of one of SentencePiece's normalizations.
        whole_target_words: Whether every word of the targets is one token, for targets of few
            distinct words, such as linearized trees; wordpieces are learned from the sources alone.
        sampling_alpha: If given, words of the training text are split anew in each epoch: the
            probability of BPE dropout, or a unigram model's smoothing; see `SampledPairs`.
    """

    vocabulary_size: count(INTEGERS["vocabulary_size"][1], least=8) | None = None
    model_type: Literal["bpe", "unigram"] = "bpe"
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    whole_target_words: bool = False
    sampling_alpha: number(gt=0.0, lt=1.0) | None = None


class AugmentationSection(Section):
    """Other kinds of text made of the training pairs before anything else; see `augment`.

    Attributes:
        joined: Share of the pairs that become parts of texts of two to four sentences.
        lower_cased: Share of the texts whose source is lower-cased.
        unpunctuated: Share of the texts that lose their final mark.
    """

    joined: Share = 0.0
    lower_cased: Share = 0.0
    unpunctuated: Share = 0.0


class BatchesSection(Section):
    """Batches of similar lengths (paper 5.1), or of packed rows.

    Attributes:
        tokens_per_batch: Most positions of a batch on either side, padding included.
        max_shapes: Most distinct batch shapes, without packing.
        packing: Whether several pairs share a row: one shape, least padding; see `PackedBatches`.
        max_length: Pairs with a longer side, in tokens, are dropped.
        max_ratio: Pairs with a greater ratio of lengths are dropped; see `filter_pairs`.
    """

    tokens_per_batch: count(limits.MOST_TOKENS) = 25_000
    max_shapes: count(limits.MOST_SHAPES) = 8
    packing: bool = False
    max_length: count(INTEGERS["max_sequence_length"][1]) = 250
    max_ratio: number(ge=1.0, le=limits.GREATEST_RATIO) | None = 3.0


class OptimizerSection(Section):
    """Adam with the warm-up schedule, and the loss (paper 5.3 and 5.4).

    Attributes:
        warmup_steps: Updates until the peak of the learning rate.
        peak_learning_rate: The peak; `(hidden_dim · warmup_steps)^-0.5` if not given.
        label_smoothing: The paper's ε_ls; the preset's if not given.
        gradient_accumulation_steps: Batches of an update. All other fields count updates.
        ema_momentum: If given, validation and the final model use an exponential moving average
            (EMA) of the weights instead of the weights; each update keeps this share of it. It is
            not debiased: the first weights still weigh 37 % after 1,000 updates at 0.999.
    """

    warmup_steps: count(limits.MOST_UPDATES) = 4000
    peak_learning_rate: number(gt=0.0, le=limits.GREATEST_RATE) | None = None
    label_smoothing: number(ge=0.0, le=0.99) | None = None
    gradient_accumulation_steps: count(limits.MOST_BATCHES) = 1
    ema_momentum: number(gt=0.0, lt=1.0) | None = None

    def build(self, hidden_dim):
        """Makes the optimizer for a model of width `hidden_dim`."""
        return paper_adam(hidden_dim, **self.model_dump(exclude={"label_smoothing"}))


class TrainingSection(Section):
    """Length and precision of the training, its devices, and the choice of the model.

    Attributes:
        updates: Number of optimizer updates, a multiple of `checkpoint_every`.
        checkpoint_every: Updates between checkpoints, each with a validation loss.
        bleu_every: Updates between validation BLEUs, a multiple of `checkpoint_every`.
        average_checkpoints: The model is the mean of this many last checkpoints (paper 6.1).
        monitor: Validation figure by which checkpoints are compared, `"loss"` or `"bleu"`.
        patience: Number of measurements of `monitor` in a row without a better one after which the
            training ends; endless if not given.
        keep_best: Whether the model is the best checkpoint by `monitor` instead of the mean.
        precision: A Keras dtype policy; or `"bfloat16_products"`: float32, with matrix products
            in bfloat16, which is fastest on CPUs with TensorFlow. `"mixed_float16"` leaves out
            batches whose gradients overflow, so that the batches of an update
            (`gradient_accumulation_steps`) begin one later for each.
        jit_compile: Whether XLA compiles the training step; if not given, on JAX only.
        devices: `"one"`; `"data_parallel"`: every device has the model and a share of each batch;
            or `"model_parallel"`, on JAX: devices share a model as well. See docs/devices.md.
        model_parallel_size: Devices that share a model, for `"model_parallel"`.
        seed: Seed of the first weights, the order of batches and dropout.
    """

    updates: count(limits.MOST_UPDATES)
    checkpoint_every: count(limits.MOST_UPDATES)
    bleu_every: count(limits.MOST_UPDATES)
    average_checkpoints: count(limits.MOST_CHECKPOINTS) = 5
    monitor: Literal["loss", "bleu"] = "loss"
    patience: count(limits.MOST_CHECKPOINTS) | None = None
    keep_best: bool = False
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16", "bfloat16_products"] = (
        "float32"
    )
    jit_compile: bool | None = None
    devices: Literal["one", "data_parallel", "model_parallel"] = "one"
    model_parallel_size: count(limits.MOST_DEVICES, least=2) | None = None
    seed: count(limits.GREATEST_SEED, least=0) = 1

    @property
    def dtype(self):
        """The model's Keras dtype policy."""
        return "float32" if self.precision == "bfloat16_products" else self.precision

    def matmul_precision(self):
        """Context manager in which matrix products have the recipe's precision.

        Raises:
            ValueError: If the backend does not have it.
        """
        if self.precision == "bfloat16_products":
            return bfloat16_products()
        return contextlib.nullcontext()

    @pydantic.model_validator(mode="after")
    def _multiples(self):
        for name in ("updates", "bleu_every"):
            if getattr(self, name) % self.checkpoint_every:
                raise ValueError(
                    f"`{name}`={getattr(self, name)} must be a multiple of "
                    f"`checkpoint_every`={self.checkpoint_every}"
                )
        return self

    @pydantic.model_validator(mode="after")
    def _measured_monitor(self):
        decides = self.patience is not None or self.keep_best
        if self.monitor == "bleu" and decides and self.bleu_every > self.updates:
            raise ValueError(
                f"`bleu_every`={self.bleu_every} must be at most `updates`={self.updates}, or BLEU "
                "is never measured, by which `patience` and `keep_best` go"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _precision_without_xla(self):
        if self.precision == "bfloat16_products" and self.jit_compile:
            raise ValueError(
                "`precision`=bfloat16_products does not go with `jit_compile`, since XLA would "
                "compute in float32: leave out one of them"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _size_of_model_parallel(self):
        if (self.devices == "model_parallel") != (self.model_parallel_size is not None):
            raise ValueError(
                "`model_parallel_size` and `devices: model_parallel` need each other. "
                f"Received: devices={self.devices}, model_parallel_size={self.model_parallel_size}"
            )
        return self


class _EvaluationBase(Section):
    """The search for translations (paper 6.1), by the fields of `SearchOptions`, and their BLEU.

    Attributes:
        bleu_tokenizer: sacreBLEU's tokenizer; `"none"` for text that is tokenised.
        lowercase: Whether BLEU ignores case.
    """

    bleu_tokenizer: str = "13a"
    lowercase: bool = False

    @pydantic.field_validator("bleu_tokenizer")
    @classmethod
    def _known(cls, name):
        return check_bleu_tokenizer(name)

    def search_options(self):
        """Makes the `SearchOptions`, which refuse what does not go together."""
        return SearchOptions(**self.model_dump(exclude={"bleu_tokenizer", "lowercase"}))

    @pydantic.model_validator(mode="after")
    def _searchable(self):
        self.search_options()
        return self


EvaluationSection = pydantic.create_model(
    "EvaluationSection",
    __base__=_EvaluationBase,
    **{
        field.name: (type_of_search_option(field), field.default)
        for field in dataclasses.fields(SearchOptions)
        if field.name != "num_return_sequences"
    },
)
