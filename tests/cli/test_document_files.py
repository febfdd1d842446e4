"""`aiayn-keras translate` with documents of a format."""

import subprocess
import sys

import pytest

from aiayn_keras.documents.formats.document_files import translate_document
from aiayn_keras_cli.documents import _FORMATS
from aiayn_keras_light.document_formats import FORMATS
from tests.cli.command import assert_one_clear_line, run

pytest.importorskip("tensorflow_text")

PAGE = b"<p title='x'>The girl is happy. Every <b>day</b> Paul works!</p>\n<pre>1 2</pre>\n"
TABLE = b"id,text\r\n1,The girl is happy.\r\n"


def test_the_command_knows_the_formats():
    assert set(_FORMATS) == {"lines", *FORMATS}


@pytest.mark.slow
def test_a_page_is_translated_by_its_ending_or_by_format(trained_run, model, tmp_path):
    path = tmp_path / "page.html"
    path.write_bytes(PAGE)
    expected = translate_document(model, PAGE, "html")
    assert expected.startswith(b"<p title='x'>")
    assert expected.endswith(b"</p>\n<pre>1 2</pre>\n")
    assert model.translate("The girl is happy.").text.encode() in expected
    result = run("translate", trained_run, "--input", path)
    assert result.stdout_bytes == expected
    assert run("translate", trained_run, "--format", "html", input=PAGE).stdout_bytes == expected


def test_several_documents_keep_their_folders(trained_run, model, tmp_path):
    names = ["one.html", "a::b/two.html", "a::b/c d/three.csv"]
    for name in names:
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(TABLE if name.endswith("csv") else PAGE)
    output = tmp_path / "out"
    arguments = ("translate", trained_run, "--input", f"{tmp_path}/in/**/*.*", "--output", output)
    result = run(*arguments)
    assert_one_clear_line(result, "three.csv: a table needs --columns", "'id', 'text'")
    assert not output.exists()
    result = run(*arguments, "--columns", "text")
    assert result.exit_code == 0, result.output
    assert {str(path.relative_to(output)) for path in output.rglob("*.*")} == set(names)
    assert (output / names[1]).read_bytes() == translate_document(model, PAGE, "html")
    cell = model.translate("The girl is happy.").text
    assert (output / names[2]).read_bytes().decode().replace('"', "") == f"id,text\r\n1,{cell}\r\n"
    assert_one_clear_line(run(*arguments, "--columns", "text"), "exists already")


@pytest.mark.parametrize("columns", [(), ("--columns", "tex"), ("--columns", "id,3")])
def test_a_wrong_column_is_refused_without_keras(trained_run, tmp_path, columns):
    table = tmp_path / "t.csv"
    table.write_bytes(b"\xef\xbb\xbfsep=;\r\nid;text\r\n1;tea, hot\r\n")
    command = [sys.executable, "-X", "importtime", "-m", "aiayn_keras_cli", "translate"]
    for options in (["--input", table], ["--format", "csv"]):
        with table.open("rb") as stream:
            result = subprocess.run(
                [*command, trained_run, *options, *columns],
                stdin=stream,
                capture_output=True,
                text=True,
            )
        assert result.returncode == 1
        assert "The first row has: 'id', 'text'" in result.stderr
        loaded = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
        assert "aiayn_keras_light.document_formats" in loaded
        assert not {"keras", "tensorflow", "aiayn_keras"} & loaded


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.pdf", (), "the format .pdf is not supported"),
        ("x.odt", ("--output", "out"), "the format .odt is not supported"),
        ("x.docx", (), "not a .docx"),
        ("x.json", ("--columns", "a"), "`columns` are for tables"),
    ],
)
def test_what_is_no_document_is_refused_by_name(trained_run, tmp_path, name, options, message):
    (tmp_path / name).write_bytes(b'"tea"')
    result = run("translate", trained_run, "--input", tmp_path / name, *options)
    assert_one_clear_line(result, name, message)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--document", "--format", "lines"), "cannot be combined with --format lines"),
        (("--columns", "a"), "--columns is for tables"),
        (("--columns", "a,b", "--input", "x.parquet", "--output", "y"), "Received: a,b."),
        (("--format", "html", "--json"), "omit --prefixes and --json"),
        (("--format", "html", "--n-best", "2"), "omit --n-best"),
        (("--format", "html", "--long-text", "cut"), "omit --long-text"),
        (("--format", "html", "--workers", "2"), "omit --on-ray, --workers"),
        (("--output", __file__), "is a file. Name a folder that is new or empty"),
        (("--input", "-"), "omit --input to read standard input"),
        (("--output", "new/y.md"), "'new/y.md' is named like a file"),
        (("--output", "y.txt.gz"), "'y.txt.gz' is named like a file"),
    ],
)
def test_options_that_are_not_for_documents_are_refused(trained_run, options, message):
    result = run("translate", trained_run, *options, input=b"tea")
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
