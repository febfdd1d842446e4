"""The sections of a recipe: every field with its type, its limits and its default.

Each section also lists the fields that a training may change while it runs or after its end
(`changeable`); a different value of any other field makes a different training.

The limits of numbers are far above all sensible values; those of a model's sizes are in
`aiayn_keras.models.architecture`. To add a field, add it to its section: recipe files, `--set` and
the messages for wrong values take it from there.
"""

import contextlib
import re
from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from aiayn_keras.backend import bfloat16_products
from aiayn_keras.data import corpus_names
from aiayn_keras.data.augmentation import MAX_VARIANTS
from aiayn_keras.models.architecture import (
    INTEGERS,
)
from aiayn_keras.models.text_normalization import NORMALIZATIONS
from aiayn_keras.optimization import paper_adam
from aiayn_keras.parsing.trees import TREE_LEAVES

MONITORS = ("loss", "bleu", "chrf")
"""Figures that compare checkpoints, besides functions of the user's own."""
MAX_WEIGHTS = 20_000_000_000
MAX_CHECKPOINTS = 10_000
"""Maximum number of checkpoints that are counted or averaged."""
_MAX_GENERATED_PAIRS = 1_000_000
_MAX_TOKENS_PER_BATCH = 10_000_000
_MAX_SHAPES = 1_000
_MAX_BATCHES_PER_UPDATE = 10_000
_MAX_UPDATES = 1_000_000_000
_MAX_DEVICES = 10_000
_MAX_LEARNING_RATE = 10.0
_MAX_LENGTH_RATIO = 1_000.0
_MAX_SEED = 2**32 - 1
_MAX_CALLBACKS = 100
_OWN_OBJECT = r"[\w.]+:\w+"


def integer_within(maximum, minimum=1):
    """Makes the type of an integer from `minimum` to `maximum`."""
    return Annotated[int, Field(strict=True, ge=minimum, le=maximum)]


def number_within(**bounds):
    """Makes the type of a number within bounds, named as in `pydantic.Field`."""
    return Annotated[float, BeforeValidator(_refuse_boolean), Field(**bounds)]


def _refuse_boolean(value):
    if isinstance(value, bool):
        raise ValueError("Input should be a valid number")
    return value


def _known_monitor(name):
    if name not in MONITORS and not re.fullmatch(_OWN_OBJECT, name):
        raise ValueError(
            f"give {', '.join(MONITORS)}, or a function of your own as `my_module:my_function`"
        )
    return name


def _one_or_two_files(value):
    is_list = isinstance(value, list | tuple) and len(value) in (1, 2)
    if not (is_list and all(isinstance(path, str) and path for path in value)):
        raise ValueError("give a list of one TSV file or two files")
    if len(set(value)) < len(value):
        raise ValueError(
            "give a list of one TSV file or two files: one file twice would teach a model to copy "
            "its source"
        )
    return value


Share = number_within(ge=0.0, lt=1.0)
_Files = Annotated[tuple[str, ...], BeforeValidator(_one_or_two_files)]


class Section(pydantic.BaseModel):
    """Base of the sections, which refuses unknown fields and infinite numbers.

    Attributes:
        changeable: Names of the fields that a training that has begun may change.
    """

    model_config = pydantic.ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False
    )

    changeable: ClassVar[tuple[str, ...]] = ()


class TokenizerSection(Section):
    """The vocabulary, which is learned from both sides of the training text.

    With `model.initial` nothing is learned: the vocabulary stays, except for the normalizations,
    `byte_fallback` and `split_digits` that are given.

    Attributes:
        vocabulary_size: Number of tokens, the four special ones included.
        model_type: `"bpe"` or `"unigram"`.
        normalization: Name of a normalization, see `TransformerTokenizer.train`. The default is for
            sources as people type and paste them; for a corpus of trees it is `"identity"`.
        target_normalization: Name of the targets' normalization. By default `"nfc"`, which writes
            targets as they are; but a `normalization` other than `"clean_nfkc"` holds for both
            sides (`"nmt_nfkc"` turns ！ into !, and ½ into 1⁄2).
        byte_fallback: Whether characters that the vocabulary lacks, such as emoji, are spelled with
            256 more tokens, the bytes of UTF-8, and not read as one unknown token.
        split_digits: Whether every digit is a token of its own, so that numbers are copied as they
            are.
        whole_target_words: Whether every word of the targets is one token, for targets with few
            distinct words, such as linearized trees; wordpieces are learned from the sources alone.
        sampling_alpha: If given, words of the training text are split again in each epoch: the
            probability of BPE dropout, or a unigram model's smoothing; see `SampledPairs`.
    """

    vocabulary_size: integer_within(INTEGERS["vocabulary_size"][1], minimum=8) | None = None
    model_type: Literal["bpe", "unigram"] = "bpe"
    normalization: Literal[NORMALIZATIONS] = "clean_nfkc"
    target_normalization: Literal[NORMALIZATIONS] | None = None
    byte_fallback: bool = False
    split_digits: bool = True
    whole_target_words: bool = False
    sampling_alpha: number_within(gt=0.0, lt=1.0) | None = None


