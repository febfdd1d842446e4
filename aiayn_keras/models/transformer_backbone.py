"""The encoder-decoder without its output projection (paper 3, Figure 1)."""

import functools
import inspect
import warnings
from pathlib import Path
from typing import ClassVar

import keras
from keras_hub.models import Backbone

from aiayn_keras.backend import note_model, note_settings, register_parameters
from aiayn_keras.common.weight_files import (
    check_depth,
    check_file_of_model,
    first_not_finite,
    keeping_adapters_alive,
)
from aiayn_keras.layers import (
    AttentionMask,
    DecoderBlock,
    EncoderBlock,
    PositionalEmbedding,
    ReversibleEmbedding,
)
from aiayn_keras.models.architecture import (
    BLOCK_OPTIONS,
    DEPTHS,
    OPTIONS,
    TRANSFORMER_PRESETS,
    FixedParts,
    check_architecture,
    with_changes,
)
from aiayn_keras.models.model_folder import (
    BACKBONE_CLASS,
    OF_BACKBONE,
    check_backbone_folder,
    checking_checksums,
    find_preset,
    with_dtype,
)


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TransformerBackbone(FixedParts, Backbone):
    """The encoder-decoder Transformer (paper 3), a functional `keras.Model`.

    Takes a dictionary of four integer tensors: `encoder_token_ids (B, S)`,
    `encoder_padding_mask (B, S)`, `decoder_token_ids (B, T)`, `decoder_padding_mask (B, T)`. A
    padding mask is 0 on padding; in a packed row 1, 2, 3 … number the sentences, and a sentence
    sees only itself. Returns a dictionary of two float tensors: `encoder_sequence_output
    (B, S, D)` and `decoder_sequence_output (B, T, D)`.

    Defaults are the paper's base model.

    Args:
        vocabulary_size: Number of tokens (V), one vocabulary for both languages.
        num_layers: Number of encoder layers, and of decoder layers (N). The attribute is None if
            the stacks differ.
        num_heads: Number of attention heads (h).
        hidden_dim: Width of the model (d_model).
        intermediate_dim: Width of the feed-forward networks' hidden layers (d_ff).
        key_dim: Width of one head's queries and keys (d_k). Defaults to
            `hidden_dim / num_heads`.
        value_dim: Width of one head's values (d_v). Defaults to `hidden_dim / num_heads`.
        dropout: Share of sublayer outputs and of embedding sums dropped in training (P_drop).
        attention_dropout: Share of attention weights dropped in training.
        activation_dropout: Share of hidden feed-forward units dropped in training.
        activation: The feed-forward networks' non-linearity.
        attention_bias: Whether the attention projections have biases.
        normalize_first: Pre-norm, with one more normalization after the last layer, instead of
            the paper's post-norm.
        tie_weights: Whether the output projection is the embedding matrix (paper 3.4), or a
            matrix of its own.
        logits_bias: Whether the output projection has a bias. The paper has none.
        position_embedding: `"sinusoidal"`, `"learned"`, or `"given"`, a table that is not trained
            but comes with the weights.
        layer_norm_epsilon: Added to the variance in layer normalization.
        max_sequence_length: Number of positions on either side, in tokens.
        num_encoder_layers: Number of encoder layers. Defaults to `num_layers`.
        num_decoder_layers: Number of decoder layers. Defaults to `num_layers`. Translating runs
            the decoder for every token and the encoder once, so a deep encoder with a shallow
            decoder is faster than two equal stacks
            (Kasai et al. 2021, https://arxiv.org/abs/2006.10369).
        dtype: A `keras.DTypePolicy` or its name, such as `"mixed_bfloat16"`.

    Raises:
        ValueError: For a number out of bounds, or `hidden_dim` that is not a multiple of
            `num_heads` while a head's width is not given.
        TypeError: For a value of the wrong type, or an argument that does not exist.

    Example:
        >>> backbone = TransformerBackbone.from_preset(
        ...     "transformer_tiny", vocabulary_size=32, load_weights=False
        ... )
        >>> backbone.count_params()
        1323008
    """

    presets: ClassVar[dict] = TRANSFORMER_PRESETS
    parts: ClassVar[tuple] = (
        *("token_embedding", "encoder_embedding", "decoder_embedding"),
        *("encoder_blocks", "decoder_blocks", "encoder_norm", "decoder_norm"),
        *("encoder_mask", "decoder_mask", "cross_mask"),
    )
    settings: ClassVar[frozenset] = frozenset(OPTIONS)
    # A subclass may use other parts, see `experiments/table3/layers.py`.
    embedding_cls, encoder_block_cls, decoder_block_cls = (
        ReversibleEmbedding,
        EncoderBlock,
        DecoderBlock,
    )

    def __init__(
        self,
        vocabulary_size,
        num_layers=6,
        num_heads=8,
        hidden_dim=512,
        intermediate_dim=2048,
        key_dim=None,
        value_dim=None,
        dropout=0.1,
        attention_dropout=0.0,
        activation_dropout=0.0,
        activation="relu",
        attention_bias=False,
        normalize_first=False,
        tie_weights=True,
        logits_bias=False,
        position_embedding="sinusoidal",
        layer_norm_epsilon=1e-6,
        max_sequence_length=1024,
        num_encoder_layers=None,
        num_decoder_layers=None,
        dtype=None,
        **kwargs,
    ):
        options = check_architecture(
            unknown=sorted(kwargs.keys() - {"name", "trainable"}),
            vocabulary_size=vocabulary_size,
            num_layers=num_layers,
            num_heads=num_heads,
            hidden_dim=hidden_dim,
            intermediate_dim=intermediate_dim,
            key_dim=key_dim,
            value_dim=value_dim,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation_dropout=activation_dropout,
            attention_bias=attention_bias,
            normalize_first=normalize_first,
            tie_weights=tie_weights,
            logits_bias=logits_bias,
            position_embedding=position_embedding,
            layer_norm_epsilon=layer_norm_epsilon,
            max_sequence_length=max_sequence_length,
            num_encoder_layers=num_encoder_layers,
            num_decoder_layers=num_decoder_layers,
        )
        note_model()
        hidden_dim = options["hidden_dim"]
        activation = keras.activations.get(activation)

        # === Layers ===
        self.token_embedding = self.embedding_cls(
            options["vocabulary_size"],
            hidden_dim,
            tie_weights=tie_weights,
            logits_bias=logits_bias,
            embeddings_initializer=keras.initializers.RandomNormal(stddev=hidden_dim**-0.5),
            dtype=dtype,
            name="token_embedding",
        )
        position_options = {
            "max_sequence_length": options["max_sequence_length"],
            "kind": position_embedding,
            "dropout": options["dropout"],
            "dtype": dtype,
        }
        self.encoder_embedding = PositionalEmbedding(name="encoder_embedding", **position_options)
        self.decoder_embedding = PositionalEmbedding(name="decoder_embedding", **position_options)
        block_options = {name: options[name] for name in BLOCK_OPTIONS}
        block_options.update(activation=activation, dtype=dtype)
        self.encoder_blocks = tuple(
            self.encoder_block_cls(name=f"encoder_block_{i}", **block_options)
            for i in range(options["num_encoder_layers"])
        )
        self.decoder_blocks = tuple(
            self.decoder_block_cls(name=f"decoder_block_{i}", **block_options)
            for i in range(options["num_decoder_layers"])
        )
        self.encoder_mask = AttentionMask(name="encoder_self_attention_mask")
        self.decoder_mask = AttentionMask(causal=True, name="decoder_self_attention_mask")
        self.cross_mask = AttentionMask(name="cross_attention_mask")
        self.encoder_norm = self.decoder_norm = None
        if normalize_first:
            self.encoder_norm, self.decoder_norm = (
                keras.layers.LayerNormalization(
                    epsilon=layer_norm_epsilon, dtype=dtype, name=f"{side}_norm"
                )
                for side in ("encoder", "decoder")
            )

        # === Functional Model ===
        inputs = {
            name: keras.Input(shape=(None,), dtype="int32", name=name)
            for name in (
                "encoder_token_ids",
                "encoder_padding_mask",
                "decoder_token_ids",
                "decoder_padding_mask",
            )
        }
        memory = self.encode(inputs["encoder_token_ids"], inputs["encoder_padding_mask"])
        outputs = {
            "encoder_sequence_output": memory,
            "decoder_sequence_output": self.decode(memory, **inputs),
        }
        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, **kwargs)

        if isinstance(dtype, keras.dtype_policies.DTypePolicyMap):
            # Keras saves quantized layers only by policies of their own.
            for layer in self._flatten_layers(include_self=False):
                if layer.path is not None:
                    layer._dtype_policy = dtype[layer.path]

        # === Config ===
        self.activation = activation
        for name, value in options.items():
            setattr(self, name, value)
        note_settings(self._flatten_layers())
        register_parameters(self)

    def load_weights(self, filepath, **kwargs):
        """Loads a file of weights that has been checked, see `keras.Model.load_weights`.

        Raises:
            OSError: If the file does not exist.
            ValueError: If the file is damaged, holds anything but arrays of numbers, is of another
                architecture, or holds a number that is not finite.
        """
        check_file_of_model(filepath)
        try:
            with warnings.catch_warnings():
                # Keras only warns of layers without weights in the file, as of those it is to skip.
                action = "default" if kwargs.get("skip_mismatch") else "error"
                warnings.filterwarnings(action, category=UserWarning)
                with keeping_adapters_alive(self):
                    super().load_weights(filepath, **kwargs)
        except (OSError, KeyError, ValueError, RuntimeError, UserWarning) as error:
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"{filepath} holds no weights of this model: {reason}") from error
        if not kwargs.get("skip_mismatch"):
            check_depth(filepath, self)
        variable = first_not_finite(self.weights)
        if variable is not None:
            raise ValueError(f"{filepath}: `{variable.path}` holds numbers that are not finite.")

    def encode(self, token_ids, padding_mask, **call_options):
        """Runs the encoder: `(B, S)` token ids and padding mask to memory `(B, S, D)`."""
        mask = self.encoder_mask(padding_mask, padding_mask)
        x = self.token_embedding(token_ids)
        x = self.encoder_embedding(x, padding_mask, **call_options)
        for block in self.encoder_blocks:
            x = block(x, mask, **call_options)
        return x if self.encoder_norm is None else self.encoder_norm(x)

    def decode(
        self,
        memory,
        encoder_padding_mask,
        decoder_token_ids,
        decoder_padding_mask,
        encoder_token_ids=None,
        **call_options,
    ):
        """Runs the decoder over all positions at once: hidden states `(B, T, D)`.

        `encoder_token_ids` are not used; they are accepted so that the model's input dictionary
        can be passed whole.
        """
        self_mask = self.decoder_mask(decoder_padding_mask, decoder_padding_mask)
        memory_mask = self.cross_mask(decoder_padding_mask, encoder_padding_mask)
        x = self.token_embedding(decoder_token_ids)
        x = self.decoder_embedding(x, decoder_padding_mask, **call_options)
        for block in self.decoder_blocks:
            x = block(x, memory, self_mask, memory_mask, **call_options)
        return x if self.decoder_norm is None else self.decoder_norm(x)

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Builds a named architecture, or loads a model folder.

        Args:
            preset: A key of `TransformerBackbone.presets`, a model folder, or an address such as
                `"hf://user/model"`.
            load_weights: Whether to load weights. The named architectures have none.
            **kwargs: Constructor arguments that replace the preset's; named architectures need
                `vocabulary_size`. `num_layers` replaces the depth of both stacks, unless that of
                one is given too.

        Raises:
            OSError: If a file of the folder is missing.
            ValueError: If a file of the folder is damaged or foreign, with its name; or if a named
                architecture is asked for weights, or given no `vocabulary_size`.
        """
        if isinstance(preset, Path) or preset not in TRANSFORMER_PRESETS:
            return cls._load_preset(preset, load_weights, **kwargs)
        if load_weights:
            raise ValueError(
                f"{preset!r} is an architecture without trained weights: pass `load_weights=False`."
            )
        if "vocabulary_size" not in kwargs:
            raise ValueError(f"{preset!r} needs `vocabulary_size`, the number of tokens.")
        return cls(**with_changes(TRANSFORMER_PRESETS[preset]["config"], kwargs))

    @classmethod
    def _load_preset(cls, preset, load_weights, **kwargs):
        folder = find_preset(preset, OF_BACKBONE)
        changes = with_changes({}, kwargs)
        load = functools.partial(super().from_preset, folder, load_weights)
        if not Path(folder).is_dir():
            return load(**changes)
        with checking_checksums(folder):
            if keras.saving.get_registered_name(cls) == BACKBONE_CLASS:
                check_backbone_folder(folder, load_weights)
            return load(**with_dtype(folder, changes))

    def get_config(self):
        """The arguments that the model was built with.

        Raises:
            ValueError: If layers are quantized with an `activation_quantizer` of your own, since
                Keras' dtype policies, and so files of the model, do not hold it.
        """
        for layer in self._flatten_layers():
            _check_activation_quantizer(layer)
        config = super().get_config()
        config.update({name: getattr(self, name) for name in OPTIONS})
        if self.num_layers is not None:  # stated once
            config.update(dict.fromkeys(DEPTHS))
        config["activation"] = keras.activations.serialize(self.activation)
        return config


def _check_activation_quantizer(layer):
    config = getattr(layer, "quantization_config", None)
    q = keras.quantizers
    if not isinstance(config, (q.Int8QuantizationConfig, q.Int4QuantizationConfig)):
        return
    if _settings_of_activations(config) != _settings_of_activations(type(config)()):
        raise ValueError(
            f"`{layer.path}` is quantized with an `activation_quantizer` that neither a model "
            "folder nor a `.keras` file can hold: a loaded model would round differently. "
            "Save the model before `quantize`, or quantize it with the default one. "
            f"Received: activation_quantizer={config.activation_quantizer!r:.60}."
        )


def _settings_of_activations(quantization_config):
    quantizer = quantization_config.activation_quantizer
    # A layer sets the axis of a quantizer that has none.
    return quantizer and (type(quantizer), quantizer.get_config() | {"axis": None})


BACKBONE_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(TransformerBackbone.__init__).parameters.items()
    if parameter.default is not parameter.empty and name != "dtype"
}
"""The options of a `TransformerBackbone` and their defaults."""
