from aiayn_keras.windows import windows


def test_rows_are_cut_by_number_and_by_characters():
    rows = [("a", "b"), ("c", "d"), ("e" * 9, ""), ("f", "g")]
    assert list(windows(rows)) == [rows]
    assert list(windows(rows, max_rows=2)) == [rows[:2], rows[2:]]
    assert list(windows(rows, max_characters=10)) == [rows[:3], rows[3:]]
    assert list(windows([])) == []


def test_a_window_is_given_before_the_next_is_read():
    read = []

    def rows():
        for number in range(6):
            read.append(number)
            yield (str(number),)

    next(windows(rows(), max_rows=2))
    assert read == [0, 1]