class AugmentationSection(Section):
    """Other kinds of text, made from the training pairs before anything else; see `augment`.

    Attributes:
        joined: Share of the pairs that are joined to texts of two to four sentences.
        lower_cased: Share of the texts whose source is lower-cased.
        unpunctuated: Share of the texts that lose their final mark.
        upper_cased: Share of the texts written in capitals.
        title_cased: Share of the texts whose source words are capitalized.
        typing_errors: Share of the texts whose source has a typing error.
        numbers: Number of added pairs with other numbers, as a share of all pairs.
        names: Number of added pairs with an invented name, as a share of all pairs.
        copied: Share of the texts with emoji, signs, addresses or foreign words to copy.
        quoted: Share of the texts in quotation marks.
        shorthand: Share of the texts whose source is written as in an English chat.
        phrases: Number of added words and short phrases, found by aligning the text, as a share of
            all pairs.
        variants: Number of times that the pairs are taken, each time with other random choices.
    """

    joined: Share = 0.0
    lower_cased: Share = 0.0
    unpunctuated: Share = 0.0
    upper_cased: Share = 0.0
    title_cased: Share = 0.0
    typing_errors: Share = 0.0
    numbers: Share = 0.0
    names: Share = 0.0
    copied: Share = 0.0
    quoted: Share = 0.0
    shorthand: Share = 0.0
    phrases: Share = 0.0
    variants: integer_within(MAX_VARIANTS) = 1


class BatchesSection(Section):
    """Batches of similar lengths (paper 5.1), or of packed rows.

    Attributes:
        tokens_per_batch: Maximum number of positions in a batch on either side, with padding.
        max_shapes: Maximum number of distinct batch shapes, without packing.
        packing: Whether several pairs share a row, for one shape and little padding; see
            `PackedBatches`.
        max_length: Pairs with a longer side, in tokens, are dropped.
        max_ratio: Pairs whose lengths have a larger ratio are dropped; see `filter_pairs`.
    """

    changeable: ClassVar = ("tokens_per_batch", "max_shapes", "packing")

    tokens_per_batch: integer_within(_MAX_TOKENS_PER_BATCH) = 25_000
    max_shapes: integer_within(_MAX_SHAPES) = 8
    packing: bool = False
    max_length: integer_within(INTEGERS["max_sequence_length"][1]) = 250
    max_ratio: number_within(ge=1.0, le=_MAX_LENGTH_RATIO) | None = 3.0


class OptimizerSection(Section):
    """Adam with the warm-up schedule, and the loss (paper 5.3 and 5.4).

    Attributes:
        warmup_steps: Number of updates until the learning rate reaches its peak.
        peak_learning_rate: The peak; `(hidden_dim · warmup_steps)^-0.5` if not given.
        label_smoothing: The paper's ε_ls; the preset's if not given.
        gradient_accumulation_steps: Batches per update. All other fields count updates.
        ema_momentum: If given, validation and the final model use an exponential moving average
            (EMA) of the weights instead of the weights; each update keeps this share of it. It is
            not debiased: after 1,000 updates at 0.999 the first weights still have a share of 37 %.
    """

    changeable: ClassVar = ("warmup_steps", "peak_learning_rate", "gradient_accumulation_steps")

    warmup_steps: integer_within(_MAX_UPDATES) = 4000
    peak_learning_rate: number_within(gt=0.0, le=_MAX_LEARNING_RATE) | None = None
    label_smoothing: number_within(ge=0.0, le=0.99) | None = None
    gradient_accumulation_steps: integer_within(_MAX_BATCHES_PER_UPDATE) = 1
    ema_momentum: number_within(gt=0.0, lt=1.0) | None = None

    def build(self, hidden_dim):
        """Makes the optimizer of a model whose width is `hidden_dim`."""
        return paper_adam(hidden_dim, **self.model_dump(exclude={"label_smoothing"}))


