"""`tutorials/execute.py` writes nothing where a cell complains, and hides no warning."""

import importlib.util
from pathlib import Path

import nbformat
import pytest

SCRIPT = Path(__file__).parents[2] / "tutorials" / "execute.py"
CELLS = "# %% [markdown]\n# A question\n\n# %%\n1 + 1\n\n# %%\n1 + 1\n"
NATIVE = (
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    "I0000 00:00:1795266814.190129    8633 port.cc:153] oneDNN custom operations are on.\n"
    "2026-11-21 13:13:54.190129: I tensorflow/core/platform/cpu_feature_guard.cc:210] CPU\n"
    "To enable the following instructions: AVX2 FMA, rebuild TensorFlow\n"
    "WARNING:absl:Failed to load jax profiler: No module named 'jax'\n"
)
WARNING = "<ipython>:1: DeprecationWarning: old\n"


@pytest.fixture(scope="module")
def execute():
    spec = importlib.util.spec_from_file_location("execute", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)  # as for a script
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "00_question.py"
    path.write_text(CELLS, "utf-8")
    return path


def stderr(text):
    return nbformat.v4.new_output("stream", name="stderr", text=text)


def test_cell_ids_come_from_the_text_and_survive_an_insertion(execute, source):
    before = [cell.id for cell in execute.read_source(source).cells]
    source.write_text("# %%\n2 + 2\n\n" + CELLS, "utf-8")
    after = [cell.id for cell in execute.read_source(source).cells]
    assert len(set(after)) == 4
    assert after[1:] == before


def test_a_notebook_is_made_with_the_address_of_the_repository(execute, source, monkeypatch):
    monkeypatch.setattr(execute, "repository", lambda: "https://github.com/someone/aiayn_keras")
    source.write_text('# %%\nsystem("git clone --depth 1 https://github.com/a/b")\n', "utf-8")
    (cell,) = execute.read_source(source).cells
    assert cell.source == 'system("git clone --depth 1 https://github.com/someone/aiayn_keras")'


def test_lines_of_tensorflows_start_are_dropped(execute):
    assert execute.without_native_log(stderr(NATIVE)) is None


def test_a_warning_among_them_stays(execute):
    assert execute.without_native_log(stderr(NATIVE + WARNING)).text == WARNING


def test_other_outputs_stay_as_they_are(execute):
    printed = nbformat.v4.new_output("stream", name="stdout", text=NATIVE)
    assert execute.without_native_log(printed) is printed


def test_a_notebook_without_complaints_is_written(execute, source, monkeypatch):
    monkeypatch.setattr(execute, "run", lambda notebook, folder: None)
    assert execute.main([str(source)]) == 0
    written = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    assert [cell.source for cell in written.cells] == ["A question", "1 + 1", "1 + 1"]
    assert written.metadata == execute.METADATA
    assert [path.suffix for path in source.parent.iterdir()].count(".ipynb") == 1


def test_a_notebook_that_shows_a_warning_is_not_written(execute, source, monkeypatch):
    def complain(notebook, folder):
        notebook.cells[1].outputs = [stderr(WARNING)]

    monkeypatch.setattr(execute, "run", complain)
    assert execute.main([str(source)]) == 1
    assert not source.with_suffix(".ipynb").exists()


def test_a_notebook_that_fails_is_not_written(execute, source, monkeypatch):
    def fail(notebook, folder):
        raise execute.CellExecutionError("", "ValueError", "no")

    monkeypatch.setattr(execute, "run", fail)
    assert execute.main([str(source)]) == 1
    assert not source.with_suffix(".ipynb").exists()


def test_without_arguments_lessons_and_their_solutions_are_made(execute, source, monkeypatch):
    solution = source.parent / "solutions" / source.name
    solution.parent.mkdir()
    solution.write_text(CELLS, "utf-8")
    monkeypatch.setattr(execute, "FOLDER", source.parent)
    monkeypatch.setattr(execute, "run", lambda notebook, folder: None)
    assert execute.main([]) == 0
    assert source.with_suffix(".ipynb").exists()
    assert solution.with_suffix(".ipynb").exists()
