import numpy as np
import pytest
import sentencepiece

from aiayn_keras.data import (
    PackedBatches,
    SampledPairs,
    TokenBatches,
    TokenPairs,
    generate_demo_pairs,
)
from aiayn_keras.data.token_pairs import processors_of, ragged_places


def test_pairs_are_read_in_the_order_asked_for():
    pairs = TokenPairs([[1, 2], [], [3]], [[4], [5, 6, 7], [8, 9]])
    assert len(pairs) == 3
    source, target = pairs.read(np.array([2, 1, 2, 0]), epoch=9)
    assert source.ids.tolist() == [3, 3, 1, 2]
    assert source.lengths.tolist() == [1, 0, 1, 2]
    assert target.ids.tolist() == [8, 9, 5, 6, 7, 8, 9, 4]
    assert target.lengths.tolist() == [2, 3, 2, 1]
    assert source.ids.dtype == np.int32


def test_no_pair_may_be_asked_for():
    source, target = TokenPairs([[1]], [[2]]).read(np.array([], dtype=np.int32), epoch=0)
    assert len(source.ids) == len(target.lengths) == 0


def test_ragged_places_follow_each_other():
    places = ragged_places(np.array([10, 3, 7]), np.array([2, 0, 3]))
    assert places.tolist() == [10, 11, 7, 8, 9]


@pytest.mark.parametrize(
    ("sides", "message"), [(([], []), "Received: 0 and 0"), (([[1]], [[1], [2]]), "1 and 2")]
)
def test_unusable_sides_are_refused(sides, message):
    with pytest.raises(ValueError, match=message):
        TokenPairs(*sides)


EVERY = np.arange(200)


@pytest.fixture(scope="module", name="text")
def demo_text():
    return generate_demo_pairs(200, 0, "train")


@pytest.fixture(scope="module", name="proto", params=["bpe", "unigram"])
def vocabulary(text, request, learn_vocabulary):
    return learn_vocabulary(text, 150, request.param)


def sampled(text, proto, alpha=0.2, seed=1, max_length=99):
    return SampledPairs(text.sources, text.targets, proto, alpha, seed, max_length)


def sentences(tokens):
    return np.split(tokens.ids, np.cumsum(tokens.lengths)[:-1])


def test_every_segmentation_spells_the_sentence(text, proto):
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    for epoch in (0, 1):
        for side, expected in zip(
            sampled(text, proto).read(EVERY, epoch), (text.sources, text.targets), strict=True
        ):
            decoded = [processor.decode(ids.tolist()) for ids in sentences(side)]
            assert decoded == list(expected)


def test_segmentations_depend_on_seed_epoch_and_pair_alone(text, proto):
    pairs = sampled(text, proto)
    first, second = pairs.read(EVERY, 0), pairs.read(EVERY, 1)
    again = sampled(text, proto)
    backwards = again.read(EVERY[::-1], 0)
    for side in (0, 1):
        for ours, theirs in zip(
            sentences(first[side]), sentences(backwards[side])[::-1], strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    other = sampled(text, proto, seed=2).read(EVERY, 0)
    for one, two in ((first, second), (first, other)):
        same = [
            np.array_equal(a, b) for a, b in zip(sentences(one[0]), sentences(two[0]), strict=True)
        ]
        assert np.mean(same) < 0.7


def test_no_segmentation_is_longer_than_its_room(text, proto):
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    plain = [len(ids) for ids in processor.encode([*text.sources, *text.targets])]
    pairs = sampled(text, proto, alpha=0.5, max_length=max(plain))
    for epoch in range(3):
        source, target = pairs.read(EVERY, epoch)
        assert (source.lengths <= pairs.source_lengths).all()
        assert (target.lengths <= pairs.target_lengths).all()
    assert pairs.source_lengths.max() <= max(plain)
    assert (pairs.source_lengths >= plain[:200]).all()


@pytest.mark.parametrize("kind", [TokenBatches, PackedBatches])
def test_batches_hold_what_is_drawn_for_their_epoch(text, proto, kind):
    pairs = sampled(text, proto)
    batches = kind(pairs, tokens_per_batch=400, shuffle=False)
    for index in (0, len(batches)):
        x, labels, weights = batches[index]
        source, target = pairs.read(batches.pair_numbers(index), index // len(batches))
        assert weights.sum() == (target.lengths + 1).sum()
        real = labels[weights > 0]
        np.testing.assert_array_equal(real[real != 3], target.ids)
        assert (x["encoder_padding_mask"] > 0).sum() == (source.lengths + 1).sum()


def test_training_text_is_read_without_zero_characters(proto):
    for processor in processors_of(proto):
        assert processor.encode(["a\0b", "\0"]) == processor.encode(["ab", ""])


def test_no_sampled_pair_may_be_asked_for(text, proto):
    source, target = sampled(text, proto).read(EVERY[:0], 0)
    assert len(source.ids) == len(target.lengths) == 0


@pytest.mark.parametrize("wrong", [{"alpha": 0.0}, {"alpha": 1.0}, {"seed": -1}])
def test_numbers_out_of_range_are_refused(text, proto, wrong):
    with pytest.raises(ValueError, match=r"Received: alpha=.*, seed="):
        sampled(text, proto, **wrong)
