"""The sections of a recipe: what may be set, and within which limits."""

import contextlib
from typing import Annotated, Literal

import keras
import pydantic
from pydantic import Field, PositiveInt

from aiayn_keras.backend import bfloat16_products
from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone
from aiayn_keras.optimization import WarmupSchedule
from aiayn_keras.training.bleu import check_bleu_tokenizer

Share = Annotated[float, Field(ge=0.0, lt=1.0)]
FilePair = tuple[str] | tuple[str, str]


class Section(pydantic.BaseModel):
    """Unknown fields are refused, known ones checked."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class CorpusSection(Section):
    """Where the pairs come from: a corpus by `name`, or files by path.

    Attributes:
        name: A name of `aiayn_keras.data.corpus_names()`.
        variant: Of Multi30k, `"tok"` or `"raw"`.
        train_size: Number of pairs to generate for `demo`.
        train: Two files, or one TSV file, plain or .gz; likewise `validation` and `test`.
        validation: See `train`.
        test: See `train`.
        source_language: Language code of the sources, kept with the recipe.
        target_language: Language code of the targets.
        shards: Folder of `aiayn-keras prepare` with the training pairs of this corpus; their text
            is then not read.
    """

    name: str | None = None
    variant: Literal["tok", "raw"] | None = None
    train_size: PositiveInt | None = None
    train: FilePair | None = None
    validation: FilePair | None = None
    test: FilePair | None = None
    source_language: str | None = None
    target_language: str | None = None
    shards: str | None = None

    @pydantic.model_validator(mode="after")
    def _name_or_files(self):
        if (self.name is None) == (self.train is None):
            raise ValueError("give either `name` or the files `train` and `validation`")
        if self.train is not None and self.validation is None:
            raise ValueError("`train` needs `validation`")
        return self


class TokenizerSection(Section):
    """The vocabulary, learned from both sides of the training text.

    Attributes:
        vocabulary_size: Number of tokens, the four special ones included.
        model_type: `"bpe"` or `"unigram"`.
        normalization: SentencePiece's name of a normalization.
        sampling_alpha: If given, words of the training text are split anew in each epoch: the
            probability of BPE dropout, or a unigram model's smoothing; see `SampledPairs`.
    """

    vocabulary_size: Annotated[int, Field(ge=8)]
    model_type: Literal["bpe", "unigram"] = "bpe"
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = "nmt_nfkc"
    sampling_alpha: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None


class ModelSection(Section):
    """The architecture: a preset and what differs from it; see `TransformerBackbone`.

    Attributes:
        preset: A key of `TransformerBackbone.presets`.
    """

    preset: Literal[tuple(TRANSFORMER_PRESETS)] = "transformer_base"
    num_layers: PositiveInt | None = None
    num_heads: PositiveInt | None = None
    hidden_dim: PositiveInt | None = None
    intermediate_dim: PositiveInt | None = None
    key_dim: PositiveInt | None = None
    value_dim: PositiveInt | None = None
    dropout: Share | None = None
    attention_dropout: Share | None = None
    activation_dropout: Share | None = None
    normalize_first: bool | None = None
    position_embedding: Literal["sinusoidal", "learned"] | None = None
    max_sequence_length: PositiveInt | None = None

    @property
    def sizes(self):
        """The paper's base model, what the preset changes in it, and what the recipe does."""
        return {
            "hidden_dim": 512,
            "num_heads": 8,
            "intermediate_dim": 2048,
            **TRANSFORMER_PRESETS[self.preset]["config"],
            **self.model_dump(exclude={"preset"}, exclude_none=True),
        }

    def build(self, vocabulary_size, precision):
        """Makes the `TransformerBackbone`, with random weights."""
        overrides = self.model_dump(exclude={"preset"}, exclude_none=True)
        return TransformerBackbone.from_preset(
            self.preset,
            load_weights=False,
            vocabulary_size=vocabulary_size,
            dtype=precision,
            **overrides,
        )


class BatchesSection(Section):
    """Batches of similar lengths (paper 5.1), or of packed rows.

    Attributes:
        tokens_per_batch: Most positions of a batch on either side, padding included.
        max_shapes: Most distinct batch shapes, without packing.
        packing: Whether several pairs share a row: one shape, least padding; see `PackedBatches`.
        max_length: Pairs with a longer side, in tokens, are dropped.
        max_ratio: Pairs with a greater ratio of lengths are dropped; see `filter_pairs`.
    """

    tokens_per_batch: PositiveInt = 25_000
    max_shapes: PositiveInt = 8
    packing: bool = False
    max_length: PositiveInt = 250
    max_ratio: Annotated[float, Field(ge=1.0)] | None = 3.0


