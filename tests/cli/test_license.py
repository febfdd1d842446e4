import pytest

from aiayn_keras.cli.license import find_license, read_license
from tests.cli.command import run

CARD = "---\nlanguage:\n- en\nlicense: apache-2.0\ntags: [translation]\n---\n\n# A model\n"


@pytest.mark.parametrize(
    ("readme", "expected"),
    [
        (CARD, "apache-2.0"),
        (CARD.replace("\n", "\r\n"), "apache-2.0"),
        (CARD.replace("license: apache-2.0\n", ""), None),
        (CARD.replace("apache-2.0", ""), None),
        (CARD.removeprefix("---\n"), None),
        ("---\nlicense: mit\n", None),  # nothing ends the YAML
        ("---\n- license\n---\n", None),
        ("", None),
    ],
)
def test_the_license_is_the_field_of_the_readme(tmp_path, readme, expected):
    (tmp_path / "README.md").write_bytes(readme.encode())
    assert read_license(tmp_path) == expected


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("license: [mit]", "README.md: `license` must be a short name. Received: .'mit'."),
        ('license: "a\\nb"', "`license` must be a short name"),
        ("license: " + "a" * 300, "`license` must be a short name"),
        ("a: 1\nlicense: !!python/name:os.system", "README.md, line 3: tags are not allowed"),
    ],
)
def test_what_is_no_name_is_refused(tmp_path, yaml, message):
    (tmp_path / "README.md").write_text(f"---\n{yaml}\n---\n")
    with pytest.raises(ValueError, match=message):
        read_license(tmp_path)


def test_where_there_is_no_readme_there_is_no_license(tmp_path):
    assert find_license(tmp_path) is None
    assert find_license(tmp_path / "checkpoint.pt") is None


def test_a_model_folder_hands_its_license_on(trained_run, tmp_path):
    pytest.importorskip("safetensors")
    model = tmp_path / "model"
    run("export", "preset", trained_run, "--output", tmp_path, "--name", "model")
    (model / "README.md").write_text(CARD)
    run("export", "preset", model, "--output", tmp_path, "--name", "copy")
    assert (tmp_path / "copy" / "README.md").read_text() == CARD
    result = run("export", "hf-marian", tmp_path / "copy", "--output", tmp_path, "--name", "hf")
    assert result.exit_code == 0, result.output
    assert find_license(tmp_path / "hf") == "apache-2.0"
