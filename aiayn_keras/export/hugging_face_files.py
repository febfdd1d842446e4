"""Files that Hugging Face's libraries read: `tokenizer.json`, configuration and README."""

import json
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from aiayn_keras.models.text_normalization import rules_across_characters
from aiayn_keras.models.transformer_tokenizer import SPECIAL_PIECES
from aiayn_keras_light.search_numbers import SearchNumbers

Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
SPACE = "▁"
_ALL = 1 << 16
"""Most spaces that are left out at the beginning of a text."""


def write_tokenizers(folder, tokenizer):
    """Writes `tokenizer.json`, and `target_tokenizer.json` where translations are read otherwise.

    Translations may have other tokens, or the same tokens and other normalization rules.

    Args:
        folder: Path of the folder.
        tokenizer: A `TransformerTokenizer`.

    Raises:
        ValueError: See `write_tokenizer_json`.
    """
    write_tokenizer_json(folder / "tokenizer.json", tokenizer.proto, tokenizer.source_end)
    targets = tokenizer.of_targets().proto
    if targets != tokenizer.proto:
        write_tokenizer_json(folder / "target_tokenizer.json", targets)


def has_other_targets(tokenizer):
    """True if translations have different tokens, not only a different way of splitting text."""
    return tokenizer.of_targets().get_vocabulary() != tokenizer.get_vocabulary()


def write_tokenizer_json(path, proto, end=True):
    """Writes the file of a SentencePiece model, with the same ids.

    Where a unigram model has two splits of one probability, such as `= ==` and `== =`, either may
    be taken. A character that only pieces of the other language hold is such a piece, not unknown.

    Args:
        path: The file.
        proto: Bytes of a SentencePiece model of a `TransformerTokenizer`.
        end: Whether a text's ids end with that of `</s>`.

    Raises:
        ValueError: If the model is neither unigram nor BPE, is BPE with pieces that are never
            split, has user-defined symbols that its own normalization would rewrite, or writes
            spaces after words.
    """
    from tokenizers import AddedToken, Tokenizer, pre_tokenizers, processors

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(proto)
    tokenizer = Tokenizer(_model(model))
    tokenizer.normalizer = _normalizer(model.normalizer_spec, _composes(proto))
    # Metaspace adds no space to a text that begins with one: see `_normalizer`.
    spec = model.normalizer_spec
    by_words = spec.add_dummy_prefix and spec.remove_extra_whitespaces
    # SentencePiece itself splits nothing: a piece may hold several words.
    split = not any(SPACE in piece.piece[1:] for piece in model.pieces if _is_in_texts(piece))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        SPACE, "always" if by_words else "never", split
    )
    tokenizer.decoder = _decoder(model)
    special = [*SPECIAL_PIECES.values()]
    special += [p.piece for p in model.pieces if p.type == Piece.CONTROL and p.piece not in special]
    tokenizer.add_special_tokens(
        [AddedToken(piece, normalized=False, special=True) for piece in special]
    )
    if end:
        last = SPECIAL_PIECES["eos"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"$A {last}",
            pair=f"$A {last} $B {last}",
            special_tokens=[(last, tokenizer.token_to_id(last))],
        )
    tokenizer.save(str(path), pretty=False)


def _is_in_texts(piece):
    return piece.type in (Piece.NORMAL, Piece.USER_DEFINED)


def _rewritten_symbols(model):
    """User-defined symbols that a SentencePiece model's rules would rewrite if they were text."""
    # With a space in them, symbols are looked for in the rewritten text.
    found = [p.piece for p in model.pieces if p.type == Piece.USER_DEFINED and SPACE not in p.piece]
    if not found:
        return []
    plain = sentencepiece_model_pb2.ModelProto()
    plain.CopyFrom(model)
    for piece in plain.pieces:
        if piece.type == Piece.USER_DEFINED:
            piece.type = Piece.NORMAL
    plain.normalizer_spec.add_dummy_prefix = False
    normalize = sentencepiece.SentencePieceProcessor(
        model_proto=plain.SerializeToString()
    ).normalize
    return [piece for piece in found if normalize(piece) != piece]


def _decoder(model):
    """Pieces to text; SentencePiece writes no spaces at the beginning that it would not read."""
    from tokenizers import decoders

    steps = [decoders.Replace(SPACE, " ")]
    if model.trainer_spec.byte_fallback:
        steps.append(decoders.ByteFallback())
    steps.append(decoders.Fuse())
    if model.normalizer_spec.remove_extra_whitespaces:
        steps.append(decoders.Strip(" ", _ALL, 0))
    elif model.normalizer_spec.add_dummy_prefix:
        steps.append(decoders.Strip(" ", 1, 0))
    return decoders.Sequence(steps)


