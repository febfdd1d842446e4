"""Text to wordpieces and back, one vocabulary for both languages (paper 5.1)."""

import io
import itertools
import os
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import keras
import keras_hub
import sentencepiece

from aiayn_keras.backend import GraphTokenizer
from aiayn_keras.models.architecture import INTEGERS
from aiayn_keras.models.model_folder import TARGET_VOCAB_FILENAME, VOCAB_FILENAME
from aiayn_keras.models.text_normalization import (
    NORMALIZATIONS,
    OWN_NORMALIZATIONS,
    normalizer,
    set_normalization,
)
from aiayn_keras.models.transformer_backbone import TransformerBackbone
from aiayn_keras.models.vocabulary_changes import add_byte_pieces, split_digits
from aiayn_keras_light.checks import check_integer
from aiayn_keras_light.files import read_bytes
from aiayn_keras_light.piece_tokenizer import (
    SPECIAL_PIECES,
    PieceProcessor,
    PieceTokenizer,
    without_zeros,
)
from aiayn_keras_light.text_files import stream_lines

MAX_VOCABULARY_BYTES = 1 << 26
"""Maximum size of a SentencePiece model; one with 256,000 pieces has 4 MB."""


@keras.saving.register_keras_serializable(package="aiayn_keras")
class TransformerTokenizer(keras_hub.tokenizers.SentencePieceTokenizer):
    """A SentencePiece tokenizer with padding 0, unknown 1, start 2 and end 3.

    Imported models may split translations differently from sources, with a second SentencePiece
    model of the same tokens. Methods of a subclass then hold for sources alone.

    Args:
        proto: Path or bytes of a SentencePiece model that holds the pieces `<pad>`, `<unk>`, `<s>`
            and `</s>`, such as `TransformerTokenizer.train` makes.
        target_proto: Bytes of such a model for translations, if they have their own.
        source_end: Whether the model reads an end token after a source, as the paper's does.
        copy_without_letters: Whether a text without letters, such as `15`, `***` or an emoji, is
            its own translation, so that `translate` does not ask the model.
        learned_length: Number of tokens, the end token included, of the longest texts that the
            model has learned to read, if that is known: `translate` splits longer texts into
            sentences. `aiayn-keras train` sets it to the length that 99 % of the training text's
            sources do not exceed.

    Call arguments:
        inputs: A string or a list of strings.

    Returns:
        Token ids: an int32 array for a string, a list of lists for a list.
    """

    backbone_cls = TransformerBackbone

    def __init__(
        self,
        proto=None,
        target_proto=None,
        source_end=True,
        copy_without_letters=False,
        learned_length=None,
        **kwargs,
    ):
        self._add_special_token(SPECIAL_PIECES["pad"], "pad_token")
        self._add_special_token(SPECIAL_PIECES["unk"], "unk_token")
        self._add_special_token(SPECIAL_PIECES["bos"], "start_token")
        self._add_special_token(SPECIAL_PIECES["eos"], "end_token")
        # Not a plain attribute, in which Keras would look for weights and files.
        self._target = SimpleNamespace(tokenizer=None)
        self._pieces = SimpleNamespace(key=None, tokenizer=None)
        self.source_end = source_end
        self.copy_without_letters = copy_without_letters
        self.learned_length = learned_length
        if learned_length is not None:
            most = INTEGERS["max_sequence_length"][1]
            self.learned_length = check_integer("learned_length", learned_length, 1, most)
        super().__init__(proto=proto, **kwargs)
        if target_proto is not None:
            self._set_target_proto(target_proto, "`target_proto`")
            self._add_target_asset()

    def of_targets(self):
        """The `TransformerTokenizer` of translations, which always end.

        It is this one, unless there is a `target_proto` or no `source_end`. (A method, since Keras
        follows every attribute that is a layer when it saves.)
        """
        return self._target.tokenizer or self

    @property
    def target_proto(self):
        """Bytes of the SentencePiece model for translations, if they have their own."""
        return None if self._target.tokenizer is None else self._target.tokenizer.proto

    def _add_target_asset(self):
        """Adds the target's file to those that a preset is loaded from, here or from a hub."""
        self.file_assets = [VOCAB_FILENAME, TARGET_VOCAB_FILENAME]

    def _set_target_proto(self, proto, origin):
        _check_proto(proto, origin)
        target = TransformerTokenizer(proto, dtype=self.compute_dtype)
        if target.vocabulary_size() != self.vocabulary_size():
            raise ValueError(
                f"{origin} must have as many pieces as the SentencePiece model of sources, "
                f"{self.vocabulary_size()}. Received: {target.vocabulary_size()}."
            )
        self._target.tokenizer = target
        for name in ("tokenize", "detokenize"):
            if getattr(type(self), name) is not getattr(TransformerTokenizer, name):
                warnings.warn(
                    f"`{type(self).__name__}.{name}` is not used for translations, which have a "
                    "SentencePiece model of their own and a plain TransformerTokenizer with it. "
                    "Both sides share one, and your method, if `train` is given the same "
                    "`normalization` and `target_normalization`.",
                    stacklevel=2,
                )

    def save_assets(self, dir_path):
        super().save_assets(dir_path)
        if TARGET_VOCAB_FILENAME in self.file_assets:
            (Path(dir_path) / TARGET_VOCAB_FILENAME).write_bytes(self.target_proto)

    def load_assets(self, dir_path):
        """Reads the SentencePiece models of a saved tokenizer.

        Raises:
            OSError: If a file is missing or not a regular file.
            ValueError: If a file is not a SentencePiece model with the four special pieces, or the
                two differ in size.
        """
        path = Path(dir_path) / VOCAB_FILENAME
        proto = read_bytes(path, MAX_VOCABULARY_BYTES)
        _check_proto(proto, path)
        self.set_proto(proto)
        if TARGET_VOCAB_FILENAME in self.file_assets:
            path = Path(dir_path) / TARGET_VOCAB_FILENAME
            self._set_target_proto(read_bytes(path, MAX_VOCABULARY_BYTES), path)

    def _set_proto_tf(self, proto):
        """Sets what KerasHub calls in a graph, where it made a tokenizer outside any graph."""
        self._sentence_piece = GraphTokenizer(
            proto, out_type=self.compute_dtype, add_bos=self.add_bos, add_eos=self.add_eos
        )

    def _set_proto_spm(self, proto):
        """Sets what KerasHub calls outside graphs."""
        super()._set_proto_spm(proto)
        self._sentence_piece_spm = PieceProcessor(
            model_proto=proto,
            out_type=str if self.compute_dtype == "string" else int,
            add_bos=self.add_bos,
            add_eos=self.add_eos,
            alpha=1.0,
        )

    def set_proto(self, proto):
        """Sets the SentencePiece model, see the constructor's argument; None for none yet."""
        if isinstance(proto, Path):
            proto = read_bytes(proto, MAX_VOCABULARY_BYTES)
        content = proto
        if isinstance(proto, str) and os.path.exists(proto):  # otherwise base64
            content = read_bytes(
                proto, MAX_VOCABULARY_BYTES
            )  # as KerasHub does, but not in safe mode
        if isinstance(content, bytes):
            _check_proto(content, "`proto`")
        super().set_proto(proto)
        if isinstance(content, str):
            _check_proto(self.proto, "`proto`")
        if not self.source_end and self.proto is not None:
            self._set_target_proto(self.proto, "`proto`")

    @property
    def source_ids(self):
        """List of the token ids after a source's wordpieces, the end token's or none."""
        return [self.end_token_id] if self.source_end else []

    def is_plain(self):
        """True if its SentencePiece models split texts as it does.

        A subclass may do more, and so do options of KerasHub.
        """
        options = self.sequence_length, self.add_bos, self.add_eos, self.of_targets().add_eos
        return type(self) is TransformerTokenizer and not any(options)

    def without_layer(self):
        """A tokenizer with the same tokens that is not a layer: a layer's calls take 1 ms.

        Returns:
            A `PieceTokenizer`; this tokenizer itself if it may do more, as a subclass or with
            options of KerasHub.
        """
        if self.proto is None or not self.is_plain():
            return self
        key = self.proto, self.target_proto, self.source_end, self.copy_without_letters
        if self._pieces.key != key:
            # In one step, since threads may call this at once.
            self._pieces = SimpleNamespace(key=key, tokenizer=PieceTokenizer(*key))
        return self._pieces.tokenizer

    def byte_token_ids(self):
        """Returns the list of the ids that spell unknown characters as bytes; empty without."""
        pieces = sentencepiece.SentencePieceProcessor(model_proto=self.proto)
        return [i for i in range(pieces.vocab_size()) if pieces.is_byte(i)]

    def detokenize(self, inputs, *args, **kwargs):
        """Joins token ids to texts; see `keras_hub.tokenizers.SentencePieceTokenizer`.

        Args:
            inputs: Token ids of a text, or a batch of those: lists, an array or a tensor.
            *args: As in KerasHub.
            **kwargs: As in KerasHub.

        Raises:
            ValueError: For an id that the vocabulary does not have, or anything but integers.
        """
        try:
            if _holds_text(inputs):  # KerasHub would join pieces, too
                raise TypeError("text")
            return super().detokenize(inputs, *args, **kwargs)
        except (IndexError, TypeError) as error:
            raise ValueError(
                f"`inputs` must be token ids from 0 to {self.vocabulary_size() - 1}, or lists of "
                f"them. Received: {inputs!r:.100}."
            ) from error

    @classmethod
    def from_preset(cls, preset, *args, **kwargs):
        """Loads the tokenizer of a preset.

        Args:
            preset: Path of a model folder, or an address such as `"hf://user/model"`.
            *args: As in KerasHub.
            **kwargs: As in KerasHub.
        """
        return super().from_preset(os.fspath(preset), *args, **kwargs)

    def get_config(self):
        config = super().get_config()
        separate = TARGET_VOCAB_FILENAME in self.file_assets
        config.update(
            {
                "source_end": self.source_end,
                "copy_without_letters": self.copy_without_letters,
                "learned_length": self.learned_length,
                "separate_target": separate,
            }
        )
        return config

    @classmethod
    def from_config(cls, config):
        """Makes a tokenizer that has yet to load its files; `separate_target` says how many."""
        separate = config.get("separate_target", False)
        config = {key: value for key, value in config.items() if key != "separate_target"}
        tokenizer = super().from_config(config)
        if separate:
            tokenizer._add_target_asset()
        return tokenizer

    @classmethod
    def train(
        cls,
        texts,
        vocabulary_size,
        model_type="bpe",
        normalization="clean_nfkc",
        whole_words=(),
        target_texts=None,
        target_normalization=None,
        byte_fallback=False,
        split_digits=True,
    ):
        """Learns a vocabulary.

        Args:
            texts: A path, a list of paths, or an iterable of sentences. A list of strings is taken
                as sentences; paths are `pathlib.Path`s. Files are UTF-8, plain or `.gz`.
            vocabulary_size: Number of tokens, the four special ones included.
            model_type: `"bpe"` (https://arxiv.org/abs/1508.07909) or `"unigram"`
                (https://arxiv.org/abs/1804.10959).
            normalization: Name of a normalization of Unicode and spaces, stored in the tokenizer;
                one of `aiayn_keras.models.text_normalization.NORMALIZATIONS`. The default is for
                sources as people type and paste them.
            whole_words: Words that are one token each and are never split, a sequence of strings
                without spaces that a normalization leaves as they are. A longer word that begins
                with one of them is split after it.
            target_texts: Texts of the target language, given like `texts`, if they have a
                normalization of their own. Both sides still share one vocabulary.
            target_normalization: Name of the targets' normalization; by default `"nfc"`, which
                writes them as they are. But without `target_texts`, where `texts` hold both
                languages, a `normalization` other than `"clean_nfkc"` holds for both
                (`"nmt_nfkc"` turns ！ into !).
            byte_fallback: Whether characters that are not in the vocabulary are spelled with 256
                tokens, the bytes of UTF-8. Without them, they are one unknown token each.
            split_digits: Whether every digit is a token of its own.

        Returns:
            A `TransformerTokenizer`.

        Raises:
            ValueError: For an unknown `model_type` or normalization, for one of `whole_words` that
                no text can hold, for a string in place of a list that is not the path of a file,
                for no text, for a text that is not a string, or for too little or too
                varied text for the size.
            OSError: If a file cannot be read. What an iterable raises is raised as it is.
        """
        if target_normalization is None:
            is_for_both = target_texts is None and normalization != "clean_nfkc"
            target_normalization = normalization if is_for_both else "nfc"
        for name in (normalization, target_normalization):
            if name not in NORMALIZATIONS:
                raise ValueError(
                    f"A normalization must be one of {', '.join(NORMALIZATIONS)}. "
                    f"Received: {name!r}."
                )
        _check_whole_words(whole_words, {normalization, target_normalization})
        names, rules = (normalization, target_normalization), normalization
        for name, side in (("texts", texts), ("target_texts", target_texts)):
            _check_is_no_text(name, side)
        sides = [_sentences(side) for side in (texts, target_texts) if side is not None]
        if target_normalization != normalization or normalization in OWN_NORMALIZATIONS:
            # The rules are applied here, and SentencePiece then takes texts as they are. If one
            # list holds both languages, its texts are learned in both forms, so that the vocabulary
            # has the characters of both.
            normalizers, rules = list(map(normalizer, names)), "identity"
            each = [normalizers] if target_texts is None else [[rule] for rule in normalizers]
            sides = map(_in_all_forms, sides, each)
        sentences = itertools.chain(*sides)
        if model_type not in ("bpe", "unigram"):
            raise ValueError(
                f'`model_type` must be "bpe" or "unigram". Received: model_type={model_type!r}.'
            )
        model, raised = io.BytesIO(), []
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_noting_errors(sentences, raised),
                model_writer=model,
                vocab_size=vocabulary_size,
                model_type=model_type,
                normalization_rule_name=rules,
                character_coverage=1.0,
                max_sentence_length=65_536,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                **{f"{name}_piece": piece for name, piece in SPECIAL_PIECES.items()},
                user_defined_symbols=[f"▁{word}" for word in whole_words],
                byte_fallback=byte_fallback,
                split_digits=split_digits,
                minloglevel=2,
            )
        except (RuntimeError, OSError) as error:
            if raised:  # by the texts; Ctrl-C is among them
                raise raised[0] from None
            raise ValueError(
                f"No vocabulary of `vocabulary_size`={vocabulary_size} could be learned from "
                f"`texts`: {_reason(error)}"
            ) from error
        proto = model.getvalue()
        if rules == normalization:
            return cls(proto=proto)
        source, target = (set_normalization(proto, name) for name in names)
        return cls(proto=source, target_proto=None if source == target else target)

    def with_normalization(self, normalization):
        """Returns a tokenizer that rewrites sources by other rules, with the same tokens.

        Args:
            normalization: Name of a normalization, as in `train`. Translations keep theirs.
        """
        return self._changed(set_normalization(self.proto, normalization), self.of_targets().proto)

    def with_target_normalization(self, normalization):
        """Returns a tokenizer that rewrites translations by other rules, with the same tokens."""
        return self._changed(self.proto, set_normalization(self.of_targets().proto, normalization))

    def with_byte_fallback(self):
        """Returns a tokenizer that spells unknown characters with 256 more tokens, their bytes."""
        return self._changed(*map(add_byte_pieces, (self.proto, self.of_targets().proto)))

    def with_split_digits(self):
        """Returns a tokenizer that splits numbers into digits; the ids of tokens stay.

        Raises:
            ValueError: If one of the ten digits is not in the vocabulary.
        """
        return self._changed(*map(split_digits, (self.proto, self.of_targets().proto)))

    def _changed(self, proto, target_proto):
        # With a subclass's own options.
        changed = type(self).from_config({**self.get_config(), "separate_target": False})
        changed.set_proto(proto)
        if target_proto != proto:  # else, without `source_end`, it is made from the sources' model
            changed._set_target_proto(target_proto, "`target_proto`")
            changed._add_target_asset()
        return changed


