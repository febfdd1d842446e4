import pytest

from aiayn_keras.common.untrusted_yaml import MAX_YAML_BYTES, parse_yaml


def test_plain_values_are_those_of_yaml():
    text = "a: [1, 2.5, true, null, 'x: y']\nb: {c: .inf}\n# d\n"
    assert parse_yaml(text, "a.yaml") == {
        "a": [1, 2.5, True, None, "x: y"],
        "b": {"c": float("inf")},
    }
    assert parse_yaml(b"\xef\xbb\xbfa: \xc3\xa9", "a.yaml") == {"a": "é"}
    assert parse_yaml("", "a.yaml") is None


BOMB = "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "line 1: aliases and anchors are not allowed"),
        ("a: 1\nb: *c\n", "line 2: aliases and anchors are not allowed"),
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", "line 4: the key 'b' appears twice"),
        ("{rate: 0,002}", "line 1: a key must be a string; write a decimal point, not a com"),
        ("2024: tea", r"line 1: a key must be a string\."),
        ("a: 1\n2: 3\n", "line 2: a key must be a string"),
        ("? [a]\n: 1\n", "line 1: a key must be a string"),
        ("<<: {a: 1}\n", "line 1: a key must be a string"),
        ("a: !!python/object/apply:os.system [id]\n", "line 1: tags are not allowed"),
        ("a: !!int ''\n", "line 1: tags are not allowed"),
        ("a: 1\nb: [\n", "line 3: not YAML: "),
        ("a: b: c\n", "line 1: not YAML: mapping values are not allowed here"),
        ("a:\n  b: 1\n   c: 2\n", "line 3: not YAML: mapping values are not allowed here"),
        ("a:\n   b: 1\n  c: 2\n", "line 3: not YAML: .* indented like the lines above"),
        ("--- 1\n--- 2\n", "line 2: not YAML: "),
        ("a: 1\nb: \0\n", "line 2: not YAML: a control character"),
        (b"a: 1\nb: caf\xe9\n", r"line 2: not valid UTF-8 \(byte 0xe9\)"),
        ("a: 2001-02-30\n", "impossible value: day is out of range"),
        ("a: 0b_\n", "impossible value"),
        ("[" * 5_000, "values are nested too deeply"),
        ("{a: " * 5_000, "values are nested too deeply"),
        ("- " * 5_000, "values are nested too deeply"),
        ("a: 9" + "0" * 4_500, "impossible value: Exceeds the limit"),
        ("#" * (MAX_YAML_BYTES + 1), "at most 100,000 bytes"),
    ],
)
def test_anything_but_plain_yaml_is_refused_with_its_line(text, message):
    with pytest.raises(ValueError, match=rf"^a\.yaml.*{message}"):
        parse_yaml(text, "a.yaml")


@pytest.mark.parametrize("value", ["010", "-007", "0_1", "1:30", "+1:30:00"])
def test_numbers_that_only_yaml_reads_otherwise_are_refused(value):
    with pytest.raises(ValueError, match=r"mine.yaml, line 2: write \S+ without a leading zero"):
        parse_yaml(f"a: 1\nb: {value}", "mine.yaml")
    assert parse_yaml("[0, 10, -5, 1_000, 0x10, '010']", "x") == [0, 10, -5, 1000, 16, "010"]
