"""The same tokens as Keras' layer, without Keras."""

import functools

import pytest

from aiayn_keras import TransformerTokenizer
from aiayn_keras_light.piece_tokenizer import PieceTokenizer

TEXTS = [
    "",
    " ",
    "zwei fünf",
    "“zwei” – fünf",
    "\u200bzwei\u2028 fünf  ",
    "😀",
    "日本",
    "12:30",
    "zw\0ei\0",
]
KINDS = {
    "one model": {},
    "two models": {"target_normalization": "nfc", "normalization": "clean_nfkc"},
    "bytes": {"byte_fallback": True},
}


@functools.cache
def trained(kind):
    sizes = {"bytes": 300}
    words = ["eins zwei drei", "fünf sechs sieben", "0 1 2 3 4 5 6 7 8 9 :"]
    return TransformerTokenizer.train(
        words,
        sizes.get(kind, 42),
        target_texts=["one, two"] if kind == "two models" else None,
        **KINDS[kind],
    )


@pytest.mark.parametrize("source_end", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_and_texts_are_those_of_the_layer(kind, source_end):
    layer = trained(kind)
    layer = TransformerTokenizer(
        layer.proto, layer.target_proto, source_end=source_end, copy_without_letters=True
    )
    light = PieceTokenizer(layer.proto, layer.target_proto, source_end, copy_without_letters=True)
    for ours, theirs in ((light, layer), (light.of_targets(), layer.of_targets())):
        for texts in ([], TEXTS, TEXTS * 3):  # SentencePiece takes many at once
            assert ours(texts) == theirs(texts)
            assert ours.detokenize(ours(texts)) == [theirs.detokenize(ids) for ids in theirs(texts)]
        assert ours.get_vocabulary() == theirs.get_vocabulary()
        assert sorted(ours.special_token_ids) == sorted(theirs.special_token_ids)
        names = "pad_token_id", "unk_token_id", "start_token_id", "end_token_id", "source_ids"
        for name in (*names, "source_end", "copy_without_letters"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert [ours.id_to_token(i) for i in range(9)] == [theirs.id_to_token(i) for i in range(9)]
    assert (light.of_targets() is light) == (layer.of_targets() is layer)


def test_a_layer_hands_over_its_tokens():
    layer = trained("two models")
    light = layer.without_layer()
    assert isinstance(light, PieceTokenizer)
    assert light is layer.without_layer()
    assert light(TEXTS) == layer(TEXTS)
    assert light.of_targets().get_vocabulary() == layer.of_targets().get_vocabulary()
    layer.set_proto(trained("bytes").proto)
    assert layer.without_layer()(TEXTS) == layer(TEXTS) != light(TEXTS)


class Shouting(TransformerTokenizer):
    """Reads capitals as small letters."""

    def call(self, inputs, *args, **kwargs):
        return super().call([text.lower() for text in inputs], *args, **kwargs)


def test_a_layer_that_may_do_more_stays_itself():
    proto = trained("one model").proto
    for layer in (
        Shouting(proto),
        TransformerTokenizer(proto, sequence_length=4),
        TransformerTokenizer(proto, add_bos=True),
        TransformerTokenizer(),
    ):
        assert layer.without_layer() is layer
    assert Shouting(proto).without_layer()(["ZWEI"]) == trained("one model")(["zwei"])
