from aiayn_keras.common.text_files import chunk_rows, without_breaks


def test_rows_are_cut_by_number_and_by_characters():
    rows = [("a", "b"), ("c", "d"), ("e" * 9, ""), ("f", "g")]
    assert list(chunk_rows(rows)) == [rows]
    assert list(chunk_rows(rows, max_rows=2)) == [rows[:2], rows[2:]]
    assert list(chunk_rows(rows, max_characters=10)) == [rows[:3], rows[3:]]
    assert list(chunk_rows([])) == []


def test_a_chunk_is_given_before_the_next_is_read():
    read = []

    def rows():
        for number in range(6):
            read.append(number)
            yield (str(number),)

    next(chunk_rows(rows(), max_rows=2))
    assert read == [0, 1]


def test_a_text_is_one_field_of_one_line():
    assert without_breaks("a\tb\r\nc\vd\fe") == "a b  c d e"
    assert without_breaks(" a\u2028b ") == " a\u2028b "
