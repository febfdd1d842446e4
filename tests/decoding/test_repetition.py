import numpy as np
from keras import ops

from aiayn_keras.decoding.candidates import repeats_ngram

START = 1


def forbidden_next(row, index, ngram_size):
    """The tokens of a row that must not be written at `index`."""
    token_ids = np.array([row])
    repeats = repeats_ngram(ops.convert_to_tensor(token_ids), index, ngram_size)
    return set(token_ids[ops.convert_to_numpy(repeats)].tolist())


def test_the_last_token_of_an_earlier_ngram_is_forbidden():
    row = [START, 5, 6, 7, 5, 6, 0]
    assert forbidden_next(row, 6, 3) == {7}
    assert forbidden_next(row, 6, 2) == {7}
    assert forbidden_next(row, 6, 1) == {5, 6, 7}
    assert forbidden_next(row, 6, 4) == set()


def test_the_start_token_is_part_of_no_ngram():
    row = [START, 5, START, 0]
    assert forbidden_next(row, 3, 2) == set()
    assert forbidden_next(row, 3, 1) == {5, START}
