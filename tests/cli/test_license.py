import pytest

from aiayn_keras_cli.convert import find_license, license_or_warning, read_license
from tests.cli.command import run

CARD = "---\nlanguage:\n- en\nlicense: apache-2.0\ntags: [translation]\n---\n\n# A model\n"


@pytest.mark.parametrize(
    ("readme", "expected"),
    [
        (CARD, "apache-2.0"),
        (CARD.replace("\n", "\r\n"), "apache-2.0"),
        (f"\ufeff{CARD}", "apache-2.0"),  # as editors on Windows write it
        (CARD.replace("license: apache-2.0\n", ""), None),
        (CARD.replace("apache-2.0", ""), None),
        (CARD.removeprefix("---\n"), None),
        ("---\nlicense: mit\n", None),  # nothing ends the YAML
        ("---\n- license\n---\n", None),
        ("---\nlicense:mit\n---\n", None),
        (CARD.replace("apache-2.0", "[mit]"), "mit"),
        (CARD.replace("apache-2.0", "[mit, apache-2.0]"), ["mit", "apache-2.0"]),
        (CARD.replace("apache-2.0", "\n- mit\n\n# and\n- apache-2.0"), ["mit", "apache-2.0"]),
        (CARD.replace("license: ", "license_name: mine\n'license' : "), "apache-2.0"),
        (CARD.replace("\nlicense: apache-2.0", "\n  license: mit"), None),
        ("", None),
    ],
)
def test_the_license_is_the_field_of_the_readme(tmp_path, readme, expected):
    (tmp_path / "README.md").write_bytes(readme.encode())
    assert read_license(tmp_path) == expected


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("license: {mit: 1}", "README.md: `license` must be a short name.* Received: .'mit': 1."),
        ("license: [mit, [gpl]]", "`license` must be a short name, or a list of short names"),
        ("license: []", "`license` must be a short name, or a list of short names"),
        ("license: " + "[" + ", ".join(["mit"] * 50) + "]", "`license` must be a short name"),
        ("license: mit\nlicense: gpl", "README.md, line 3: the key 'license' appears twice"),
        ('license: "a\\nb"', "`license` must be a short name"),
        ("license: " + "a" * 300, "`license` must be a short name"),
        ("a: 1\nlicense: !!python/name:os.system", "README.md, line 3: tags are not allowed"),
    ],
)
def test_anything_but_names_is_refused(tmp_path, yaml, message):
    (tmp_path / "README.md").write_text(f"---\n{yaml}\n---\n")
    with pytest.raises(ValueError, match=message):
        read_license(tmp_path)


LANGUAGES = [f"{one}{other}" for one in "abcdefghijklm" for other in "abcdefghijklm"]
RESULT = """  - task:
      name: Translation {0}-eng
      type: translation
      args: {0}-eng
    dataset:
      name: flores101-devtest
      type: flores_101
      args: {0} eng devtest
    metrics:
    - name: BLEU
      type: bleu
      value: 55.0
    - name: chr-F
      type: chrf
      value: 0.70
"""


@pytest.mark.parametrize("license", ["license: cc-by-4.0\n", "license:\n- mit\n- cc-by-4.0\n"])
@pytest.mark.parametrize("place", ["first", "last"])
def test_the_readme_of_a_model_of_many_languages_and_results_is_read(tmp_path, license, place):
    """As those of Helsinki-NLP's opus-mt-tc-big models."""
    languages = "language: \n" + "".join(f"- {language}\n" for language in [*LANGUAGES, "no"])
    index = "model-index:\n- name: opus-mt-tc-big-mul-en\n  results:\n"
    index += "".join(map(RESULT.format, 6 * LANGUAGES))
    fields = [license, index] if place == "first" else [index, license]
    fields = f"{languages}tags:\n- translation\n\n{''.join(fields)}"
    (tmp_path / "README.md").write_text(f"---\n{fields}---\n### opus-mt-tc-big-mul-en\n")
    expected = "cc-by-4.0" if "mit" not in license else ["mit", "cc-by-4.0"]
    assert read_license(tmp_path) == expected


@pytest.mark.parametrize("readme", ["---\nlicense: {a: 1}\n---\n", CARD + "a" * 2_000_000])
def test_a_bad_readme_is_only_a_warning(tmp_path, capsys, readme):
    (tmp_path / "README.md").write_text(readme)
    assert license_or_warning(tmp_path) is None
    assert "Cannot read the license: " in capsys.readouterr().err


def test_a_readme_that_is_a_folder_is_only_a_warning(tmp_path, capsys):
    (tmp_path / "README.md").mkdir()
    assert license_or_warning(tmp_path) is None
    assert "Cannot read the license" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["saved-model", "hf-marian"])
@pytest.mark.slow
def test_a_bad_readme_stops_no_export(trained_run, tmp_path, form):
    pytest.importorskip("safetensors" if form == "hf-marian" else "tensorflow_serving")
    model = tmp_path / "model"
    run("export", "preset", trained_run, "--output", tmp_path, "--name", "model")
    (model / "README.md").write_text("---\nlicense: {a: 1}\n---\n")
    result = run("export", form, model, "--output", tmp_path, "--name", "new")
    assert result.exit_code == 0, result.output
    assert "Cannot read the license: " in result.stderr
    (model / "README.md").write_text("---\nlicense: [mit, gpl]\n---\n")
    result = run("export", form, model, "--output", tmp_path, "--name", "two")
    assert result.exit_code == 0, result.output
    readme = (tmp_path / "two" / "README.md").read_text("utf-8")
    expected = 'license: ["mit", "gpl"]\n' if form == "hf-marian" else "| license | mit, gpl |"
    assert expected in readme


def test_without_a_readme_there_is_no_license(tmp_path):
    assert find_license(tmp_path) is None
    assert find_license(tmp_path / "checkpoint.pt") is None


@pytest.mark.slow
def test_a_model_folder_passes_its_license_on(trained_run, tmp_path):
    pytest.importorskip("safetensors")
    model = tmp_path / "model"
    run("export", "preset", trained_run, "--output", tmp_path, "--name", "model")
    (model / "README.md").write_text(CARD)
    run("export", "preset", model, "--output", tmp_path, "--name", "copy")
    assert (tmp_path / "copy" / "README.md").read_text() == CARD
    result = run("export", "hf-marian", tmp_path / "copy", "--output", tmp_path, "--name", "hf")
    assert result.exit_code == 0, result.output
    assert find_license(tmp_path / "hf") == "apache-2.0"