class OptimizerSection(Section):
    """Adam with the warm-up schedule, and the loss (paper 5.3 and 5.4).

    Attributes:
        warmup_steps: Updates until the peak of the learning rate.
        peak_learning_rate: The peak; `(hidden_dim · warmup_steps)^-0.5` if not given.
        label_smoothing: The paper's ε_ls; the preset's if not given.
        gradient_accumulation_steps: Batches of an update. What counts updates elsewhere in the
            recipe counts these.
        ema_momentum: If given, validation and the final model use a running mean of the weights
            instead of the weights, of which each update keeps this share.
    """

    warmup_steps: PositiveInt = 4000
    peak_learning_rate: Annotated[float, Field(gt=0.0)] | None = None
    label_smoothing: Share | None = None
    gradient_accumulation_steps: PositiveInt = 1
    ema_momentum: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None

    def build(self, hidden_dim):
        """Makes the `keras.optimizers.Adam` for a model of a width."""
        batches = self.gradient_accumulation_steps
        schedule = WarmupSchedule(
            hidden_dim,
            self.warmup_steps,
            self.peak_learning_rate,
            gradient_accumulation_steps=batches,
        )
        return keras.optimizers.Adam(
            schedule,
            beta_1=0.9,
            beta_2=0.98,
            epsilon=1e-9,
            gradient_accumulation_steps=None if batches == 1 else batches,
            use_ema=self.ema_momentum is not None,
            # Keras moves the mean with every batch.
            ema_momentum=(self.ema_momentum or 0.0) ** (1 / batches),
        )


class TrainingSection(Section):
    """How long, how precise, what is kept.

    Attributes:
        updates: Number of optimizer updates, a multiple of `checkpoint_every`.
        checkpoint_every: Updates between checkpoints, each with a validation loss.
        bleu_every: Updates between validation BLEUs, a multiple of `checkpoint_every`.
        average_checkpoints: The model is the mean of this many last checkpoints (paper 6.1).
        monitor: What tells how good a checkpoint is: the validation `"loss"` or `"bleu"`.
        patience: The training ends after so many measurements of `monitor` without a better one.
        keep_best: Whether the model is the best checkpoint by `monitor` instead of the mean.
        precision: A Keras dtype policy; or `"bfloat16_products"`, float32 but for matrix products,
            the fastest on CPUs with TensorFlow.
        jit_compile: Whether XLA compiles the training step. Defaults to what
            `aiayn_keras.backend.compiles_by_default` says.
        devices: `"one"`; `"data_parallel"`: every device has the model, and a share of each
            batch; or `"model_parallel"`, with JAX: devices share a model as well. See
            docs/devices.md.
        model_shards: Devices that share a model, for `"model_parallel"`.
        seed: Of the weights, of the order of batches and of dropout.
    """

    updates: PositiveInt
    checkpoint_every: PositiveInt
    bleu_every: PositiveInt
    average_checkpoints: PositiveInt = 5
    monitor: Literal["loss", "bleu"] = "loss"
    patience: PositiveInt | None = None
    keep_best: bool = False
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16", "bfloat16_products"] = (
        "float32"
    )
    jit_compile: bool | None = None
    devices: Literal["one", "data_parallel", "model_parallel"] = "one"
    model_shards: Annotated[int, Field(ge=2)] | None = None
    seed: Annotated[int, Field(ge=0)] = 1

    @property
    def dtype(self):
        """The model's Keras dtype policy."""
        return "float32" if self.precision == "bfloat16_products" else self.precision

    def products(self):
        """The context to train in.

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
    def _shards_of_model(self):
        if (self.devices == "model_parallel") != (self.model_shards is not None):
            raise ValueError(
                "`model_shards` and `devices: model_parallel` need each other. "
                f"Received: devices={self.devices}, model_shards={self.model_shards}"
            )
        return self


class EvaluationSection(Section):
    """How translations are searched and measured (paper 6.1).

    Attributes:
        num_beams: Number of beams.
        length_penalty: The exponent α of the length penalty.
        bleu_tokenizer: sacreBLEU's tokenizer; `"none"` for text that is tokenised.
        lowercase: Whether BLEU ignores case.
    """

    num_beams: PositiveInt = 4
    length_penalty: Annotated[float, Field(ge=0.0)] = 0.6
    bleu_tokenizer: str = "13a"
    lowercase: bool = False

    @pydantic.field_validator("bleu_tokenizer")
    @classmethod
    def _known(cls, name):
        return check_bleu_tokenizer(name)
