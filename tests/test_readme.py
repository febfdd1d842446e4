"""Every block of code in the documentation is run as pasted, or said here why it is not."""

import contextlib
import functools
import re
from pathlib import Path

import click
import pytest
import yaml

from aiayn_keras.training import load_recipe
from aiayn_keras_cli import main
from tests.snippet_shell import run_shell
from tests.snippets import Block, is_expected, read_sections, run_python

pytest.importorskip("grpc")
pytest.importorskip("tensorflow_serving")

ROOT = Path(__file__).parents[1]
SAVED_MODELS = ROOT / "saved_models"
PAGES = [
    *(ROOT / "README.md", ROOT / "book/index.md", SAVED_MODELS / "README.md"),
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(SAVED_MODELS.glob("*/README.md")),
]
NOT_RUN = {
    "aiayn-keras average": "needs the checkpoints of a training",
    "aiayn-keras check": "needs the text of the reader; tests/cli runs it",
    "aiayn-keras compare": "needs two trainings; tests/cli runs it",
    "aiayn-keras convert": "needs the network; tests/convert runs it",
    "aiayn-keras evaluate": "seconds for each; tests/cli runs it",
    "aiayn-keras export": "seconds for each; tests/cli runs it",
    "aiayn-keras info transformer_big": "needs a gigabyte; tests/cli runs smaller ones",
    "aiayn-keras plot": "needs two trainings; tests/cli runs it",
    "aiayn-keras prepare": "needs the text of the reader",
    "aiayn-keras recipe": "needs the text of the reader; tests/cli runs it",
    "aiayn-keras release": "needs a server; tests/cli runs it",
    "aiayn-keras score": "seconds for each; tests/cli runs it",
    "aiayn-keras serve": "runs until it is stopped",
    "aiayn-keras train": "minutes or hours",
    "aiayn-keras translate --on-ray": "needs a cluster; tests/scale runs it",
    "aiayn-keras translate runs": "seconds for each; that of a model that ships is run",
    "docker": "there is no TensorFlow Serving here",
    "gcloud": "needs the network",
    "git": "needs the network; the checkout is there",
    "jupyter": "runs until it is stopped",
    "kubectl": "there is no cluster here",
    "make": "installs from the network, and trains for minutes",
    "pip": "needs the network",
    "python -m benchmarks": "minutes for each; tests/benchmarks runs small ones",
    "python -m experiments": "hours for each; tests/experiments runs their parts",
    "sudo": "needs root; tests/serving/test_nginx.py runs nginx",
    "source": "the tests run in their own environment",
}
"""Commands that are recorded instead, and the reasons. Those of `aiayn-keras` are still parsed."""

SLOW = {
    ("docs/change_a_part.md", "Train, translate, save, load"): "models/test_own_classes.py",
    ("docs/layers.md", "A text classifier"): "layers/test_models_of_layers.py",
    ("docs/layers.md", "A tagger"): "layers/test_models_of_layers.py",
    ("docs/layers.md", "A time-series forecaster"): "layers/test_models_of_layers.py",
    ("docs/layers.md", "A vision transformer"): "layers/test_models_of_layers.py",
    ("docs/training.md", "A data set of your own, in Python"): "training/test_own_datasets.py",
    ("docs/training.md", "The search of a model"): "models/test_model_folder_writing.py",
    ("docs/training.md", "Translations that keep a rule"): "decoding/constraints",
    ("docs/training.md", "What a model does"): "models/test_transformer_seq2seq_lm.py",
    ("docs/scale.md", "Translate files"): "scale/test_jobs.py",
    ("docs/serving.md", "Serving"): "README.md's own section",
    ("saved_models/demo_en_de/README.md", "Ask"): "README.md's own section",
}
"""Sections that `make test-all` runs, and what runs the same meanwhile."""

NEEDS = {("docs/devices.md", "The engine that searches"): "ctranslate2"}
"""Sections that need an optional package, which `make test` does not install."""

TEXT_FILES = (
    *("sentences.en", "sentences.txt", "pairs.tsv", "test.en", "test.de", "test.es", "other.de"),
    *("dict.en.txt", "dict.de.txt", "en.vocab", "de.vocab"),
    "vocab.translate_ende_wmt32k.32768.subwords",
)
"""Files of the reader that commands read."""

TRAINED = ("better", "messages", "mine", "my_recipe", "my_trees", "opus_en_de")
"""Names of the models in `runs` that the reader has trained or converted."""


