import numpy as np
import pytest

from aiayn_keras.data import PackedBatches, TokenBatches, TokenPairs

KINDS = pytest.mark.parametrize("kind", [TokenBatches, PackedBatches])


class CountedReads(TokenPairs):
    """Pairs that remember what was asked for."""

    def read(self, numbers, epoch):
        self.asked = (numbers.tolist(), epoch)
        return super().read(numbers, epoch)


@KINDS
def test_a_batch_reads_its_own_pairs_in_their_epoch(kind):
    pairs = CountedReads([[n] * (1 + n % 7) for n in range(10, 80)], [[5]] * 70)
    batches = kind(pairs, tokens_per_batch=50)
    index = 2 * len(batches) + 1
    x, _, _ = batches[index]
    assert pairs.asked == (batches.pair_numbers(index).tolist(), 2)
    ids = x["encoder_token_ids"][(x["encoder_padding_mask"] > 0) & (x["encoder_token_ids"] != 3)]
    assert list(dict.fromkeys(ids.tolist())) == [10 + n for n in pairs.asked[0]]


@KINDS
def test_the_layout_of_an_epoch_is_made_once(kind):
    made = []

    class Counted(kind):
        def _lay_out(self, epoch):
            made.append(epoch)
            return super()._lay_out(epoch)

    batches = Counted(TokenPairs([[5, 6]] * 40, [[7]] * 40), tokens_per_batch=12)
    steps = len(batches)
    for index in (0, 1, steps, 2, steps + 1, 2 * steps, steps + 2):
        batches[index]
    assert made == [0, 1, 2]


@KINDS
def test_a_description_tells_what_matters(kind):
    batches = kind(TokenPairs([[5]] * 1200, [[6]] * 1200), tokens_per_batch=128)
    assert repr(batches) == (
        f"{kind.__name__}(pairs=1,200, shapes={batches.shapes}, "
        f"steps_per_epoch={len(batches)}, padding_share={batches.padding_share:.3f})"
    )


@KINDS
def test_too_long_pair_is_named(kind):
    ids = [[5]] * 3
    with pytest.raises(ValueError, match=r"pair 2 .* 2 source and 10 target tokens"):
        kind(TokenPairs(ids, [[5], [5], [5] * 9]), tokens_per_batch=9)


@KINDS
def test_numbers_out_of_range_are_refused(kind):
    pairs = TokenPairs([[5]], [[5]])
    with pytest.raises(ValueError, match="Received: seed=-1"):
        kind(pairs, tokens_per_batch=9, seed=-1)
    with pytest.raises(IndexError, match="Received: -2"):
        kind(pairs, tokens_per_batch=9).pair_numbers(np.int64(-2))


def small_pairs():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 15, (2, 200)).tolist()
    return TokenPairs(*([[n + 10] * k for n, k in enumerate(side)] for side in lengths))


@pytest.fixture(name="batches", params=[TokenBatches, PackedBatches], scope="module")
def both_kinds(request):
    return request.param(small_pairs(), tokens_per_batch=100, seed=5)


def assert_same_batch(actual, expected):
    for name in expected[0]:
        np.testing.assert_array_equal(actual[0][name], expected[0][name], strict=True)
    np.testing.assert_array_equal(actual[1], expected[1], strict=True)
    np.testing.assert_array_equal(actual[2], expected[2], strict=True)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_restored_iterator_goes_on_with_the_very_next_batch(batches, prefetch):
    iterator = iter(batches.to_iter_dataset(prefetch=prefetch))
    # Past the end of the first epoch.
    taken = batches.steps_per_epoch + 3
    for _ in range(taken):
        next(iterator)
    state = iterator.get_state()
    expected = [next(iterator) for _ in range(4)]
    for dataset in (batches.to_iter_dataset(prefetch=prefetch), batches.to_iter_dataset()):
        restored = iter(dataset)
        next(restored)
        restored.set_state(state)
        for batch in expected:
            assert_same_batch(next(restored), batch)
    for step, batch in enumerate(expected):
        assert_same_batch(batches[taken + step], batch)


def test_dataset_starts_and_stops_where_told(batches):
    dataset = batches.to_iter_dataset(start_step=3, num_steps=5)
    given = list(dataset)
    assert len(given) == 5
    for step, batch in enumerate(given):
        assert_same_batch(batch, batches[3 + step])


def test_iteration_ends_with_the_first_epoch(batches):
    given = list(batches)
    assert len(given) == len(batches) == batches.steps_per_epoch
    for step, batch in enumerate(given):
        assert_same_batch(batch, batches[step])


def test_negative_places_are_refused(batches):
    with pytest.raises(IndexError, match="Received: -1"):
        batches[-1]
    with pytest.raises(ValueError, match="start_step=-1"):
        batches.to_iter_dataset(start_step=-1)
    with pytest.raises(ValueError, match="prefetch=-1"):
        batches.to_iter_dataset(prefetch=-1)
