"""The translation model: a backbone with its tied output projection, trained and searched."""

import functools
from pathlib import Path
from typing import ClassVar

import keras
import numpy as np

from aiayn_keras.backend import (
    CompiledFunctions,
    begin_computing,
    identity_of,
    in_parallel,
    register_parameters,
)
from aiayn_keras.decoding.beam_sampler import (
    BeamSampler,
    generate_tokens,
    read_sampler,
    until_end,
    write_sampler,
)
from aiayn_keras.decoding.recording import options_to_record, record_search
from aiayn_keras.decoding.scoring import (
    alignments,
    compute_attention_maps,
    score_texts,
    token_log_probs,
)
from aiayn_keras.decoding.search_options import with_defaults
from aiayn_keras.decoding.translation_search import AUTO, ModelEngines, TranslationSearch
from aiayn_keras.documents.long_texts import translate_any_length, translate_by_sentence
from aiayn_keras.models.architecture import check_model_arguments
from aiayn_keras.models.model_folder import (
    OF_TASK,
    TASK,
    TASK_CLASS,
    checking_checksums,
    find_preset,
    load_preset,
)
from aiayn_keras.models.model_folder_writing import write_model_folder
from aiayn_keras.models.training_steps import TrainingSteps
from aiayn_keras.models.transformer_backbone import TransformerBackbone
from aiayn_keras.models.transformer_seq2seq_lm_preprocessor import (
    TransformerSeq2SeqLMPreprocessor,
    check_prompts,
    check_written,
    with_ensemble,
)
from aiayn_keras.optimization import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    TokenAccuracy,
    paper_adam,
)
from aiayn_keras_light.search_numbers import read_search_defaults, write_search_defaults


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TransformerSeq2SeqLM(TrainingSteps):
    """A `TransformerBackbone` that translates (paper 3, 5 and 6).

    Maps the backbone's inputs to logits `(B, T, V)`; the output projection is the embedding matrix
    (paper 3.4), unless the backbone has `tie_weights=False`. `fit` takes texts or, without a
    preprocessor, the arrays that it would return.

    Args:
        backbone: A `TransformerBackbone`.
        preprocessor: A `TransformerSeq2SeqLMPreprocessor`, or `None`.
        **kwargs: As in KerasHub: `name`, `trainable`, `dtype` and `compile`.

    Attributes:
        search_defaults: Dictionary of the fields of `SearchOptions` that `translate` and serving
            kits use unless others are given, such as `{"num_beams": 5}`; a model folder keeps it.

    Example:
        >>> model = TransformerSeq2SeqLM.from_preset("runs/demo")  # doctest: +SKIP
        >>> model.translate(["half past three"])[0].text  # doctest: +SKIP
        'halb vier'
    """

    backbone_cls = TransformerBackbone
    preprocessor_cls = TransformerSeq2SeqLMPreprocessor
    # Functions `(model, filepath, **options)` by format, added by `aiayn_keras.export`.
    exporters: ClassVar[dict] = {}
    # Pairs of functions for models of other toolkits, `is_foreign(preset)` and
    # `convert(preset, dtype)`, added by `aiayn_keras.convert`.
    converters: ClassVar[list] = []

    def __init__(self, backbone, preprocessor=None, **kwargs):
        check_model_arguments(kwargs)
        if preprocessor is not None:
            preprocessor.check_backbone(backbone)

        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        self._compiled_functions = CompiledFunctions()
        self._engines = ModelEngines()
        self._generated_by = None
        self.search_defaults = {}

        # === Functional Model ===
        inputs = backbone.input
        hidden_states = backbone(inputs)["decoder_sequence_output"]
        outputs = backbone.token_embedding(hidden_states, reverse=True)
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        register_parameters(self)

    def compile(
        self, optimizer="auto", loss="auto", *, weighted_metrics="auto", sampler="auto", **kwargs
    ):
        """Compiles the model; the defaults are the paper's recipe.

        Args:
            optimizer: Defaults to `paper_adam`: Adam with the warm-up schedule (paper 5.3).
            loss: Defaults to `LabelSmoothedCrossEntropy(0.1)` (paper 5.4).
            weighted_metrics: Defaults to accuracy and perplexity per real token.
            sampler: Sampler of `generate`. Defaults to `BeamSampler(4, 0.6)` (paper 6.1).
            **kwargs: As in `keras.Model.compile`; `jit_compile` defaults to True on JAX alone.
        """
        if optimizer == "auto":
            optimizer = paper_adam(self.backbone.hidden_dim)
        if loss == "auto":
            loss = LabelSmoothedCrossEntropy()
        if weighted_metrics == "auto":
            weighted_metrics = [TokenAccuracy(), Perplexity()]
        super().compile(
            optimizer=optimizer,
            loss=loss,
            weighted_metrics=weighted_metrics,
            sampler=BeamSampler() if sampler == "auto" else sampler,
            **kwargs,
        )

    def quantize(self, mode=None, config=None, **kwargs):
        """Quantizes the weights, which are all the backbone's, see `keras.Model.quantize`.

        Keras' own method would look for weights in the tokenizer too, and fail.

        Args:
            mode: The mode of the quantization, such as `"int8"`.
            config: A `keras.quantizers.QuantizationConfig`, instead of `mode`.
            **kwargs: As in `keras.Model.quantize`.
        """
        self.backbone.quantize(mode, config=config, **kwargs)
        self.train_function = self.test_function = self.predict_function = None
        self._post_quantize(mode)

    def generate(self, inputs, max_length=None, **options):
        """Generates texts by the compiled sampler, see KerasHub's; weights must be finite.

        Args:
            inputs: Texts, or a dictionary of `encoder_text` and `decoder_text`.
            max_length: Maximum number of tokens, start and end included.
            **options: As in KerasHub.
        """
        if self.preprocessor is not None:
            self.preprocessor.check_backbone(self.backbone)
            inputs = check_prompts(inputs, max_length, options.get("strip_prompt"))
        texts = super().generate(inputs, max_length=max_length, **options)
        return check_written(texts, inputs, self)

    def generate_step(self, inputs, stop_token_ids=None):
        """Extends a batch of prompts with the compiled sampler; used by `generate`.

        The limit is the prompt's padded length; `translate` limits a sentence as the paper does.

        Args:
            inputs: The preprocessor's dictionary of four integer tensors.
            stop_token_ids: Tuple of the ids that end a text.

        Returns:
            Dictionary of `decoder_token_ids (B, T)` and `decoder_padding_mask (B, T)`.
        """
        token_ids = generate_tokens(self.backbone, self.sampler, inputs, stop_token_ids, self)
        mask = inputs["decoder_padding_mask"]
        return {
            "decoder_token_ids": token_ids,
            "decoder_padding_mask": until_end(token_ids, stop_token_ids or (), mask),
        }

    def make_generate_function(self):
        """Returns the compiled function behind `generate`, rebuilt when the model has changed.

        See `keras_hub.models.CausalLM.make_generate_function`.
        """
        begin_computing(self)
        identity = identity_of(self)
        if self._generated_by != identity:
            self.generate_function, self._generated_by = None, identity
        return super().make_generate_function()

    def translate(
        self,
        texts,
        num_beams=None,
        length_penalty=None,
        *,
        prefixes=None,
        ensemble=(),
        return_alignments=False,
        batch_size=64,
        long_text="error",
        placeables="translate",
        progress=None,
        engine=AUTO,
        **search_options,
    ):
        """Translates texts by beam search.

        Args:
            texts: List of strings, or a single string. A text without words has an empty
                translation; a text without letters is its own translation if
                `copy_without_letters` is set; and one longer than the tokenizer's `learned_length`
                is translated sentence by sentence.
            num_beams: Number of beams W; None for that of `search_defaults`, or else 4.
            length_penalty: Exponent α of the GNMT length penalty; None for the model's, or 0.6.
            prefixes: Strings that the translations begin with, except those without words.
            ensemble: Other models with the same vocabulary; all probabilities are averaged.
            return_alignments: Whether hypotheses record where the model looked.
            batch_size: Number of texts searched together. It does not change translations.
            long_text: `"error"`, `"split"` or `"cut"` for more tokens than there are positions.
            placeables: `"keep"` leaves URLs, `{name}` and the like as they are; or `"translate"`.
            progress: Function of the number of texts newly done, first those without words.
            engine: The program that searches: `"keras"`, `"ctranslate2"`, `"ctranslate2-int8"`, or
                `"auto"`, CTranslate2 on CPUs where it finds what Keras does; see docs/devices.md.
            **search_options: The other fields of `SearchOptions`, such as `num_return_sequences`,
                `max_length`, and `length_penalty_offset=0` for other toolkits' length penalty.

        Returns:
            List of `Translation`s, one per text, in order; for a single string one `Translation`,
            as `generate` returns one string.

        Raises:
            ValueError: For a text that is too long, prefixes that differ from the texts in number
                or exceed the length limit, options that are out of range or exclude each other,
                non-finite weights, an ensemble with different vocabularies, or no tokenizer.
                `NoTranslationError`, with the texts' `rows`, if nothing satisfies `constraint`.
            TypeError: For an unknown search option, or one that is not a number.
        """
        search_options |= {"num_beams": num_beams, "length_penalty": length_penalty}
        options = with_defaults(self.search_defaults, search_options)
        models = with_ensemble(self, ensemble)
        search, own_find = self.own_search(models, options)
        is_single = isinstance(texts, str)
        prefixes = [prefixes] if is_single and isinstance(prefixes, str) else prefixes
        translations = translate_any_length(
            [texts] if is_single else texts,
            long_text,
            placeables,
            search,
            self._engines.find(engine, models, options, own_find),
            batch_size=batch_size,
            prefixes=prefixes,
            align=self._compiled("align", alignments) if return_alignments else None,
            progress=progress,
            in_turn=in_parallel,
        )
        return translations[0] if is_single else translations

    def own_search(self, models, options):
        """Our own search of batches: a `TranslationSearch`, and its `compiled` function.

        Args:
            models: Tuple of this model and those of its ensemble.
            options: `SearchOptions`.
        """
        search = TranslationSearch(tuple(m.backbone for m in models), self._tokenizer, options)
        return search, search.compiled(self._compiled_functions, models)

    def translate_documents(self, texts, *, ensemble=(), **options):
        """Translates texts of any length, sentence by sentence.

        Line breaks, blank lines, spaces, bullets and anything without letters stay as they are. A
        sentence with more wordpieces than the model has positions is cut at the best places;
        nothing is left out.

        Args:
            texts: List of strings, or a single string.
            ensemble: See `translate`.
            **options: The other options of `translate` except `prefixes` and `long_text`;
                `progress` counts sentences.

        Returns:
            List of `DocumentTranslation`s, one per text, in order; only one for a single string.

        Raises:
            ImportError: If TensorFlow Text, which finds the sentences, is not installed.
            ValueError: As `translate`, except for long texts.
            TypeError: As `translate`, and for `prefixes` and `long_text`.
        """
        for name in {"prefixes", "long_text"} & set(options):
            raise TypeError(f"`{name}` is for sentences: give it to `translate`.")
        models = with_ensemble(self, ensemble)
        documents = translate_by_sentence(
            [texts] if isinstance(texts, str) else texts,
            lambda sentences: self.translate(sentences, ensemble=models[1:], **options),
            self._tokenizer,
            min(model.backbone.max_sequence_length for model in models),
        )
        return documents[0] if isinstance(texts, str) else documents

    def score(self, sources, targets, *, per_token=False, batch_size=64):
        """Log-probabilities of given texts in their usual wordpieces, as `translate` reports them.

        Layers with int8 weights round their inputs here but not in `translate`, so a quantized
        model scores a text slightly differently from what `translate` reported.

        Args:
            sources: List of strings.
            targets: List of strings, one per source.
            per_token: Whether to return the log-probability of every wordpiece and the end token.
            batch_size: Number of pairs scored together.

        Returns:
            Float32 array with one log-probability per pair, in nats, the end token included; with
            `per_token` a list with one array per pair. The score of a pair without words is the
            log-probability of its end token, whereas `translate` reports 0 for such a text.

        Raises:
            ValueError: For lists of different lengths, a text with more tokens than the model has
                positions, a `batch_size` out of range, or a model without a tokenizer.
        """
        scores = score_texts(
            sources,
            targets,
            tokenizer=self._tokenizer,
            token_log_probs=self._compiled("token_log_probs", token_log_probs),
            max_sequence_length=self.backbone.max_sequence_length,
            batch_size=batch_size,
        )
        return scores if per_token else np.array([sum(score) for score in scores], "float32")

    def attention_maps(self, source, target):
        """Attention weights of every layer and head for one pair, see `AttentionMaps`.

        Args:
            source: A string.
            target: A string, such as the translation.
        """
        return compute_attention_maps(self.backbone, self._tokenizer, source, target)

    def record_search(
        self,
        source,
        beam_counts=(1, 2, 3, 4, 5),
        length_penalties=(0.0, 0.6, 1.0),
        progress=None,
        **search_options,
    ):
        """Searches for translations of a text as `translate` does, and records every step.

        Each number of beams is searched with each exponent; `plotting.decoding_steps` draws them.

        Args:
            source: A string with at least one word.
            beam_counts: Numbers of beams.
            length_penalties: Exponents α of the length penalty.
            progress: Function of the number of new steps; its exceptions end the searches.
            **search_options: The other fields of `SearchOptions`.

        Returns:
            `aiayn_keras.decoding.recording.SearchRecord`.

        Raises:
            ValueError: For a text without words or too long for the model, no beam count or no
                exponent, options out of range, or if no translation is found.
        """
        options = options_to_record(
            beam_counts, length_penalties, self.search_defaults, search_options
        )
        return record_search(
            self.backbone, self._tokenizer, source, options, self._compiled, progress
        )

    def export(self, filepath, format="saved_model", **options):
        """Writes the model for use without this package.

        Args:
            filepath: Where to write; for `"saved_model"` the folder `<name>` that gets a new
                sub-folder `<version>`.
            format: A key of `TransformerSeq2SeqLM.exporters`.
            **options: Options of the format, see `aiayn_keras.export`.

        Returns:
            Path of what was written.
        """
        if not isinstance(format, str) or format not in self.exporters:
            raise ValueError(
                f"Unknown `format` {format!r:.60}. There are: {', '.join(self.exporters)}."
            )
        return self.exporters[format](self, filepath, **options)

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model folder, or any other preset that KerasHub finds.

        Args:
            preset: Path of a folder, or an address such as `"hf://user/model"`, whose files are
                downloaded and checked like a folder's. A Marian model of Hugging Face's, such as
                `"hf://Helsinki-NLP/opus-mt-en-de"`, is converted, see `aiayn_keras.convert`.
            load_weights: Whether to load the weights.
            **kwargs: As in KerasHub, such as `dtype`.

        Raises:
            OSError: If a file of the folder is missing.
            ValueError: If a file of the folder is damaged or foreign, with its name; or if
                `dtype` is given for a quantized model, or an option that belongs to the backbone.
        """
        for is_foreign, convert in cls.converters if cls._is_ours() else ():
            if is_foreign(preset):
                if not load_weights:
                    raise ValueError("`load_weights` must be True for a converted model.")
                return convert(preset, **kwargs)
        if cls._is_ours():
            preset = find_preset(preset, OF_TASK)
        if not Path(preset).is_dir():
            return super().from_preset(str(preset), load_weights=load_weights, **kwargs)
        with checking_checksums(preset):
            return load_preset(cls, super().from_preset, preset, load_weights, **kwargs)

    @classmethod
    def _is_ours(cls):
        """True for this class, False for one derived from it."""
        return keras.saving.get_registered_name(cls) == TASK_CLASS

    def save_assets(self, dir_path):
        """Writes what a `.keras` file would not hold: `search_defaults`, and the sampler."""
        write_search_defaults(dir_path, self.search_defaults)
        write_sampler(dir_path, self.sampler)

    def load_assets(self, dir_path):
        """Reads the `search_defaults` and the sampler of a `.keras` file."""
        self.search_defaults = read_search_defaults(dir_path)
        self.sampler = read_sampler(dir_path, self.sampler)

    def save_to_preset(self, preset_dir, max_shard_size=None, *, weights="float32"):
        """Writes a model folder, see `keras_hub.models.Task.save_to_preset`.

        The weights are one file, with LoRA adapters merged. `task.json` appears last, when
        everything else is in place.

        Args:
            preset_dir: Folder to fill; made if missing.
            max_shard_size: Must be None; accepted since KerasHub's method has it.
            weights: Number format of float32 matrices in the file: `"float16"` halves them, which
                changes their last digits. They are float32 again once loaded.

        Raises:
            OSError: If there is not enough room; existing files stay.
            ValueError: If `weights` is unknown, a weight too large for it, or a layer was changed.
        """
        if max_shard_size is not None:
            raise ValueError(
                "The weights of a model folder are one file: `max_shard_size` must be None. "
                f"Received: max_shard_size={max_shard_size!r}."
            )
        save = functools.partial(super().save_to_preset, max_shard_size=None)
        write_model_folder(preset_dir, save, self, last=TASK, weights=weights)

    def _run_through_graph(self, inputs, operation_fn=lambda layer: layer, call_fn=None):
        """Runs the graph, in `keras.models.clone_model` with copies of its layers.

        Keras would copy the embedding twice, in the backbone and as output projection.
        """
        begin_computing()

        def of_backbone(layer):
            backbone = operation_fn(self.backbone)
            is_copied = layer is self.backbone.token_embedding and isinstance(backbone, keras.Model)
            return backbone.get_layer(layer.name) if is_copied else operation_fn(layer)

        return super()._run_through_graph(inputs, of_backbone, call_fn)

    @property
    def _tokenizer(self):
        if self.preprocessor is None:
            raise ValueError("The model has no `preprocessor` and therefore no tokenizer.")
        self.preprocessor.check_vocabulary_size(self.backbone.vocabulary_size)
        return self.preprocessor.tokenizer

    def _compiled(self, key, function):
        """Binds a function to the backbone and compiles it, once per `key`; it returns arrays."""
        begin_computing(self)
        run = self._compiled_functions.get(key, functools.partial(function, self.backbone), self)
        convert = keras.ops.convert_to_numpy
        return lambda *arrays: keras.tree.map_structure(convert, run(*arrays))
