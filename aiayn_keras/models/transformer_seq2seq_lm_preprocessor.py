"""From strings to the model's four inputs and back."""

import os
import threading
import warnings
from collections.abc import Iterable

import keras
import keras_hub
import numpy as np
from keras import ops

from aiayn_keras.backend import cast_preprocessed
from aiayn_keras.common.weight_files import first_not_finite
from aiayn_keras.models.architecture import INTEGERS
from aiayn_keras.models.batch_sources import refuse_single_texts
from aiayn_keras.models.transformer_backbone import TransformerBackbone
from aiayn_keras.models.transformer_tokenizer import TransformerTokenizer
from aiayn_keras_light.checks import check_integer, is_unicode
from aiayn_keras_light.text_batches import check_equal_lengths

_BUILDING = threading.Lock()
_MAX_TOKEN_ID = INTEGERS["vocabulary_size"][1] - 1


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TransformerSeq2SeqLMPreprocessor(keras_hub.models.Seq2SeqLMPreprocessor):
    """Tokenizes and packs pairs of texts for `fit`, and texts for `generate`.

    The source is `pieces </s>`, the decoder reads `<s> pieces`, the labels are `pieces </s>`.
    Longer texts are cut to the two lengths.

    Args:
        tokenizer: A `TransformerTokenizer`.
        encoder_sequence_length: Number of tokens that sources are padded or cut to.
        decoder_sequence_length: Number of tokens that targets are padded or cut to. Neither may
            exceed the backbone's `max_sequence_length`.

    Call arguments:
        x: Dictionary of two strings or lists of strings, `encoder_text` and `decoder_text`; or the
            sources alone.
        y: The targets, if `x` is the sources alone.
        sample_weight: Weights of the pairs, `(B,)`, which multiply those of their tokens.

    Returns:
        A tuple `(x, y, sample_weight)`: the dictionary of the model's inputs and labels `(B, T)`,
        all int32, and float32 weights `(B, T)`, 1 for labels and 0 for padding.

    Raises:
        TypeError: For any other tokenizer, or a length that is not an integer.
        ValueError: For a length out of range, sources without targets, labels `y` beside a
            dictionary of texts, and weights of another shape.
    """

    backbone_cls = TransformerBackbone
    tokenizer_cls = TransformerTokenizer

    def __init_subclass__(cls, **kwargs):
        """Warns of methods that only some methods of a model use."""
        super().__init_subclass__(**kwargs)
        for name in ("call", "generate_preprocess", "generate_postprocess"):
            if name in vars(cls):
                users = "`fit`, `evaluate` and `predict`" if name == "call" else "`generate`"
                warnings.warn(
                    f"`{cls.__name__}.{name}` changes the texts of {users}, but not those of "
                    "`translate`, `score` and the exports, which ask the tokenizer. For all of "
                    "them, change the texts before you give them to the model.",
                    stacklevel=2,
                )

    def __init__(
        self, tokenizer, encoder_sequence_length=128, decoder_sequence_length=128, **kwargs
    ):
        if not isinstance(tokenizer, TransformerTokenizer):
            raise TypeError(
                "`tokenizer` must be a TransformerTokenizer, such as "
                "`TransformerTokenizer(path)` of a SentencePiece model. "
                f"Received: {tokenizer!r:.60}."
            )
        most = INTEGERS["max_sequence_length"][1]
        super().__init__(
            tokenizer,
            encoder_sequence_length=check_integer(
                "encoder_sequence_length", encoder_sequence_length, 1, most
            ),
            decoder_sequence_length=check_integer(
                "decoder_sequence_length", decoder_sequence_length, 1, most
            ),
            **kwargs,
        )
        self._has_packers = False

    def __call__(self, *args, **kwargs):
        self._build_once()
        return super().__call__(*args, **kwargs)

    def _build_once(self):
        # A data loader may call it for the first time in several threads at once. One of them
        # builds it, since Keras would have each of them replace the packers of the others. `built`
        # is set by KerasHub before our packer of sources replaces its own.
        if not self._has_packers:
            with _BUILDING:
                if not self._has_packers:
                    self.build(None)

    def build(self, input_shape):
        super().build(input_shape)
        self.encoder_packer = keras_hub.layers.StartEndPacker(
            end_value=self.tokenizer.end_token_id if self.tokenizer.source_end else None,
            pad_value=self.tokenizer.pad_token_id,
            sequence_length=self.encoder_sequence_length,
            return_padding_mask=True,
        )
        self._has_packers = True

    def call(self, x, y=None, sample_weight=None, **lengths):
        x = _as_pair(x, y)
        inputs, y, token_weights = super().call(x, **lengths)
        _check_equal_numbers(tuple(inputs["encoder_token_ids"].shape), tuple(y.shape))
        if self._has_target_tokenizer():
            targets, y, token_weights = self._of_targets()(x, **lengths)
            inputs |= _decoder_part(targets)
        token_weights = cast_preprocessed(token_weights, "float32")
        if sample_weight is not None:
            token_weights = _multiply_rows(token_weights, sample_weight)
        return _with_integer_masks(inputs), y, token_weights

    def generate_preprocess(self, x, **lengths):
        self._build_once()
        inputs = super().generate_preprocess(x, **lengths)
        if isinstance(x, dict) and self._has_target_tokenizer():
            inputs |= _decoder_part(self._of_targets().generate_preprocess(x, **lengths))
        return _with_integer_masks(inputs)

    def _has_target_tokenizer(self):
        return self.tokenizer.of_targets() is not self.tokenizer

    def _of_targets(self):
        """A preprocessor that splits both texts as translations are split."""
        return TransformerSeq2SeqLMPreprocessor(
            self.tokenizer.of_targets(), self.encoder_sequence_length, self.decoder_sequence_length
        )

    def check_vocabulary_size(self, size):
        """Raises a ValueError if the tokenizer is loaded and does not have `size` tokens."""
        if self.tokenizer.proto is not None and self.tokenizer.vocabulary_size() != size:
            raise ValueError(
                f"The tokenizer has {self.tokenizer.vocabulary_size()} tokens, the model's "
                f"`vocabulary_size` is {size}: they do not belong together."
            )

    def check_backbone(self, backbone):
        """Checks that a backbone can read the outputs, even after a change to either.

        Raises:
            ValueError: For a length greater than the backbone's number of positions, or for a
                tokenizer with a different number of tokens, see `check_vocabulary_size`.
        """
        longest = max(self.encoder_sequence_length, self.decoder_sequence_length)
        if longest > backbone.max_sequence_length:
            raise ValueError(
                "The `preprocessor`'s sequence lengths must be at most the `backbone`'s "
                f"`max_sequence_length`={backbone.max_sequence_length}. Received: {longest}."
            )
        self.check_vocabulary_size(backbone.vocabulary_size)

    def generate_postprocess(self, x):
        """Token ids and padding mask `(B, T)` to a list of B strings, without TensorFlow."""
        token_ids = ops.convert_to_numpy(x["decoder_token_ids"])
        is_piece = ops.convert_to_numpy(x["decoder_padding_mask"]).astype(bool)
        is_piece &= ~np.isin(token_ids, self.tokenizer.special_token_ids)
        pieces = [row[keep].tolist() for row, keep in zip(token_ids, is_piece, strict=True)]
        return self.tokenizer.of_targets().detokenize(pieces)

    @classmethod
    def from_preset(cls, preset, *args, **kwargs):
        """Loads the preprocessor of a preset.

        Args:
            preset: Path of a model folder, or an address such as `"hf://user/model"`.
            *args: As in KerasHub.
            **kwargs: As in KerasHub.
        """
        return super().from_preset(os.fspath(preset), *args, **kwargs)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "encoder_sequence_length": self.encoder_sequence_length,
                "decoder_sequence_length": self.decoder_sequence_length,
            }
        )
        return config


