"""The limits of a recipe's numbers, far above all that is sensible, and types with limits.

Those of a model's sizes are in `aiayn_keras.models.architecture`.
"""

import contextlib
import dataclasses
from typing import Annotated, Any, Literal

import keras
import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from aiayn_keras.backend import bfloat16_products
from aiayn_keras.data import corpus_names
from aiayn_keras.decoding.search_options import SearchOptions
from aiayn_keras.models import TRANSFORMER_PRESETS, TransformerBackbone
from aiayn_keras.models.architecture import INTEGERS
from aiayn_keras.models.transformer_backbone import BACKBONE_DEFAULTS
from aiayn_keras.optimization import paper_adam
from aiayn_keras.parsing.trees import TREE_LEAVES
from aiayn_keras.training.bleu import check_bleu_tokenizer

MAX_PARAMETERS = 20_000_000_000
MAX_GENERATED = 1_000_000
"""Greatest number of pairs that are made in memory."""
MAX_TOKENS = 10_000_000
"""Greatest number of positions of a batch."""
MAX_SHAPES = 1_000
MAX_BATCHES = 10_000
"""Greatest number of batches of an update."""
MAX_UPDATES = 1_000_000_000
MAX_CHECKPOINTS = 10_000
"""Greatest number of checkpoints that are counted or averaged."""
MAX_DEVICES = 10_000
MAX_RATE = 10.0
MAX_RATIO = 1_000.0
MAX_SEED = 2**32 - 1


def count(most, least=1):
    """Makes the type of an integer from `least` to `most`."""
    return Annotated[int, Field(strict=True, ge=least, le=most)]


def number(**bounds):
    """Makes the type of a number within bounds, named as `pydantic.Field` names them."""
    return Annotated[float, BeforeValidator(_refuse_boolean), Field(**bounds)]


def type_of_search_option(field):
    """Makes the type of a field of `SearchOptions` from the limits in its metadata.

    The constraint is a name or a dictionary here.
    """
    if field.name == "constraint":
        return str | dict[str, Any] | None
    bounds = {"ge": field.metadata["minimum"], "le": field.metadata.get("maximum")}
    if field.type is float:
        return number(**bounds)
    return Annotated[field.type, Field(strict=True, **bounds)]


def _refuse_boolean(value):
    if isinstance(value, bool):
        raise ValueError("Input should be a valid number")
    return value


def _one_or_two_files(value):
    is_list = isinstance(value, list | tuple) and len(value) in (1, 2)
    if not (is_list and all(isinstance(path, str) and path for path in value)):
        raise ValueError("give a list of one TSV file or two files")
    return value


Share = number(ge=0.0, lt=1.0)
FilePair = Annotated[tuple[str, ...], BeforeValidator(_one_or_two_files)]


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

    tokens_per_batch: count(MAX_TOKENS) = 25_000
    max_shapes: count(MAX_SHAPES) = 8
    packing: bool = False
    max_length: count(INTEGERS["max_sequence_length"][1]) = 250
    max_ratio: number(ge=1.0, le=MAX_RATIO) | None = 3.0


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

    warmup_steps: count(MAX_UPDATES) = 4000
    peak_learning_rate: number(gt=0.0, le=MAX_RATE) | None = None
    label_smoothing: number(ge=0.0, le=0.99) | None = None
    gradient_accumulation_steps: count(MAX_BATCHES) = 1
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

    updates: count(MAX_UPDATES)
    checkpoint_every: count(MAX_UPDATES)
    bleu_every: count(MAX_UPDATES)
    average_checkpoints: count(MAX_CHECKPOINTS) = 5
    monitor: Literal["loss", "bleu"] = "loss"
    patience: count(MAX_CHECKPOINTS) | None = None
    keep_best: bool = False
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16", "bfloat16_products"] = (
        "float32"
    )
    jit_compile: bool | None = None
    devices: Literal["one", "data_parallel", "model_parallel"] = "one"
    model_parallel_size: count(MAX_DEVICES, least=2) | None = None
    seed: count(MAX_SEED, least=0) = 1

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


FIELDS_OF_CORPORA = {
    "variant": "multi30k",
    "train_size": "demo",
    "validation_size": "demo",
    "test_size": "demo",
    "tree_leaves": "craft-parsing",
}
"""The beginning of the names of the corpora that a field is for."""


