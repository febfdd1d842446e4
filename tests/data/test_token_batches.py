import itertools

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from aiayn_keras.data import TokenBatches, TokenPairs
from aiayn_keras.data.token_batches import batch_sizes, choose_shapes, interleave

START, END, PAD = 2, 3, 0


def corpus(pairs=200, seed=0):
    """Pairs whose ids tell which pair they belong to: pair n holds nothing but n + 10."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 15, pairs)
    source = [[n + 10] * int(length) for n, length in enumerate(lengths)]
    target = [
        [n + 10] * int(length + extra)
        for n, (length, extra) in enumerate(zip(lengths, rng.integers(0, 4, pairs), strict=True))
    ]
    return source, target


def batches_of(source, target, **options):
    return TokenBatches(TokenPairs(source, target), **options)


@pytest.fixture(name="batches")
def small_batches():
    return batches_of(*corpus(), tokens_per_batch=100, max_shapes=4, seed=5)


def assert_same_batch(actual, expected):
    for name in expected[0]:
        np.testing.assert_array_equal(actual[0][name], expected[0][name], strict=True)
    np.testing.assert_array_equal(actual[1], expected[1], strict=True)
    np.testing.assert_array_equal(actual[2], expected[2], strict=True)


def pairs_in(batch):
    """First id of every row that is not empty, read from the batch itself."""
    x, _, _ = batch
    ids = x["encoder_token_ids"][:, 0]
    return (ids[x["encoder_padding_mask"][:, 0] == 1] - 10).tolist()


def test_batch_holds_the_values_written_out_by_hand():
    source, target = [[11, 12], [13], [14, 15]], [[21], [22, 23, 24], []]
    batches = batches_of(source, target, tokens_per_batch=16, max_shapes=1, shuffle=False)
    assert batches.shapes == ((3, 3, 4),)
    x, labels, weights = batches[0]
    assert x["encoder_token_ids"].tolist() == [[11, 12, END], [13, END, PAD], [14, 15, END]]
    assert x["encoder_padding_mask"].tolist() == [[1, 1, 1], [1, 1, 0], [1, 1, 1]]
    assert x["decoder_token_ids"].tolist() == [
        [START, 21, PAD, PAD],
        [START, 22, 23, 24],
        [START, PAD, PAD, PAD],
    ]
    mask = [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]
    assert x["decoder_padding_mask"].tolist() == mask
    assert labels.tolist() == [[21, END, PAD, PAD], [22, 23, 24, END], [END, PAD, PAD, PAD]]
    assert weights.tolist() == mask
    assert weights.dtype == np.float32
    assert {array.dtype for array in (*x.values(), labels)} == {np.dtype("int32")}


def test_special_ids_are_the_ones_given():
    batches = batches_of([[11]], [[21, 22]], tokens_per_batch=9, start_id=7, end_id=8, pad_id=9)
    x, labels, _ = batches[0]
    assert x["encoder_token_ids"].tolist() == [[11, 8]]
    assert x["decoder_token_ids"].tolist() == [[7, 21, 22]]
    assert labels.tolist() == [[21, 22, 8]]


def test_last_batch_is_filled_with_empty_rows():
    ids = [[5, 5]] * 5
    batches = batches_of(ids, ids, tokens_per_batch=9, pad_id=1)
    assert batches.shapes == ((3, 3, 3),)
    x, labels, weights = batches[1]
    assert pairs_in(batches[1]) == [-5, -5]
    for array in (x["encoder_token_ids"], x["decoder_token_ids"], labels):
        assert array[2].tolist() == [1, 1, 1]
    for array in (x["encoder_padding_mask"], x["decoder_padding_mask"], weights):
        assert array[2].tolist() == [0, 0, 0]


sequences = st.lists(st.integers(0, 12), min_size=1, max_size=60)


@hypothesis.given(
    lengths=sequences,
    budget=st.integers(13, 60),
    max_shapes=st.integers(1, 6),
    seed=st.integers(0, 5),
    shuffle=st.booleans(),
)
@hypothesis.settings(max_examples=60)
def test_each_epoch_holds_each_pair_exactly_once(lengths, budget, max_shapes, seed, shuffle):
    source = [[n + 10] * length for n, length in enumerate(lengths)]
    target = [[n + 10] * (12 - length) for n, length in enumerate(lengths)]
    batches = batches_of(
        source, target, tokens_per_batch=budget, max_shapes=max_shapes, seed=seed, shuffle=shuffle
    )
    assert len(batches.shapes) <= max_shapes
    for epoch in (0, 3):
        seen, shapes = [], set()
        for step in range(batches.steps_per_epoch):
            index = epoch * batches.steps_per_epoch + step
            x, labels, weights = batches[index]
            (B, S), (_, T) = x["encoder_token_ids"].shape, labels.shape
            shapes.add((B, S, T))
            assert B * max(S, T) <= budget
            numbers = batches.pair_numbers(index)
            seen += numbers.tolist()
            for row, number in enumerate(numbers):
                real = x["encoder_padding_mask"][row] == 1
                assert x["encoder_token_ids"][row][real].tolist() == [*source[number], END]
                assert labels[row][weights[row] == 1].tolist() == [*target[number], END]
            assert weights[len(numbers) :].sum() == 0
        assert sorted(seen) == list(range(len(lengths)))
        assert shapes == set(batches.shapes)


def test_order_is_a_function_of_seed_and_epoch(batches):
    steps = batches.steps_per_epoch
    again = batches_of(*corpus(), tokens_per_batch=100, max_shapes=4, seed=5)
    # The other object is asked in another order.
    for index in (7 * steps + 2, 3, steps + 1, 0):
        assert_same_batch(again[index], batches[index])
    other = batches_of(*corpus(), tokens_per_batch=100, max_shapes=4, seed=6)
    groups = [
        {frozenset(data.pair_numbers(start + step).tolist()) for step in range(steps)}
        for data, start in ((batches, 0), (batches, steps), (other, 0))
    ]
    for one, two in itertools.combinations(groups, 2):
        assert len(one & two) < steps / 2


def test_without_shuffling_epochs_are_alike_and_pairs_keep_their_order():
    batches = batches_of(*corpus(), tokens_per_batch=100, max_shapes=1, shuffle=False)
    numbers = [batches.pair_numbers(step) for step in range(batches.steps_per_epoch)]
    assert np.concatenate(numbers).tolist() == list(range(200))
    batches = batches_of(*corpus(), tokens_per_batch=100, max_shapes=4, shuffle=False)
    for step in range(batches.steps_per_epoch):
        assert_same_batch(batches[batches.steps_per_epoch + step], batches[step])


def test_counts_agree_with_the_batches(batches):
    masks = [
        (x["encoder_padding_mask"].ravel(), x["decoder_padding_mask"].ravel())
        for x, _, _ in batches
    ]
    encoder, decoder = (np.concatenate(side) for side in zip(*masks, strict=True))
    assert batches.real_source_tokens == encoder.sum()
    assert batches.real_target_tokens == decoder.sum()
    share = 1 - np.concatenate([encoder, decoder]).mean()
    assert batches.padding_share == pytest.approx(share)
    assert len(batches) == batches.steps_per_epoch == len(masks)


def test_more_shapes_pad_less():
    shares = [
        batches_of(*corpus(2000), tokens_per_batch=300, max_shapes=count).padding_share
        for count in (1, 2, 4, 8)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.4
    assert shares[-1] < 0.15


def test_neighbouring_batches_differ_in_every_dimension(batches):
    assert len(batches.shapes) == 4
    for epoch in range(3):
        start = epoch * batches.steps_per_epoch
        shapes = [
            (
                *batches[start + step][0]["encoder_token_ids"].shape,
                batches[start + step][1].shape[1],
            )
            for step in range(batches.steps_per_epoch)
        ]
        for one, two in itertools.pairwise(shapes):
            assert all(first != second for first, second in zip(one, two, strict=True))


@pytest.mark.parametrize("max_shapes", [1, 2, 4])
def test_keras_fits_batches_of_all_shapes(max_shapes):
    import keras

    batches = batches_of(*corpus(60), tokens_per_batch=60, max_shapes=max_shapes)
    encoder = keras.Input((None,), dtype="int32", name="encoder_token_ids")
    decoder = keras.Input((None,), dtype="int32", name="decoder_token_ids")
    masks = [
        keras.Input((None,), dtype="int32", name=f"{side}_padding_mask")
        for side in ("encoder", "decoder")
    ]
    embed = keras.layers.Embedding(80, 3)
    context = keras.layers.GlobalAveragePooling1D(keepdims=True)(embed(encoder))
    logits = keras.layers.Dense(80)(embed(decoder) + context)
    model = keras.Model([encoder, decoder, *masks], logits)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(
        batches.to_iter_dataset(),
        epochs=2,
        steps_per_epoch=batches.steps_per_epoch,
        shuffle=False,
        verbose=0,
    )
    assert len(history.history["loss"]) == 2
    assert np.isfinite(history.history["loss"]).all()


def test_arrays_and_lists_give_the_same_batches(batches):
    source, target = corpus()
    arrays = [[np.array(ids) for ids in side] for side in (source, target)]
    same = batches_of(*arrays, tokens_per_batch=100, max_shapes=4, seed=5)
    assert_same_batch(same[1], batches[1])


def test_batches_differ_over_the_edges_of_epochs(batches):
    steps = batches.steps_per_epoch
    for epoch in range(1, 12):
        before, after = (batches[epoch * steps + step][1].shape for step in (-1, 0))
        assert before[0] != after[0]
        assert before[1] != after[1]


def test_no_shape_is_refused():
    with pytest.raises(ValueError, match="Received: max_shapes=0"):
        batches_of([[1]], [[1]], tokens_per_batch=9, max_shapes=0)


def test_sources_of_models_that_read_no_end_have_none():
    pairs = TokenPairs([[5, 6], [7]], [[8], [9, 9]])
    batches = TokenBatches(pairs, tokens_per_batch=6, source_end=False, shuffle=False, max_shapes=1)
    x, y, _ = batches[0]
    assert x["encoder_token_ids"].tolist() == [[5, 6], [7, 0]]
    assert x["encoder_padding_mask"].tolist() == [[1, 1], [1, 0]]
    assert y.tolist() == [[8, 3, 0], [9, 9, 3]]
    assert batches.real_source_tokens == 3


def lengths(seed, pairs=400, longest=30):
    rng = np.random.default_rng(seed)
    source = rng.integers(1, longest, pairs)
    return source, np.clip(source + rng.integers(-3, 4, pairs), 1, None)


def positions(source, target, shapes):
    """The cost of every pair in its cheapest shape, by brute force."""
    return sum(
        min(int(S + T) for S, T in shapes if s <= S and t <= T)
        for s, t in zip(source, target, strict=True)
    )


@pytest.mark.parametrize("max_shapes", [1, 2, 5, 8])
def test_every_pair_fits_its_shape_and_shapes_are_tight(max_shapes):
    source, target = lengths(seed=max_shapes)
    shapes, member = choose_shapes(source, target, max_shapes)
    assert len(shapes) <= max_shapes
    assert (source <= shapes[member, 0]).all()
    assert (target <= shapes[member, 1]).all()
    assert shapes[:, 0].max() == source.max()
    assert shapes[:, 1].max() == target.max()
    assert set(member) == set(range(len(shapes)))


def test_two_shapes_are_the_best_two_there_are():
    source, target = lengths(seed=3, longest=9)
    shapes, _ = choose_shapes(source, target, 2)
    largest = (source.max(), target.max())
    best = min(
        positions(source, target, [largest, corner])
        for corner in itertools.product(range(1, source.max()), range(1, target.max()))
    )
    assert positions(source, target, shapes) == best


@pytest.mark.parametrize("seed", [2, 3, 18])
def test_no_shape_has_a_better_place(seed):
    source, target = np.random.default_rng(seed).integers(1, 9, (2, 12))
    shapes, _ = choose_shapes(source, target, 4)
    *_, largest = shapes = [tuple(shape) for shape in shapes.tolist()]
    total = positions(source, target, shapes)
    for shape in shapes[:-1]:
        others = [other for other in shapes if other != shape]
        for corner in itertools.product(range(1, largest[0]), range(1, largest[1])):
            if all(a != b for other in others for a, b in zip(corner, other, strict=True)):
                assert positions(source, target, [*others, corner]) >= total


def test_source_and_target_lengths_of_a_shape_are_independent():
    source, target = np.array([3] * 50 + [20] * 50), np.array([7] * 50 + [11] * 50)
    assert choose_shapes(source, target, 3)[0].tolist() == [[3, 7], [20, 11]]


@pytest.mark.parametrize("seed", range(5))
def test_no_two_shapes_share_a_dimension(seed):
    source, target = lengths(seed)
    shapes, member = choose_shapes(source, target, 8)
    rows, _ = batch_sizes(shapes, np.bincount(member), tokens_per_batch=200)
    for dimension in (rows, shapes[:, 0], shapes[:, 1]):
        assert len(set(dimension.tolist())) == len(shapes)


def test_lengths_made_equal_by_shrinking_are_raised_by_one():
    # Shrunk to the pairs they hold, the two short shapes are 1 x 5 and 1 x 2.
    source, target = np.array([1, 8, 3, 1]), np.array([5, 1, 6, 2])
    shapes, member = choose_shapes(source, target, 3)
    assert shapes.tolist() == [[2, 2], [1, 5], [8, 6]]
    assert member.tolist() == [1, 2, 2, 0]
    swapped, _ = choose_shapes(target, source, 3)
    assert swapped.tolist() == [[2, 2], [5, 1], [6, 8]]


def test_few_pairs_never_share_a_dimension_and_none_is_longer_than_the_longest():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        pairs, max_shapes = rng.integers(4, 12), rng.integers(2, 5)
        source, target = rng.integers(1, 9, pairs), rng.integers(1, 9, pairs)
        shapes, _ = choose_shapes(source, target, max_shapes)
        for lengths_of_shapes, lengths_of_pairs in zip(shapes.T, (source, target), strict=True):
            assert len(set(lengths_of_shapes.tolist())) == len(shapes), seed
            assert lengths_of_shapes.max() == lengths_of_pairs.max(), seed


def test_targets_of_one_length_have_one_shape_and_each_pair_its_row():
    source, target = np.array([1, 4, 3]), np.array([5, 5, 5])
    shapes, member = choose_shapes(source, target, 2)
    assert shapes.tolist() == [[4, 5]]
    rows, steps = batch_sizes(shapes, np.bincount(member), tokens_per_batch=5)
    assert (rows * steps).tolist() == [3]


def test_more_shapes_never_cost_more():
    source, target = lengths(seed=7)
    costs = [
        positions(source, target, choose_shapes(source, target, count)[0]) for count in (1, 2, 4, 8)
    ]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.7 * costs[0]


def test_very_different_lengths_share_a_grid_of_bins():
    rng = np.random.default_rng(0)
    source, target = rng.integers(1, 2000, 5000), rng.integers(1, 2000, 5000)
    shapes, member = choose_shapes(source, target, 3)
    assert (source <= shapes[member, 0]).all()
    assert (target <= shapes[member, 1]).all()


def test_pairs_are_spread_evenly_over_a_shapes_batches():
    # 25 pairs, at most 10 rows: three batches of 9 instead of 10 + 10 + 5.
    rows, steps = batch_sizes(np.array([[4, 5]]), np.array([25]), tokens_per_batch=50)
    assert rows.tolist() == [9]
    assert steps.tolist() == [3]


@pytest.mark.parametrize("counts", [[5, 5], [3, 1, 2], [9, 8, 2, 3], [1]])
def test_interleaving_keeps_equal_kinds_apart(counts):
    for seed in range(20):
        order = interleave(np.array(counts), np.random.default_rng(seed))
        assert np.bincount(order).tolist() == counts
        assert (np.diff(order) != 0).all()


def test_interleaving_a_majority_still_starts_with_two_kinds():
    for seed in range(20):
        order = interleave(np.array([20, 2, 1]), np.random.default_rng(seed))
        assert np.bincount(order).tolist() == [20, 2, 1]
        assert order[0] != order[1]
