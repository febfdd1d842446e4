import pytest

from aiayn_keras.data import generate_demo_pairs
from aiayn_keras.data.parallel_text import letters_of, read_parallel
from aiayn_keras.training import load_recipe
from tests.cli.command import assert_one_clear_line, run


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A file of 300 pairs and two bad lines, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{source}\t{target}" for source, target in generate_demo_pairs(300, 0, "train")]
    path = tmp_path / "corpus.tsv"
    path.write_text("\n".join([*rows, "no tab", "", rows[0]]), "utf-8")
    return path


@pytest.mark.slow
def test_a_text_alone_is_cleaned_and_divided_without_leaks(corpus, tmp_path):
    result = run("recipe", corpus.name, "--no-timing")
    assert result.exit_code == 0, result.output
    assert "then: aiayn-keras train corpus.yaml" in result.output
    text = (tmp_path / "corpus.yaml").read_text("utf-8")
    assert "# corpus.tsv: 303 lines, en (Latn) → de (Latn)." in text
    assert "unreadable 2, duplicate 1" in text
    section = load_recipe(tmp_path / "corpus.yaml").corpus
    assert (section.source_language, section.target_language) == ("en", "de")
    texts = [read_parallel(*files) for files in (section.train, section.validation, section.test)]
    assert 280 <= sum(map(len, texts)) <= 300
    sources = [{letters_of(source) for source in each.sources} for each in texts]
    assert not sources[0] & sources[1] | sources[0] & sources[2]


def test_given_files_stay_as_they_are(corpus, tmp_path):
    (tmp_path / "v.tsv").write_text("A cat sleeps.\tEine Katze schläft.\n", "utf-8")
    result = run(
        *("recipe", corpus, "--validation", "v.tsv", "--output", "sub/my.yaml", "--no-timing")
    )
    assert result.exit_code == 0, result.output
    section = load_recipe(tmp_path / "sub/my.yaml").corpus
    assert section.train == (str(corpus),)
    assert section.validation == ("v.tsv",)
    assert section.bad_lines == "skip"
    assert len(list(tmp_path.rglob("*.tsv"))) == 2


def test_a_text_to_measure_with_must_be_whole(corpus, tmp_path):
    (tmp_path / "v.tsv").write_bytes("A\tB\nOlé\tOlé\n".encode("latin-1"))
    result = run("recipe", corpus, "--validation", "v.tsv", "--output", "r.yaml", "--no-timing")
    assert_one_clear_line(result, "v.tsv, line 2: not valid UTF-8", "--validation: mend")
    assert not (tmp_path / "r.yaml").exists()


def test_names_of_files_are_quoted_and_faults_shown(corpus, tmp_path):
    """A name with a line break made a recipe that was no YAML; lines left out were not counted."""
    name = "a\nb c.tsv"
    (tmp_path / name).write_bytes(corpus.read_bytes() + "\nOlé\tOlé\n".encode("latin-1"))
    (tmp_path / "v.tsv").write_text("A cat sleeps.\tEine Katze schläft.\n", "utf-8")
    result = run("recipe", name, "--validation", "v.tsv", "--output", "my own.yaml", "--no-timing")
    assert result.exit_code == 0, result.output
    assert "Faults: unreadable 3, duplicate 1" in result.output
    assert "See `aiayn-keras check 'a" in result.output
    assert "then: aiayn-keras train 'my own.yaml'" in result.output
    section = load_recipe(tmp_path / "my own.yaml").corpus
    assert (section.train, section.bad_lines) == ((name,), "skip")


def test_nothing_is_overwritten(corpus, tmp_path):
    (tmp_path / "corpus.test.tsv").write_text("mine")
    assert_one_clear_line(run("recipe", corpus, "--no-timing"), "corpus.test.tsv exists already")
    assert not (tmp_path / "corpus.yaml").exists()
    assert not (tmp_path / "corpus.train.tsv").exists()
    (tmp_path / "corpus.yaml").write_text("mine")
    assert_one_clear_line(run("recipe", corpus, "--no-timing"), "corpus.yaml exists already")


def test_text_without_a_good_pair_is_refused(tmp_path):
    (tmp_path / "a.tsv").write_text("\t\n\t\n")
    result = run("recipe", tmp_path / "a.tsv", "--output", tmp_path / "r.yaml")
    assert_one_clear_line(result, "a.tsv has no pair without faults", "aiayn-keras check")


@pytest.mark.parametrize(
    "arguments", [("a.yaml",), ("a.tsv", "--test", "t.tsv"), ("a.tsv", "--output", "a.txt")]
)
def test_arguments_that_contradict_are_refused(arguments):
    assert run("recipe", *arguments).exit_code == 2