class Checkout:
    """A folder that looks like the checkout, where blocks may write what they like."""

    def __init__(self, folder, address_of):
        self.folder, self.address_of = folder, address_of
        self.sections = {}
        for path in ROOT.iterdir():
            if not path.name.startswith(".") and path.name != "runs":
                (folder / path.name).symlink_to(path)
        (folder / "runs").mkdir()
        for name in TRAINED:
            (folder / "runs" / name).symlink_to(SAVED_MODELS / "demo_en_de_keras")
        for name in TEXT_FILES:
            (folder / name).write_text("The girl is happy.\n", "utf-8")

    def run(self, sections, title):
        """Runs a section once, after the one that it continues, and returns its Python names."""
        if title not in self.sections:
            section = sections[title]
            before = {} if section.continues is None else self.run(sections, section.continues)
            self.sections[title] = names = {"__name__": "__main__", **before}
            for block in section.blocks:
                self._write_file(block)
            for block in section.blocks:
                self._run(block, names)
        return self.sections[title]

    def _write_file(self, block):
        """Writes a block to the file that its first line names in a comment."""
        name = re.match(r"# ([\w.]+\.yaml)\n", block.text)
        if name:
            (self.folder / name[1]).write_text(block.text, "utf-8")

    def _run(self, block, names):
        text = self.address_of(block.text)
        if block.language == "python":
            with contextlib.chdir(self.folder):
                printed = run_python(text, block.place, names)
        elif block.language == "shell":
            record = self.folder / "not_run"
            printed, commands, error = run_shell(text, self.folder, record, NOT_RUN)
            assert not error, f"{block.place}: {error}"
            for command in commands:
                self._parse(command, block.place)
        else:
            assert block.language == "yaml", f"{block.place}: no test runs {block.language}"
            return self._read_yaml(block)
        assert is_expected(block, printed), f"{block.place} prints {printed!r}"
        return None

    def _parse(self, words, place):
        """Checks the arguments of a command of `aiayn-keras` that is not run."""
        command, context = main, None
        if words[0] != "aiayn-keras":
            return
        try:
            with contextlib.chdir(self.folder):
                while isinstance(command, click.Group) and words[1:]:
                    context = click.Context(command, parent=context)
                    name, command, arguments = command.resolve_command(context, words[1:])
                    words = [name, *arguments]
                command.make_context(words[0], words[1:], parent=context)
        except (click.ClickException, OSError) as error:
            pytest.fail(f"{place}: {' '.join(words)}: {error}")

    def _read_yaml(self, block):
        assert isinstance(yaml.safe_load(block.text), dict), block.place
        name = re.match(r"# ([\w.]+\.yaml)\n", block.text)
        if name:
            load_recipe(self.folder / name[1], ())


def sections_of(page):
    name = page.relative_to(ROOT).as_posix()
    sections = read_sections(page.read_text("utf-8"), name)
    return {section.title: section for section in sections}


SECTIONS = {page.relative_to(ROOT).as_posix(): sections_of(page) for page in PAGES}


@pytest.fixture(scope="module")
def address_of():
    """Function that puts the address of the tests' server into a text that needs one."""
    from tests.serving.loopback_server import LoopbackServer

    with contextlib.ExitStack() as stack:

        @functools.cache
        def start(kit):
            return stack.enter_context(LoopbackServer(kit))

        def address_of(text):
            kits = [path.parent for path in SAVED_MODELS.glob("*/models.config")]
            named = [kit for kit in kits if kit.name in text]
            if not named or not re.search(r"127\.0\.0\.1:850[01]\b(?!:)", text):
                return text
            server = start(named[0])
            text = text.replace("127.0.0.1:8501", f"127.0.0.1:{server.rest_port}")
            return text.replace("127.0.0.1:8500", f"127.0.0.1:{server.grpc_port}")

        yield address_of


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory, address_of):
    """Function of a page that gives the folder in which its blocks are run."""
    return functools.cache(
        lambda page: Checkout(tmp_path_factory.mktemp(page.replace("/", "_")), address_of)
    )


@pytest.mark.parametrize(
    ("page", "title"),
    [
        pytest.param(page, title, marks=[pytest.mark.slow] * ((page, title) in SLOW))
        for page, sections in SECTIONS.items()
        for title in sections
    ],
)
def test_code_runs_as_pasted(page, title, checkouts):
    if package := NEEDS.get((page, title)):
        pytest.importorskip(package)
    checkouts(page).run(SECTIONS[page], title)


def test_there_is_code():
    assert len(SECTIONS["README.md"]) > 2
    assert all(title in SECTIONS[page] for page, title in (*SLOW, *NEEDS))


PAGE = """
# Title
```python
a = 6 * 7
a
```

```text
4...
```
## Other
  ```shell
  git clone https://host/some.git && cd some && aiayn-keras train demo \\
      --set corpus.train_size=1 && echo done
  ```
<!-- continues: Title -->
```python
print(a)
```
Words.
```text
no output of this
```
"""


def test_blocks_are_found_with_their_outputs():
    title, other = read_sections(PAGE, "page.md")
    assert [block.expected for block in (*title.blocks, *other.blocks)] == ["4...\n", None, None]
    assert [block.place for block in other.blocks] == ["page.md:12", "page.md:17"]
    assert (title.continues, other.continues) == (None, "Title")
    assert other.blocks[0].text.startswith("git clone")


def test_python_is_run_in_order_and_compared():
    title, other = read_sections(PAGE, "page.md")
    names = {}
    assert is_expected(title.blocks[0], run_python(title.blocks[0].text, "p", names))
    assert run_python(other.blocks[1].text, "p", names) == "42\n"
    assert not is_expected(Block("p", "python", "", "4\n"), "5\n")


def test_commands_that_are_not_run_are_recorded(tmp_path):
    (_, other) = read_sections(PAGE, "page.md")
    printed, commands, error = run_shell(
        other.blocks[0].text, tmp_path, tmp_path / "record", NOT_RUN
    )
    assert (printed, error) == ("done\n", "")
    assert commands == [
        ["git", "clone", "https://host/some.git"],
        ["aiayn-keras", "train", "demo", "--set", "corpus.train_size=1"],
    ]
    text = "aiayn-keras translate runs/mine < record > out.de"
    _, (command,), error = run_shell(text, tmp_path, tmp_path / "record", NOT_RUN)
    assert (command, error) == (["aiayn-keras", "translate", "runs/mine"], "")
    _, _, error = run_shell("no_such_program | cat", tmp_path, tmp_path / "record", NOT_RUN)
    assert "no_such_program" in error


@pytest.mark.parametrize("command", ["train", "train demo --sets a=1", "trains demo"])
def test_wrong_arguments_of_commands_that_are_not_run_are_seen(command, checkouts):
    checkout = checkouts("README.md")
    with pytest.raises(pytest.fail.Exception):
        checkout._parse(["aiayn-keras", *command.split()], "page.md:1")
    checkout._parse(["aiayn-keras", "train", "demo"], "page.md:1")
