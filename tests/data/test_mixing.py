"""Two texts mixed in given shares."""

import collections

import pytest

from aiayn_keras.data import CorpusError, ParallelText, mix_texts


def text(name, size):
    return ParallelText(*([f"{name}{side}{i}" for i in range(size)] for side in "st"), name=name)


@pytest.mark.parametrize(
    ("new", "old", "share", "repeats", "drawn"),
    [
        (10, 1_000, 0.5, 20, 200),  # at most 20 times, and some of the old pairs are drawn
        (100, 1_000, 0.5, 10, 1_000),
        (100, 1_000, 0.9, 1, 900),
        (100, 1_000, 0.2, 20, 500),
        (1_000, 100, 0.5, 1, 1_000),  # too few old pairs: each comes ten times
        (1, 1, 0.001, 20, 1),
    ],
)
def test_shares_and_repetitions(new, old, share, repeats, drawn):
    mixed = mix_texts(text("new", new), text("old", old), share)
    counts = collections.Counter(mixed.sources)
    assert {counts[f"news{i}"] for i in range(new)} == {repeats}
    from_old = [counts[f"olds{i}"] for i in range(old)]
    assert sum(from_old) == drawn
    assert max(from_old) == -(-drawn // old)


def test_the_log_says_how_many_pairs_of_how_many(caplog):
    with caplog.at_level("INFO", logger="aiayn_keras"):
        mix_texts(text("new", 100), text("old", 10), 0.5)
    assert "100 pairs of new, which has 100, and 100 of old, which has 10." in caplog.text


def test_pairs_stay_pairs_and_the_draw_follows_the_seed():
    new, old = text("new", 3), text("old", 500)
    mixed = mix_texts(new, old, 0.5, seed=1)
    assert set(mixed) <= {*new, *old}
    assert mixed.name == "new"
    assert list(mixed) == list(mix_texts(new, old, 0.5, seed=1))
    assert set(mixed) != set(mix_texts(new, old, 0.5, seed=2))


@pytest.mark.parametrize(("new", "old", "most"), [(1_001, 1, "0.4997"), (5_000, 2, "0.2857")])
def test_a_tiny_text_is_not_repeated_without_limit(new, old, most):
    message = (
        rf"`corpus.mix.share`\) needs .* pairs of old, which has {old}; .* Make it {most} or less"
    )
    for share in (0.6, 0.999):
        with pytest.raises(ValueError, match=message):
            mix_texts(text("new", new), text("old", old), share)
    assert len(mix_texts(text("new", new), text("old", old), float(most))) <= 1_000 * old + new


def test_an_empty_text_and_shares_out_of_bounds_are_refused():
    with pytest.raises(CorpusError, match=r"^old: no pairs to mix"):
        mix_texts(text("new", 3), text("old", 0), 0.5)
    with pytest.raises(ValueError, match=r"`share` must be at least 1e-06 and at most 0.999"):
        mix_texts(text("new", 3), text("old", 3), 1.0)
    with pytest.raises(TypeError, match="`share` must be a number"):
        mix_texts(text("new", 3), text("old", 3), "half")
