"""The repository's address stands in one place, and every other place agrees."""

import re
import subprocess
from pathlib import Path

import pytest

from tutorials import address

ROOT = Path(__file__).parents[2]
NEW = "https://github.com/someone/aiayn_keras"
TEXT = (
    "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    "(https://colab.research.google.com/github/a/b/blob/main/tutorials/05_many_heads.ipynb)\n"
    r"get_ipython().system(\"git clone --depth 1 https://github.com/a/b\")\n"
    "[another](https://github.com/keras-team/keras)"
)
HOSTED = re.compile(r"github(?:\.com)?[/:]([\w.-]+/aiayn_keras)\b")


def texts_of_the_repository():
    files = subprocess.run(
        ["git", "ls-files", "*.ipynb", "*.md", "*.py", "*.toml", "*.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    tests = Path(__file__).relative_to(ROOT).parent.as_posix()
    return {name: (ROOT / name).read_text("utf-8") for name in files if not name.startswith(tests)}


def test_badges_and_clone_commands_get_the_address_and_other_links_stay():
    changed = address.with_address(TEXT, NEW)
    assert "/github/someone/aiayn_keras/blob/main/tutorials/05_many_heads.ipynb)" in changed
    assert rf"git clone --depth 1 {NEW}\"" in changed
    assert changed.count("someone") == 2
    assert "https://github.com/keras-team/keras" in changed
    assert address.with_address(changed, NEW) == changed


def test_every_notebook_and_source_has_the_address():
    assert address.notebooks()
    for path in address.notebooks():
        text = path.read_text("utf-8")
        assert address.with_address(text, address.repository()) == text, path
        assert text.count(address.repository().removeprefix(address.HOST)) == 2, path


def test_no_other_file_states_another_address():
    own = address.repository().removeprefix(address.HOST)
    texts = texts_of_the_repository()
    if not texts:
        pytest.skip("Not in a git checkout.")
    found = {name: set(HOSTED.findall(text)) for name, text in texts.items()}
    assert {own} == set().union(*found.values())
    assert found["pyproject.toml"] == {own}


@pytest.mark.parametrize("wrong", ["https://gitlab.com/a/aiayn_keras", "https://github.com/a/b"])
def test_an_address_that_colab_cannot_use_is_refused(wrong, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{wrong}"\n')
    monkeypatch.setattr(address, "FOLDER", tmp_path / "tutorials")
    with pytest.raises(ValueError, match=re.escape(wrong)):
        address.repository()
