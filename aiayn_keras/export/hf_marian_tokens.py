"""The tokens of a model in the files of transformers' `MarianTokenizer`."""

from aiayn_keras.export.hugging_face_files import write_json

LANGUAGE = "▁>>", "<<"
"""Beginning and end of our token for the language that a source asks for."""


def write_marian_tokens(folder, tokenizer, max_sequence_length):
    """Writes `source.spm`, `target.spm`, `vocab.json` and `tokenizer_config.json`.

    Tokens keep their ids. Where the two SentencePiece models name them differently, the names in
    translations are in `target_vocab.json`.

    The tokenizer there gives the same ids, but for these texts:

    - The names of special tokens, such as `</s>`, are these tokens wherever a text has them.
    - `>>xx<<` is a token where a text begins with it, and unknown if there is none of this name.

    Args:
        folder: Path of the folder to fill.
        tokenizer: A `TransformerTokenizer`.
        max_sequence_length: Most tokens of a text.
    """
    target = tokenizer.of_targets()
    (folder / "source.spm").write_bytes(tokenizer.proto)
    (folder / "target.spm").write_bytes(target.proto)
    tables = _table(tokenizer), _table(target)
    is_joint = tables[0] == tables[1]
    write_json(folder / "vocab.json", tables[0])
    if not is_joint:
        write_json(folder / "target_vocab.json", tables[1])
    config = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": not is_joint,
        "pad_token": tokenizer.id_to_token(tokenizer.pad_token_id),
        "unk_token": tokenizer.id_to_token(tokenizer.unk_token_id),
        "eos_token": tokenizer.id_to_token(tokenizer.end_token_id),
        "model_max_length": max_sequence_length,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", config)


def _table(tokenizer):
    return {_name(piece): i for i, piece in enumerate(tokenizer.get_vocabulary())}


def _name(piece):
    """Their name of a token: that of a language has no sign of a space before it."""
    start, end = LANGUAGE
    return piece[1:] if piece.startswith(start) and piece.endswith(end) else piece
