"""From strings to the model's four inputs and back."""

import keras
import keras_hub
import numpy as np
from keras import ops

from aiayn_keras.common.checks import check_integer
from aiayn_keras.models.architecture import INTEGERS
from aiayn_keras.models.transformer_backbone import TransformerBackbone
from aiayn_keras.models.transformer_tokenizer import TransformerTokenizer


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
        x: Dictionary of two strings or lists of strings, `encoder_text` and `decoder_text`.

    Returns:
        A tuple `(x, y, sample_weight)`: the dictionary of the model's inputs and labels `(B, T)`,
        all int32, and float32 weights `(B, T)`, 1 for labels and 0 for padding.

    Raises:
        TypeError: For a length that is not an integer.
        ValueError: For a length out of range, and for `y` or `sample_weight` beside text.
    """

    backbone_cls = TransformerBackbone
    tokenizer_cls = TransformerTokenizer

    def __init__(
        self, tokenizer, encoder_sequence_length=128, decoder_sequence_length=128, **kwargs
    ):
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

    def build(self, input_shape):
        super().build(input_shape)
        self.encoder_packer = keras_hub.layers.StartEndPacker(
            end_value=self.tokenizer.end_token_id if self.tokenizer.source_end else None,
            pad_value=self.tokenizer.pad_token_id,
            sequence_length=self.encoder_sequence_length,
            return_padding_mask=True,
        )

    def call(self, x, y=None, sample_weight=None, **lengths):
        refuse_beside_text(y=y, sample_weight=sample_weight)
        inputs, y, sample_weight = super().call(x, y, sample_weight, **lengths)
        if self._has_target_tokenizer():
            targets, y, sample_weight = self._of_targets()(x, **lengths)
            inputs |= _decoder_part(targets)
        return _with_integer_masks(inputs), y, _cast(sample_weight, "float32")

    def generate_preprocess(self, x, **lengths):
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
        """Raises a ValueError unless the tokenizer, if it is loaded, has so many tokens."""
        if self.tokenizer.proto is not None and self.tokenizer.vocabulary_size() != size:
            raise ValueError(
                f"The tokenizer has {self.tokenizer.vocabulary_size()} tokens, the model's "
                f"`vocabulary_size` is {size}: they are not of one model."
            )

    def generate_postprocess(self, x):
        """Token ids and padding mask `(B, T)` to a list of B strings, without TensorFlow."""
        token_ids = ops.convert_to_numpy(x["decoder_token_ids"])
        is_piece = ops.convert_to_numpy(x["decoder_padding_mask"]).astype(bool)
        is_piece &= ~np.isin(token_ids, self.tokenizer.special_token_ids)
        pieces = [row[keep].tolist() for row, keep in zip(token_ids, is_piece, strict=True)]
        return self.tokenizer.of_targets().detokenize(pieces)

    def get_config(self):
        config = super().get_config()
        config.update(
            {
                "encoder_sequence_length": self.encoder_sequence_length,
                "decoder_sequence_length": self.decoder_sequence_length,
            }
        )
        return config


def refuse_beside_text(**arguments):
    """Raises a ValueError unless all named arguments are None."""
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"`{name}` cannot be given beside text: labels and their weights are made from "
                "`decoder_text`. Give token ids, labels and weights to a model without a "
                "preprocessor instead."
            )


def text_preprocessor(tokenizer, backbone):
    """Makes a preprocessor with the default lengths, or the backbone's where that has fewer."""
    length = min(128, backbone.max_sequence_length)
    return TransformerSeq2SeqLMPreprocessor(tokenizer, length, length)


def check_one_vocabulary(models):
    """Refuses models whose token ids have different meanings.

    Args:
        models: Tuple of `TransformerSeq2SeqLM`s; without tokenizers only sizes are compared.

    Raises:
        ValueError: If sizes or tokenizers differ.
    """
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


def _decoder_part(inputs):
    return {name: value for name, value in inputs.items() if name.startswith("decoder_")}


def _with_integer_masks(inputs):
    """KerasHub's packer makes Boolean masks, and `tf.distribute` cannot add Booleans."""
    masks = {name: x for name, x in inputs.items() if name.endswith("padding_mask")}
    return inputs | {name: _cast(mask, "int32") for name, mask in masks.items()}


def _cast(x, dtype):
    """Casts a tensor of the backend, a NumPy array of Grain's or a tensor of `tf.data`'s."""
    if isinstance(x, np.ndarray):
        return x.astype(dtype)
    if ops.is_tensor(x):
        return ops.cast(x, dtype)
    import tensorflow as tf

    return tf.cast(x, dtype)
