"""`aiayn-keras translate --document`."""

import json

import pytest

from aiayn_keras_light import text_files
from tests.cli.command import assert_one_clear_line, run
from tests.helpers import assert_close

pytest.importorskip("tensorflow_text")

DOCUMENT = "A title\r\n\r\n  The girl is happy. Every day Paul works!\n\n- Half past three"


@pytest.fixture
def document_file(tmp_path):
    path = tmp_path / "document.en"
    path.write_bytes(DOCUMENT.encode())
    return path


@pytest.fixture(scope="module")
def expected(model):
    return model.translate_documents([DOCUMENT])[0]


@pytest.mark.slow
def test_a_file_is_a_document(trained_run, document_file, expected):
    result = run("translate", trained_run, "--document", "--input", document_file)
    assert result.exit_code == 0, result.output
    assert result.stdout_bytes == expected.text.encode()


def test_standard_input_is_a_document(trained_run, expected):
    result = run("translate", trained_run, "--document", input=DOCUMENT.encode())
    assert result.stdout_bytes == expected.text.encode()


@pytest.mark.slow
def test_reading_in_pieces_changes_nothing(trained_run, document_file, expected, monkeypatch):
    pieces = []

    def chunk_rows(text_files, max_characters):
        for chunk in row_chunks_of(text_files, max_characters=9):
            pieces.append(chunk)
            yield chunk

    row_chunks_of = text_files.chunk_rows
    monkeypatch.setattr(text_files, "chunk_rows", chunk_rows)
    result = run("translate", trained_run, "--document", "--input", document_file)
    assert result.stdout_bytes == expected.text.encode()
    assert len(pieces) > 2


def test_json_has_an_object_for_each_sentence(trained_run, document_file, expected):
    result = run("translate", trained_run, "--document", "--json", "--input", document_file)
    sentences = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["source"] for each in sentences] == list(expected.sources)
    for sentence, translation in zip(sentences, expected.translations, strict=True):
        assert sentence["hypotheses"][0]["text"] == translation.text
        assert_close(sentence["hypotheses"][0]["score"], translation.score, 1e-5)


def test_nothing_is_translated_to_nothing(trained_run, tmp_path):
    assert run("translate", trained_run, "--document", input=b"").stdout_bytes == b""
    assert run("translate", trained_run, "--document", input=b" \n\n").stdout_bytes == b" \n\n"


@pytest.mark.parametrize("damage", [b"caf\xe9\n", b"x" * 1_000_003])
def test_a_damaged_line_is_named(trained_run, tmp_path, damage):
    path = tmp_path / "damaged.en"
    path.write_bytes(b"Good.\n" + damage)
    result = run("translate", trained_run, "--document", "--input", path)
    assert_one_clear_line(result, "damaged.en, line 2")
    assert result.stdout == ""
    result = run("translate", trained_run, "--document", input=path.read_bytes())
    assert_one_clear_line(result, "standard input, line 2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--prefixes", "prefixes", "--input", "document.en"),
            "--prefixes cannot be combined with --document",
        ),
        (("--n-best", "2"), "only if --json is given"),
    ],
)
def test_options_for_lines_are_refused(trained_run, arguments, message):
    result = run("translate", trained_run, "--document", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