def _holds_text(inputs):
    """True for a string, or a list or array that holds one."""
    if isinstance(inputs, list | tuple):
        return any(map(_holds_text, inputs))
    kind = getattr(getattr(inputs, "dtype", None), "kind", None)
    return isinstance(inputs, str | bytes) or kind in ("U", "S")


def _check_whole_words(words, normalizations):
    """Raises a ValueError for a word that no text has once it is normalized."""
    if isinstance(words, str):
        raise ValueError(f"`whole_words` must be a sequence of strings. Received: {words!r:.60}.")
    normalizers = [normalizer(name) for name in sorted(normalizations)]
    for word in words:
        if not isinstance(word, str) or len(word.split()) != 1 or "▁" in word:
            raise ValueError(f"`whole_words` must be words without spaces. Received: {word!r:.60}.")
        written = [normalize(word) for normalize in normalizers]
        if word not in written:
            raise ValueError(
                "`whole_words` must be words as the normalization "
                f"{' or '.join(sorted(normalizations))} writes them, or no text would hold them. "
                f"Received: {word!r:.60}, which becomes {written[0]!r:.60}."
            )


def _check_is_no_text(name, texts):
    if isinstance(texts, str) and not os.path.exists(texts):
        raise ValueError(
            f"`{name}` must be sentences, such as `text.splitlines()`, or the path of a file. "
            f"Received: the string {texts!r:.60}, which is not the path of an existing file."
        )


