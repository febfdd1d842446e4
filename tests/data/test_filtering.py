import numpy as np
import pytest

from aiayn_keras.data import FilterReport, filter_pairs


def of_lengths(*lengths):
    return [list(range(length)) for length in lengths]


def test_each_dropped_pair_is_counted_once_under_its_first_reason():
    sources = of_lengths(0, 0, 11, 10, 10, 3)
    targets = of_lengths(4, 99, 11, 10, 2, 3)
    kept_sources, kept_targets, report = filter_pairs(
        sources, targets, max_length=10, max_ratio=1.5
    )
    assert report == FilterReport(total=6, kept=2, empty=2, too_long=1, bad_ratio=1)
    assert kept_sources[0] is sources[3]
    assert kept_targets[1] is targets[5]


@pytest.mark.parametrize(
    ("shorter", "longer", "kept"),
    [(1, 15, True), (1, 16, False), (4, 15, True), (5, 16, False), (10, 30, True), (10, 31, False)],
)
def test_ratio_rule_counts_a_short_side_as_five_tokens(shorter, longer, kept):
    for sides in ((shorter, longer), (longer, shorter)):
        _, _, report = filter_pairs(of_lengths(sides[0]), of_lengths(sides[1]), max_ratio=3)
        assert report.kept == kept


def test_limits_can_be_lifted():
    _, _, report = filter_pairs(of_lengths(1), of_lengths(999), max_length=None)
    assert report.kept == 1


def test_length_limit_counts_tokens_of_arrays_too():
    arrays = [np.arange(256), np.arange(257)]
    kept, _, report = filter_pairs(arrays, arrays)
    assert len(kept) == 1
    assert len(kept[0]) == 256
    assert report.too_long == 1


def test_report_is_one_line_for_a_log():
    report = FilterReport(total=12_345, kept=12_000, empty=5, too_long=300, bad_ratio=40)
    assert str(report) == (
        "kept 12,000 of 12,345 pairs "
        "(dropped: 5 with an empty side, 300 too long, 40 by length ratio)"
    )


@pytest.mark.parametrize(
    ("limits", "message"),
    [({"max_length": 0}, "max_length=0"), ({"max_ratio": 0.9}, r"max_ratio=0\.9")],
)
def test_senseless_limit_is_refused(limits, message):
    with pytest.raises(ValueError, match=message):
        filter_pairs(of_lengths(1), of_lengths(1), **limits)


def test_sides_of_different_number_are_refused():
    with pytest.raises(ValueError, match="Received: 2 and 1"):
        filter_pairs(of_lengths(1, 2), of_lengths(1))