class CorpusSection(Section):
    """The source of the pairs: a corpus by `name`, or files by path.

    Attributes:
        name: A name of `aiayn_keras.data.corpus_names()`.
        variant: Variant of Multi30k, `"tok"` or `"raw"`.
        train_size: Number of training pairs to generate for `demo`.
        validation_size: Likewise, of validation pairs.
        test_size: Likewise, of test pairs.
        train: Two files, or one TSV file, plain or .gz; likewise `validation` and `test`.
        validation: See `train`.
        test: See `train`.
        source_language: Language code of the sources, kept with the recipe.
        target_language: Language code of the targets.
        tree_leaves: If given, the text is constituency trees: `train`, `validation` and `test` are
            lists of one file or folder of bracketed trees each (see `read_trees`), words are the
            sources, and linearized trees the targets. Their leaves are `"XX"` or, with `"tags"`,
            parts of speech. For a treebank by `name`, `"XX"` if not given.
        shards: Folder that `aiayn-keras prepare` made of the training pairs, or its URL; their text
            is then not read.
    """

    name: str | None = None
    variant: Literal["tok", "raw"] | None = None
    train_size: count(MAX_GENERATED) | None = None
    validation_size: count(MAX_GENERATED) | None = None
    test_size: count(MAX_GENERATED) | None = None
    train: FilePair | None = None
    validation: FilePair | None = None
    test: FilePair | None = None
    source_language: str | None = None
    target_language: str | None = None
    tree_leaves: Literal[TREE_LEAVES] | None = None
    shards: str | None = None

    @pydantic.model_validator(mode="after")
    def _name_or_files(self):
        if (self.name is None) == (self.train is None):
            raise ValueError("give either `name` or the files `train` and `validation`")
        if self.train is not None and self.validation is None:
            raise ValueError("`train` needs `validation`")
        for field in ("validation", "test"):
            if self.name is not None and getattr(self, field) is not None:
                raise ValueError(f"leave out `{field}`: a corpus by `name` brings its own")
        for field, name in FIELDS_OF_CORPORA.items():
            if self.name is None:
                is_other = field != "tree_leaves"
            else:
                is_other = self.name in corpus_names() and not self.name.startswith(name)
            if is_other and getattr(self, field) is not None:
                raise ValueError(f"leave out `{field}`: of the corpora by name it is for {name}")
        if self.train is not None and self.tree_leaves is not None:
            for split in ("train", "validation", "test"):
                if len(getattr(self, split) or "1") != 1:
                    raise ValueError(
                        f"with `tree_leaves`, `{split}` must be a list of one file or folder of "
                        "trees"
                    )
        return self


DEFAULT_PRESET = "transformer_base"


class _ModelBase(Section):
    """The architecture: a preset and the options of `TransformerBackbone` that differ from it.

    Or the model that the training begins with (fine-tuning), which has sizes of its own.

    Attributes:
        preset: A key of `TransformerBackbone.presets`; `transformer_base` if not given.
        initial: Model folder to begin with, instead of random weights.
        lora_rank: If given, the weights of `initial` stay, and adapters of this rank are trained
            beside them; see `aiayn_keras.training.adapters`.
    """

    preset: Literal[tuple(TRANSFORMER_PRESETS)] | None = None
    initial: Annotated[str, Field(min_length=1)] | None = None
    lora_rank: count(INTEGERS["hidden_dim"][1]) | None = None

    @pydantic.model_validator(mode="before")
    @classmethod
    def _fill_in_preset(cls, fields):
        if not isinstance(fields, dict) or fields.get("initial") is not None:
            return fields
        return {**fields, "preset": fields.get("preset") or DEFAULT_PRESET}

    @pydantic.model_validator(mode="after")
    def _preset_or_initial(self):
        if self.initial is not None and self.preset is not None:
            raise ValueError(
                f"leave out `preset`={self.preset}: the sizes are those of `initial`={self.initial}"
            )
        if self.initial is None and self.lora_rank is not None:
            raise ValueError("`lora_rank` needs `initial`, the model that is adapted")
        return self

    @property
    def given_options(self):
        """The options of the `TransformerBackbone` that the recipe gives."""
        return self.model_dump(exclude=set(_ModelBase.model_fields), exclude_none=True)

    @property
    def options(self):
        """All options of a new `TransformerBackbone`: its defaults, the preset's, the recipe's."""
        preset = TRANSFORMER_PRESETS[self.preset]["config"]
        return {**BACKBONE_DEFAULTS, **preset, **self.given_options}

    def count_parameters(self, vocabulary_size):
        """Numbers of the model that take memory, those of its tables of positions included."""
        sizes = self.options
        D, heads, F = (sizes[name] for name in ("hidden_dim", "num_heads", "intermediate_dim"))
        head_dims = [sizes[name] or D // heads for name in ("key_dim", "value_dim")]
        attention, feed_forward = 2 * D * heads * sum(head_dims), 2 * D * F
        embeddings = D * (vocabulary_size + 2 * sizes["max_sequence_length"])
        # A layer of the encoder has one attention, a layer of the decoder two.
        return embeddings + sizes["num_layers"] * (3 * attention + 2 * feed_forward)

    def build(self, vocabulary_size, dtype):
        """Makes the `TransformerBackbone`, with random weights."""
        return TransformerBackbone(vocabulary_size, dtype=dtype, **self.options)


def _known_activation(name):
    keras.activations.get(name)
    return name


_TYPE_OF_OPTION = {
    **{name: count(most, least) for name, (least, most) in INTEGERS.items()},
    "activation": Annotated[str, AfterValidator(_known_activation)],
    "position_embedding": Literal["sinusoidal", "learned"],
}
_TYPE_OF_DEFAULT = {bool: bool, float: Share}


def _type_of_option(name):
    return _TYPE_OF_OPTION.get(name) or _TYPE_OF_DEFAULT[type(BACKBONE_DEFAULTS[name])]


ModelSection = pydantic.create_model(
    "ModelSection",
    __base__=_ModelBase,
    **{name: (_type_of_option(name) | None, None) for name in BACKBONE_DEFAULTS},
)