def _as_pair(x, y):
    """Returns the dictionary of two texts; `x` may be all of it, or the sources alone.

    Raises:
        ValueError: If one of the two texts is missing, and for `y` beside a dictionary.
    """
    if not isinstance(x, dict):
        if y is None:
            raise ValueError(
                "Training and evaluation need sources and targets: give `fit(sources, targets)` or "
                "a dictionary of `encoder_text` and `decoder_text`. Received no targets."
            )
        return {"encoder_text": x, "decoder_text": y}
    if y is not None:
        raise ValueError(
            "`y` cannot be given beside a dictionary of texts: the labels are made from "
            "`decoder_text`. Give token ids, labels and weights to a model without a "
            "preprocessor instead."
        )
    missing = {"encoder_text", "decoder_text"} - set(x)
    if missing:
        raise ValueError(
            "Texts must be a dictionary of `encoder_text` and `decoder_text`. "
            f"Missing: {sorted(missing)}. Received: {sorted(x)}. Give token ids to `model(x)`, or "
            "to a model without a preprocessor."
        )
    return x


def _check_equal_numbers(sources, targets):
    """Raises a ValueError for shapes of different numbers of texts, which would be broadcast."""
    numbers = [shape[:-1] for shape in (sources, targets)]  # () for a single text
    if numbers[0] != numbers[1] and (None,) not in numbers:
        received = ["".join(map(str, number)) or "one that is in no list" for number in numbers]
        raise ValueError(
            "Sources and targets must be of equal number. "
            f"Received: sources: {received[0]}, targets: {received[1]}."
        )


