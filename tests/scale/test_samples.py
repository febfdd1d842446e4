from hypothesis import given
from hypothesis import strategies as st

from aiayn_keras.scale.samples import EvenSample


@given(st.integers(0, 300), st.integers(1, 20))
def test_a_sample_is_evenly_spaced_and_large_enough(length, wanted):
    sample = EvenSample(wanted)
    for item in range(length):
        sample.add(item)
    assert min(wanted, length) <= len(sample.items) < 2 * wanted or length < 2 * wanted
    if length < 2 * wanted:
        assert sample.items == list(range(length))
    assert sample.items in [list(range(0, length, 1 << power)) for power in range(10)]
