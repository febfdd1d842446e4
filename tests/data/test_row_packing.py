import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from aiayn_keras.data import packed_batches
from aiayn_keras.data.packed_batches import first_fit


def test_each_pair_goes_to_the_first_row_with_room_long_pairs_first():
    # Sorted by both sides together: (6, 5), (5, 4), (4, 4), (4, 1), (1, 2) into rows of 10 and 9.
    source, target = np.array([4, 6, 1, 5, 4]), np.array([4, 5, 2, 4, 1])
    # 6+5 opens row 0; 5+4 finds 4 left there and opens row 1; 4+4 fits row 0; both are then full
    # of one side for 4+1 but row 1 (5, 5 left); 1+2 fits row 1's 1 and 4.
    assert first_fit(source, target, 10, 9).tolist() == [0, 0, 1, 1, 1]


def test_both_sides_need_room():
    source, target = np.array([5, 5]), np.array([1, 9])
    assert first_fit(source, target, 10, 9).tolist() == [1, 0]
    assert first_fit(target, source, 9, 10).tolist() == [1, 0]


lengths = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=80)


@hypothesis.given(lengths=lengths, room=st.integers(12, 30), chunk=st.sampled_from([7, 1000]))
def test_no_row_is_overfull_or_empty(lengths, room, chunk):
    source, target = np.array(lengths).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_batches, "_CHUNK", chunk)
        rows = first_fit(source, target, room, room + 1)
    for side, most in ((source, room), (target, room + 1)):
        filled = np.bincount(rows, weights=side)
        assert filled.max() <= most
        assert filled.min() > 0