def _multiply_rows(token_weights, sample_weight):
    """Returns token weights `(B, T)` multiplied by the weights of their rows, `(B,)`."""
    if not hasattr(sample_weight, "shape"):
        sample_weight = np.asarray(sample_weight)
    if len(sample_weight.shape) != 1:
        raise ValueError(
            "`sample_weight` beside texts must have one weight for each pair, shape `(B,)`. "
            f"Received: shape {tuple(sample_weight.shape)}."
        )
    sizes = sample_weight.shape[0], token_weights.shape[0]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(
            "`sample_weight` must have one weight for each pair. "
            f"Received: {sizes[0]} weights, {sizes[1]} pairs."
        )
    if ops.is_tensor(token_weights):
        sample_weight = ops.convert_to_tensor(sample_weight)
    return token_weights * cast_preprocessed(sample_weight, "float32")[:, None]


def text_preprocessor(tokenizer, backbone):
    """Makes a preprocessor with the default lengths, or the backbone's where that has fewer."""
    length = min(128, backbone.max_sequence_length)
    return TransformerSeq2SeqLMPreprocessor(tokenizer, length, length)


def check_prompts(inputs, max_length, strip_prompt=False):
    """Returns the inputs of `generate`, with tuples as lists; refuses anything but texts.

    Args:
        inputs: A text, texts in a list, a tuple or an array, a dictionary of `encoder_text` and
            `decoder_text`, or a data set.
        max_length: Maximum number of tokens, or None for the preprocessor's.
        strip_prompt: An option of KerasHub for models without an encoder; must be False.

    Raises:
        TypeError: For anything else.
        ValueError: For `strip_prompt`, no texts, a dictionary without both sides or with sides of
            unequal length, a string that is not of Unicode characters, or a length out of bounds.
    """
    if strip_prompt:
        raise ValueError("`strip_prompt` is for models without an encoder: leave it out.")
    if max_length is not None:
        check_integer("max_length", max_length, *INTEGERS["max_sequence_length"])
    if not isinstance(inputs, dict):
        return _checked_prompts("`inputs`", inputs)
    if missing := {"encoder_text", "decoder_text"} - inputs.keys():
        raise ValueError(
            f"`inputs` must have {min(missing)!r}, which may be a list of empty texts. "
            f"Received: {sorted(map(str, inputs))}."
        )
    sides = {name: _checked_prompts(f"`inputs[{name!r}]`", inputs[name]) for name in inputs}
    counts = {name: len(side) for name, side in sides.items() if isinstance(side, list)}
    if len(set(counts.values())) > 1:
        raise ValueError(f"The sides of `inputs` must be of equal length. Received: {counts}.")
    return sides


