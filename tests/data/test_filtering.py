import numpy as np
import pytest

from aiayn_keras.data import FilterReport, filter_pairs


def test_each_dropped_pair_is_counted_once_under_its_first_reason():
    sources = [0, 0, 11, 10, 10, 3]
    targets = [4, 99, 11, 10, 2, 3]
    kept, report = filter_pairs(sources, targets, max_length=10, max_ratio=1.5)
    assert report == FilterReport(total=6, kept=2, empty=2, too_long=1, bad_ratio=1)
    assert kept.tolist() == [False, False, False, True, False, True]


@pytest.mark.parametrize(
    ("shorter", "longer", "kept"),
    [(1, 15, True), (1, 16, False), (4, 15, True), (5, 16, False), (10, 30, True), (10, 31, False)],
)
def test_ratio_rule_counts_a_short_side_as_five_tokens(shorter, longer, kept):
    for sides in ((shorter, longer), (longer, shorter)):
        assert filter_pairs([sides[0]], [sides[1]], max_ratio=3)[0].tolist() == [kept]


def test_limits_can_be_lifted():
    assert filter_pairs([1], [999], max_length=None)[0].all()


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int64"])
def test_a_side_as_long_as_the_limit_is_kept(dtype):
    lengths = np.array([7, 8, 9], dtype)
    kept, report = filter_pairs(lengths, lengths[::-1], max_length=8, max_ratio=1)
    assert kept.tolist() == [False, True, False]
    assert report.too_long == 2


def test_reports_add_up():
    parts = [filter_pairs([0, 3], [1, 3])[1], filter_pairs([300], [2])[1]]
    assert sum(parts, FilterReport()) == FilterReport(3, 1, 1, 1, 0)


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
        filter_pairs([1], [1], **limits)


def test_sides_of_different_number_are_refused():
    with pytest.raises(ValueError, match=r"Received: shapes \(2,\) and \(1,\)"):
        filter_pairs([1, 2], [1])


def test_token_ids_instead_of_lengths_are_refused():
    with pytest.raises(ValueError, match=r"numbers of tokens .* shapes \(1, 2\)"):
        filter_pairs([[5, 6]], [[7, 8]])
