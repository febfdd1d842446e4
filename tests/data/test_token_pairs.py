import numpy as np
import pytest

from aiayn_keras.data import TokenPairs
from aiayn_keras.data.token_pairs import ragged_places


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