def _checked_prompts(argument, texts):
    if hasattr(texts, "element_spec"):
        refuse_single_texts(texts.element_spec)
        return texts
    if ops.is_tensor(texts):
        return texts
    is_one = isinstance(texts, str)
    is_list = isinstance(texts, list | tuple) or (isinstance(texts, np.ndarray) and texts.ndim)
    if not is_one and not is_list:
        raise TypeError(
            f"{argument} must be a string or a list of strings. Received: {texts!r:.60}."
        )
    if not is_one and not len(texts):
        raise ValueError(f"{argument} must have at least one text. Received: {texts!r:.60}.")
    for i, text in enumerate([texts] if is_one else texts):
        where = argument if is_one else f"{argument}, text {i},"
        if not isinstance(text, str | bytes):
            raise TypeError(f"{where} must be a string. Received: {text!r:.60}.")
        if isinstance(text, str) and not is_unicode(text):
            raise ValueError(f"{where} must be of Unicode characters. Received: {text!r:.60}.")
    return list(texts) if isinstance(texts, tuple) else texts


def check_written(texts, inputs, model):
    """Returns what `generate` has written, or refuses it if weights of the model are not finite.

    A search among probabilities that are not numbers finds nothing and leaves the prompt. The
    weights are looked at only after such an answer, which a sound model seldom gives.

    Args:
        texts: A string or a list of strings; anything else is returned as it is.
        inputs: The inputs, as `check_prompts` returns them.
        model: The `TransformerSeq2SeqLM`.

    Raises:
        ValueError: For a weight that is not finite.
    """
    written = [texts] if isinstance(texts, str) else texts
    if model.preprocessor is None or not isinstance(written, list):
        return texts
    prompts = inputs.get("decoder_text", "") if isinstance(inputs, dict) else ""
    prompts = [prompts] if isinstance(prompts, str | bytes) else prompts
    if not isinstance(prompts, list | np.ndarray) or len(prompts) != len(written):
        prompts = [""] * len(written)
    tokenizer = model.preprocessor.tokenizer.of_targets()
    if any(
        not text or (prompt and tokenizer.detokenize(tokenizer(prompt)).startswith(text))
        for prompt, text in zip(prompts, written, strict=True)
    ):
        variable = first_not_finite(model.backbone.weights)
        if variable is not None:
            raise ValueError(
                f"The model gives no probabilities: the weights of {variable.path} are not all "
                "finite, since its training has diverged. Take an earlier checkpoint."
            )
    return texts


def with_ensemble(model, ensemble):
    """Returns a tuple of a model and of others, whose token ids must have the same meanings.

    Args:
        model: A `TransformerSeq2SeqLM`.
        ensemble: List of other models; without tokenizers, only sizes are compared.

    Raises:
        TypeError: For anything but a list of models.
        ValueError: If sizes or tokenizers differ.
    """
    if not isinstance(ensemble, Iterable):
        raise TypeError(
            "`ensemble` must be a list of TransformerSeq2SeqLMs. "
            f"Received: ensemble={ensemble!r:.100}."
        )
    models = (model, *ensemble)
    for i, model in enumerate(models[1:]):
        if not isinstance(model, keras_hub.models.Seq2SeqLM):
            raise TypeError(
                f"`ensemble[{i}]` must be a TransformerSeq2SeqLM. Received: {model!r:.100}."
            )
    sizes = [model.backbone.vocabulary_size for model in models]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"All models of an `ensemble` must share one vocabulary. Received sizes: {sizes}."
        )
    tokenizers = [model.preprocessor.tokenizer for model in models if model.preprocessor]
    if len({(each.proto, each.target_proto, each.source_end) for each in tokenizers}) > 1:
        raise ValueError(
            "All models of an `ensemble` must share one vocabulary. Received vocabularies of equal "
            "size but different tokenizers: train the models with the same tokenizer."
        )
    return models