def _model(model):
    from tokenizers import models

    spec = model.trainer_spec
    if spec.treat_whitespace_as_suffix:
        raise ValueError(
            "`tokenizer.json` is written for a SentencePiece model with spaces before words. "
            "Received: treat_whitespace_as_suffix=True."
        )
    if rewritten := _rewritten_symbols(model):
        raise ValueError(
            "`tokenizer.json` is written for user-defined symbols that the normalization "
            f"{model.normalizer_spec.name} leaves as they are: SentencePiece spares them, and "
            f"Hugging Face does not. Received: {rewritten[0]!r:.60}."
        )
    if spec.model_type == spec.UNIGRAM:  # the score 0 of words that are never split wins
        vocabulary = [(piece.piece, piece.score) for piece in model.pieces]
        return models.Unigram(vocabulary, unk_id=spec.unk_id, byte_fallback=spec.byte_fallback)
    symbols = [piece.piece for piece in model.pieces if piece.type == Piece.USER_DEFINED]
    if spec.model_type == spec.BPE and not symbols:
        vocabulary = {piece.piece: i for i, piece in enumerate(model.pieces)}
        merges = _merges(model.pieces)
        return models.BPE(
            vocabulary,
            merges,
            unk_token=SPECIAL_PIECES["unk"],
            fuse_unk=True,
            byte_fallback=spec.byte_fallback,
        )
    raise ValueError(
        "`tokenizer.json` is written for a SentencePiece model of the type unigram, or BPE without "
        "user-defined pieces (`whole_words`). Received: "
        f"{spec.ModelType.Name(spec.model_type)}{f' with {symbols[0]!r:.60}' if symbols else ''}."
    )


def _merges(pieces):
    """Pairs of pieces in the order in which BPE merges them: by the score of the result."""
    scores = {piece.piece: piece.score for piece in pieces if piece.type == Piece.NORMAL}
    merges = [
        (score, whole[:i], whole[i:])
        for whole, score in scores.items()
        for i in range(1, len(whole))
        if whole[:i] in scores and whole[i:] in scores
    ]
    merges.sort(key=lambda merge: -merge[0])
    return [(left, right) for _, left, right in merges]


def _composes(proto):
    """True if a SentencePiece model's rules compose letters, such as those of Hangul."""
    parts = "\u1100\u1161\u11a8"
    pieces = sentencepiece.SentencePieceProcessor(model_proto=proto)
    return pieces.normalize(parts).endswith(unicodedata.normalize("NFC", parts))


def _normalizer(spec, composes):
    """The normalization of Unicode, and of spaces."""
    from tokenizers import Regex, normalizers

    # Compiled rules apply to a letter with its marks only up to five bytes, else to each character.
    steps = [normalizers.NFC()] if composes else []
    steps += [
        normalizers.Replace(Regex(pattern), written)
        for pattern, written in rules_across_characters(spec.name)
    ]
    if spec.precompiled_charsmap:
        steps.append(normalizers.Precompiled(spec.precompiled_charsmap))
    if spec.remove_extra_whitespaces:
        steps += [normalizers.Replace(Regex("^ +| +$"), ""), normalizers.Replace(Regex(" +"), " ")]
    elif spec.add_dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    return normalizers.Sequence(steps)


def write_json(path, content):
    """Writes a JSON file."""
    path.write_text(f"{json.dumps(content, ensure_ascii=False, indent=1)}\n", encoding="utf-8")


def write_configuration(folder, model, precision):
    """Writes `config.json`, `generation_config.json` and `tokenizer_config.json`.

    They call the model `marian`, the library's Transformer with scaled embeddings and a projection
    that may have a bias. The library only reads the model's sizes there, since the arithmetic is in
    the graphs.

    Args:
        folder: Path of the folder.
        model: The `TransformerSeq2SeqLM`.
        precision: Which files transformers.js loads, such as `"fp32"`.
    """
    backbone, tokenizer = model.backbone, model.preprocessor.tokenizer
    config = marian_config(backbone, tokenizer)
    write_json(folder / "config.json", {**config, "transformers.js_config": {"dtype": precision}})
    write_json(folder / "generation_config.json", _generation_config(backbone, tokenizer))
    write_json(folder / "tokenizer_config.json", _tokenizer_config(backbone))


def write_page_settings(folder, tokenizer):
    """Writes `play.json`: settings that make the page to type into translate as `translate` does.

    Args:
        folder: Path of the folder.
        tokenizer: A `TransformerTokenizer`.
    """
    names = "copy_without_letters", "learned_length"
    write_json(folder / "play.json", {name: getattr(tokenizer, name) for name in names})


def marian_config(backbone, tokenizer):
    """Sizes and special tokens of a model as `config.json` of a Marian model names them."""
    sides = {
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in {
            "layers": getattr(backbone, f"num_{side}_layers"),
            "attention_heads": backbone.num_heads,
            "ffn_dim": backbone.intermediate_dim,
        }.items()
    }
    return {
        "model_type": "marian",
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "vocab_size": backbone.vocabulary_size,
        "d_model": backbone.hidden_dim,
        **sides,
        "max_position_embeddings": backbone.max_sequence_length,
        "scale_embedding": True,
        **special_ids(tokenizer),
    }


def _generation_config(backbone, tokenizer):
    """Settings of a search, which writes the same tokens as ours."""
    return {
        **special_ids(tokenizer),
        "suppress_tokens": ids_never_written(tokenizer),
        "min_new_tokens": SearchNumbers.min_length,
        "max_length": backbone.max_sequence_length,
    }


def ids_never_written(tokenizer):
    """Ids of the tokens that our search does not choose."""
    return [tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.start_token_id]


def special_ids(tokenizer):
    """The tokens that a search needs, by Hugging Face's names."""
    return {
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.end_token_id,
        "decoder_start_token_id": tokenizer.start_token_id,
    }


def _tokenizer_config(backbone):
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{f"{name}_token": piece for name, piece in SPECIAL_PIECES.items()},
        "model_max_length": backbone.max_sequence_length,
        "model_input_names": ["input_ids", "attention_mask"],
        "clean_up_tokenization_spaces": False,
    }
