"""The check of the built book sees what is wrong with a page, and nothing else."""

from tests.claims import book

PAGE = (
    "<!doctype html><link rel=icon href='data:,'><meta name=viewport content='width=device-width'>"
)
WELL = "<p>Text</p><div style='overflow-x: auto'><div style='width: 3000px'>wide</div></div>"
WIDE = "<div style='width: 600px; height: 9px'>wide on a phone</div>"
CUT = f"<div style='overflow: hidden'><article>{WIDE}</article></div>"
FAILS = "<script>throw new Error('no such thing')</script>"
ASKS = "<img src='http://localhost:9/picture.png'>"


def test_pages_with_faults_are_told_from_those_without(tmp_path, capsys):
    for name, body in {
        "asks": ASKS,
        "cut": CUT,
        "fails": FAILS,
        "well": WELL,
        "wide": WIDE,
    }.items():
        (tmp_path / f"{name}.html").write_text(PAGE + body)
    assert book.main(["--book", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    rows = {line.split(" | ")[0][2:]: line for line in printed.splitlines() if ".html |" in line}
    assert rows["well.html"] == "| well.html | well | well |"
    assert rows["wide.html"].startswith("| wide.html | well | scrolls sideways by ")
    assert rows["cut.html"] == "| cut.html | well | cut off: DIV wide on a phone |"
    assert rows["fails.html"].count("no such thing") == 2
    assert rows["asks.html"].count("asks http://localhost:9/picture.png") == 2
    assert printed.endswith("5 pages, 4 with faults.\n")


def test_a_book_without_faults_passes_and_is_pictured(tmp_path, monkeypatch):
    (tmp_path / "well.html").write_text(PAGE + WELL)
    monkeypatch.setattr(book, "PICTURES", {"one": "well.html"})
    pictures = tmp_path / "pictures"
    assert book.main(["--book", str(tmp_path), "--screenshots", str(pictures)]) == 0
    assert len(list(pictures.glob("one-*.png"))) == 4
