from aiayn_keras.text_fields import without_breaks


def test_a_text_is_one_field_of_one_line():
    assert without_breaks("a\tb\r\nc\vd\fe") == "a b  c d e"
    assert without_breaks(" a\u2028b ") == " a\u2028b "