class TrainingSection(Section):
    """The length and precision of the training, its devices, and the choice of the final model.

    Attributes:
        updates: Number of optimizer updates. The last update always makes a checkpoint.
        checkpoint_every: Updates between checkpoints, each with a validation loss.
        bleu_every: Updates between translations of the validation text, which give BLEU, chrF and
            a `monitor` of your own; a multiple of `checkpoint_every`.
        average_checkpoints: Number of last checkpoints that are kept; the mean of all of them is
            the paper's model (paper 6.1).
        keep: Rule for the final model. `"best"`: whichever of the last checkpoint, the means of the
            last 2, 3 … `average_checkpoints` ones, and the best checkpoint by `monitor` translates
            the validation text best; `"average"`: the mean of `average_checkpoints`;
            `"last"`: the last checkpoint.
        monitor: Validation figure that compares checkpoints: `"loss"`, `"bleu"`, `"chrf"`, or a
            function of your own, `"my_module:my_function"`, which takes the lists `hypotheses`,
            `references` and `sources` and returns a number; higher is better. The training imports
            the module. `keep: best` compares translations, so there BLEU stands for the loss.
        patience: The training ends after this many measurements of `monitor` in a row without an
            improvement; never, if not given.
        callbacks: Keras callbacks of your own, each `"my_module:MyCallback"`, called without
            arguments. The training imports the modules.
        precision: A Keras dtype policy; or `"bfloat16_products"`: float32, with matrix products
            in bfloat16, which is fastest on CPUs with TensorFlow. `"mixed_float16"` skips
            batches whose gradients overflow; with `gradient_accumulation_steps`, each of them makes
            the following updates begin one batch later.
        jit_compile: Whether XLA compiles the training step; if not given, on JAX only.
        devices: `"one"`; `"data_parallel"`: every device has the model and a share of each batch;
            or `"model_parallel"`, on JAX: devices also share a model. See docs/devices.md.
        model_parallel_size: Number of devices that share a model, for `"model_parallel"`.
        seed: Seed of the first weights, the order of batches and dropout.
    """

    changeable: ClassVar = (
        *("updates", "checkpoint_every", "bleu_every", "average_checkpoints", "keep", "monitor"),
        *("patience", "callbacks", "precision", "jit_compile", "devices", "model_parallel_size"),
    )

    updates: integer_within(_MAX_UPDATES)
    checkpoint_every: integer_within(_MAX_UPDATES)
    bleu_every: integer_within(_MAX_UPDATES)
    average_checkpoints: integer_within(MAX_CHECKPOINTS) = 5
    keep: Literal["best", "average", "last"] = "best"
    monitor: Annotated[str, AfterValidator(_known_monitor)] = "loss"
    patience: integer_within(MAX_CHECKPOINTS) | None = None
    callbacks: Annotated[
        tuple[Annotated[str, Field(pattern=f"^{_OWN_OBJECT}$")], ...],
        Field(max_length=_MAX_CALLBACKS),
    ] = ()
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16", "bfloat16_products"] = (
        "float32"
    )
    jit_compile: bool | None = None
    devices: Literal["one", "data_parallel", "model_parallel"] = "one"
    model_parallel_size: integer_within(_MAX_DEVICES, minimum=2) | None = None
    seed: integer_within(_MAX_SEED, minimum=0) = 1

    @property
    def dtype(self):
        """The model's Keras dtype policy."""
        return "float32" if self.precision == "bfloat16_products" else self.precision

    def matmul_precision(self):
        """Returns a context manager that gives matrix products the recipe's precision.

        Raises:
            ValueError: If the backend does not have it.
        """
        if self.precision == "bfloat16_products":
            return bfloat16_products()
        return contextlib.nullcontext()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _keep_of_older_recipes(cls, fields):
        """Reads `keep_best`, which `keep` has replaced."""
        if not isinstance(fields, dict) or not isinstance(fields.get("keep_best"), bool):
            return fields
        rest = {name: value for name, value in fields.items() if name != "keep_best"}
        return {"keep": "best" if fields["keep_best"] else "average", **rest}

    @pydantic.model_validator(mode="after")
    def _multiples(self):
        if self.bleu_every % self.checkpoint_every:
            raise ValueError(
                f"`bleu_every`={self.bleu_every} must be a multiple of "
                f"`checkpoint_every`={self.checkpoint_every}"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _measured_monitor(self):
        is_rare = self.bleu_every > self.updates
        if self.monitor != "loss" and self.patience is not None and is_rare:
            raise ValueError(
                f"`bleu_every`={self.bleu_every} must be at most `updates`={self.updates}: "
                f"`patience` needs `monitor`={self.monitor}, which would never be measured"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _precision_without_xla(self):
        if self.precision == "bfloat16_products" and self.jit_compile:
            raise ValueError(
                "`precision`=bfloat16_products cannot be combined with `jit_compile`, since XLA "
                "would compute in float32: leave out one of them"
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


_FIELDS_OF_CORPORA = {
    "variant": "multi30k",
    "train_size": "demo",
    "validation_size": "demo",
    "test_size": "demo",
    "tree_leaves": "craft-parsing",
}
"""Fields that only some corpora have, with the prefix of the names of these corpora."""


class MixSection(Section):
    """Other text to train on as well, such as what `model.initial` was trained on.

    Fine-tuning on new text alone makes a model forget the old. See `mix_texts` for how many pairs
    of each are taken.

    Attributes:
        name: A name of `aiayn_keras.data.corpus_names()`, which brings its own `test`.
        train: Two files, or one TSV file, plain or .gz; instead of `name`.
        test: Like `train`: text that shows what a fine-tuning changes; none if not given.
        share: Share of all training pairs that come from this text.
    """

    name: str | None = None
    train: _Files | None = None
    test: _Files | None = None
    share: number_within(gt=0.0, lt=1.0) = 0.5

    @pydantic.model_validator(mode="after")
    def _name_or_files(self):
        if (self.name is None) == (self.train is None):
            raise ValueError("give either `name` or the files `train`")
        if self.name is not None and self.test is not None:
            raise ValueError("leave out `test`: a corpus by `name` brings its own")
        return self


class CorpusSection(Section):
    """The source of the pairs: a corpus by `name`, or files by path.

    Attributes:
        name: A name of `aiayn_keras.data.corpus_names()`.
        variant: Variant of Multi30k, `"tok"` or `"raw"`.
        train_size: Number of training pairs to generate for `demo`.
        validation_size: Number of validation pairs to generate for `demo`.
        test_size: Number of test pairs to generate for `demo`.
        train: Two files, or one TSV file, plain or .gz.
        validation: Like `train`.
        test: Like `train`; the validation pairs if not given.
        source_language: Language code of the sources, kept with the recipe.
        target_language: Language code of the targets.
        tree_leaves: If given, the text is constituency trees: `train`, `validation` and `test` each
            list one file or folder of bracketed trees (see `read_trees`), whose words are the
            sources and whose linearized trees are the targets. Their leaves are `"XX"` or, with
            `"tags"`, parts of speech. For a treebank by `name`, `"XX"` if not given.
        shards: Folder that `aiayn-keras prepare` made from the training pairs, or its URL; their
            text is then not read.
        bad_lines: Treatment of lines of `train` that cannot be used, because they are not UTF-8,
            too long or without a tab: `"error"` names all of them; `"skip"` leaves them out and
            lists them in `bad_lines.jsonl`. `aiayn-keras prepare` always leaves out those of files.
            Validation and test text must not have any, or scores could not be compared.
        mix: The `MixSection`, if other text is mixed in.
    """

    # The text stays: digests of it are compared, wherever it is read from.
    changeable: ClassVar = (
        *("train", "validation", "test", "shards", "source_language", "target_language"),
        "bad_lines",
    )

    name: str | None = None
    variant: Literal["tok", "raw"] | None = None
    train_size: integer_within(_MAX_GENERATED_PAIRS) | None = None
    validation_size: integer_within(_MAX_GENERATED_PAIRS) | None = None
    test_size: integer_within(_MAX_GENERATED_PAIRS) | None = None
    train: _Files | None = None
    validation: _Files | None = None
    test: _Files | None = None
    source_language: str | None = None
    target_language: str | None = None
    tree_leaves: Literal[TREE_LEAVES] | None = None
    shards: str | None = None
    bad_lines: Literal["error", "skip"] = "error"
    mix: MixSection | None = None

    @pydantic.model_validator(mode="after")
    def _name_or_files(self):
        if (self.name is None) == (self.train is None):
            raise ValueError("give either `name` or the files `train` and `validation`")
        if self.train is not None and self.validation is None:
            raise ValueError("`train` needs `validation`")
        for field in ("validation", "test"):
            if self.name is not None and getattr(self, field) is not None:
                raise ValueError(f"leave out `{field}`: a corpus by `name` brings its own")
        for field, name in _FIELDS_OF_CORPORA.items():
            if self.name is None:
                is_other = field != "tree_leaves"
            else:
                is_other = self.name in corpus_names() and not self.name.startswith(name)
            if is_other and getattr(self, field) is not None:
                raise ValueError(
                    f"leave out `{field}`: it is only for corpora by name that begin with {name}"
                )
        if self.bad_lines == "skip" and (self.name is not None or self.tree_leaves is not None):
            raise ValueError("leave out `bad_lines`: it is only for files of text")
        if self.mix is not None and self.tree_leaves is not None:
            raise ValueError("leave out `mix`: it is only for text, not for trees")
        if self.train is not None and self.tree_leaves is not None:
            for split in ("train", "validation", "test"):
                if len(getattr(self, split) or "1") != 1:
                    raise ValueError(
                        f"with `tree_leaves`, `{split}` must be a list of one file or folder of "
                        "trees"
                    )
        return self