def _decoder_part(inputs):
    return {name: value for name, value in inputs.items() if name.startswith("decoder_")}


def pack_token_ids(encoder_token_ids, decoder_token_ids, pad_token_id=0):
    """Makes the model's four inputs from token ids.

    Args:
        encoder_token_ids: The sources, B rows of integers: an array or tensor `(B, S)` that is
            filled up with `pad_token_id`, or a list of lists of any lengths.
        decoder_token_ids: What the decoder reads, B rows of the same kind.
        pad_token_id: Id that stands for no token; shorter rows are filled up with it.

    Returns:
        Dictionary of int32 arrays: `encoder_token_ids` and `encoder_padding_mask (B, S)`,
        `decoder_token_ids` and `decoder_padding_mask (B, T)`. Masks are 0 where the id is
        `pad_token_id`, otherwise 1.

    Raises:
        TypeError: For ids that are not integers.
        ValueError: For ids that are not rows, for ids out of range, and for sides of unequal
            length.

    Example:
        >>> inputs = pack_token_ids([[5, 3, 8], [9]], [[2, 7], [2, 4]])
        >>> inputs["encoder_padding_mask"].tolist()
        [[1, 1, 1], [1, 0, 0]]
    """
    pad_token_id = check_integer("pad_token_id", pad_token_id, 0, _MAX_TOKEN_ID)
    sides = {"encoder": encoder_token_ids, "decoder": decoder_token_ids}
    sides = {side: _rows_of(f"{side}_token_ids", ids) for side, ids in sides.items()}
    check_equal_lengths(**{f"{side}_token_ids": rows for side, rows in sides.items()})
    inputs = {}
    for side, rows in sides.items():
        ids = np.full((len(rows), max(map(len, rows), default=0)), pad_token_id, dtype="int32")
        for row, values in zip(ids, rows, strict=True):
            row[: len(values)] = values
        inputs[f"{side}_token_ids"] = ids
        inputs[f"{side}_padding_mask"] = (ids != pad_token_id).astype("int32")
    return inputs


def _rows_of(name, ids):
    if not isinstance(ids, (list, tuple)):
        ids = np.atleast_1d(ops.convert_to_numpy(ids))
    rows = [np.asarray(row) for row in ids]
    for i, row in enumerate(rows):
        if row.ndim != 1:
            raise ValueError(
                f"`{name}` must be rows of token ids. Received: row {i} has {row.ndim} axes."
            )
        if row.size and not np.issubdtype(row.dtype, np.integer):
            raise TypeError(
                f"`{name}` must be integers. Received: row {i} has dtype={row.dtype}. "
                "Text goes to a `TransformerSeq2SeqLMPreprocessor`."
            )
        if row.size and not 0 <= row.min() <= row.max() <= _MAX_TOKEN_ID:
            raise ValueError(
                f"`{name}` must be from 0 to {_MAX_TOKEN_ID}. Received: row {i} has ids from "
                f"{row.min()} to {row.max()}."
            )
    return rows


def _with_integer_masks(inputs):
    """KerasHub's packer makes Boolean masks, and `tf.distribute` cannot add Booleans."""
    masks = {name: x for name, x in inputs.items() if name.endswith("padding_mask")}
    return inputs | {name: cast_preprocessed(mask, "int32") for name, mask in masks.items()}