def _sentences(texts):
    if isinstance(texts, (str, Path)):
        texts = [Path(texts)]
    for number, text in enumerate(texts):
        if isinstance(text, Path):
            yield from map(without_zeros, stream_lines(text))
        elif isinstance(text, (str, bytes)):
            yield without_zeros(text)  # SentencePiece would leave out the whole text
        else:
            raise ValueError(f"Texts must be strings. Received: text {number} is {text!r:.60}.")


def _noting_errors(texts, raised):
    """Yields texts, and adds the errors that they raise to a list; SentencePiece replaces them."""
    try:
        yield from texts
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        raised.append(error)
        raise


def _in_all_forms(texts, normalizers):
    """Yields each text as each normalizer writes it, equal ones once."""
    for text in texts:
        yield from dict.fromkeys(normalize(text) for normalize in normalizers)


def _check_proto(proto, origin):
    """Raises a ValueError that names the origin unless bytes are a SentencePiece model of ours."""
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
        size = processor.vocab_size()
        found = [processor.id_to_piece(i) for i in range(min(size, len(SPECIAL_PIECES)))]
    except (RuntimeError, ValueError, TypeError, OSError, IndexError) as error:
        reason = " ".join(str(error).split())[:100]
        raise ValueError(f"{origin} holds no SentencePiece model: {reason}") from error
    if found != list(SPECIAL_PIECES.values()):
        raise ValueError(
            f"{origin} must hold a SentencePiece model that begins with the pieces "
            f"{', '.join(SPECIAL_PIECES.values())}. Received: {', '.join(found) or 'none'}."
        )


def _reason(error):
    """An error of SentencePiece's training in our words, or else its own."""
    reason = " ".join(str(error).split()).partition(" At: ")[0]  # without Python's frames
    if "sentences_.empty()" in reason or "(all_chars_count) > (0)" in reason:
        return "they are empty."
    if maximum := re.search(r"Please set it to a value <= (\d+)", reason):
        return f"they yield at most {maximum[1]} tokens. Choose a smaller size."
    if minimum := re.search(r"smaller than required_chars. \d+ vs (\d+)", reason):
        return f"their characters and the special tokens alone are {minimum[1]}. Choose more."
    return f"SentencePiece says: {reason}"
