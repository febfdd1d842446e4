"""`python -m tests.mutants` makes the mistakes it names and reports which test notices."""

import ast
import textwrap

import pytest

from tests.mutants import Results, all_mutants, choose, main, matches, report, try_mutants
from tests.mutations import core, running
from tests.mutations.core import PACKAGE, ROOT, core_modules, path_of, stages_of_tests
from tests.mutations.equivalent import EQUIVALENT
from tests.mutations.mutant import make_mutants

pytestmark = pytest.mark.slow

SOURCE = '''
"""Module: 1 + 1."""

LIMIT = 3


def limited(x, more=False):
    """Returns 2 + 2."""
    if x is None:
        raise ValueError(f"{1 + 1}")
    y: "1 + 1" = ops.where(x < LIMIT, x, -x)
    y = wrap(y, 0.5)
    if more:
        y = ops.minimum(
            y,
            ops.cast("ä", "float32") * 2,
        )
    return y
'''


@pytest.fixture(scope="module")
def mutants():
    return {mutant.id: mutant for mutant in make_mutants("a/b.py", SOURCE)}


@pytest.mark.parametrize(
    ("place", "before", "after"),
    [
        ("<module>:constant:1", "3", "4"),
        ("limited:boolean:1", "False", "True"),
        ("limited:condition:1", "ops.where(x < LIMIT, x, -x)", "ops.where(x < LIMIT, -x, x)"),
        ("limited:comparison:1", "x < LIMIT", "x <= LIMIT"),
        ("limited:sign:1", "-x", "x"),
        ("limited:forgotten_step:1", "y = wrap(y, 0.5)", "y = y"),
        ("limited:constant:1", "0.5", "1.0"),
        ("limited:condition:2", "more", "not more"),
        ("limited:dropped_call:1", "ops.cast('ä', 'float32')", "'ä'"),
        ("limited:arithmetic:1", "ops.cast('ä', 'float32') * 2", "ops.cast('ä', 'float32') / 2"),
        ("limited:constant:2", "2", "3"),
    ],
)
def test_an_operator_makes_its_mistake(mutants, place, before, after):
    mutant = mutants[f"a/b.py:{place}"]
    assert (mutant.before, mutant.after) == (before, after)


def test_a_twin_takes_the_place_of_a_call(mutants):
    mutant = mutants["a/b.py:limited:twin:1"]
    assert mutant.after == "ops.maximum(y, ops.cast('ä', 'float32') * 2)"


def test_docstrings_annotations_and_errors_have_no_mistakes(mutants):
    assert len(mutants) == 13
    assert not any(
        "1 + 1" in mutant.before or "2 + 2" in mutant.before for mutant in mutants.values()
    )
    assert not any("None" in mutant.before for mutant in mutants.values())


def test_a_mistake_stands_in_its_line_and_moves_no_other(mutants):
    lines = SOURCE.splitlines()
    for mutant in mutants.values():
        ast.parse(mutant.source)
        mutated = mutant.source.splitlines()
        changed = [
            i for i, pair in enumerate(zip(lines, mutated, strict=True), 1) if len({*pair}) > 1
        ]
        assert changed[0] == mutant.line
        assert changed[-1] < mutant.line + 4


def test_ids_outlast_changes_elsewhere(mutants):
    changed = SOURCE.replace("LIMIT = 3", "LIMIT = 3 + 4\n\n\ndef other():\n    return 5 - 1")
    inside = {key for key in mutants if ":limited:" in key}
    assert inside < {mutant.id for mutant in make_mutants("a/b.py", changed)}


def test_every_mutant_of_the_core_is_code_of_its_own():
    mutants = all_mutants()
    assert len({mutant.id for mutant in mutants}) == len(mutants) > 500
    for mutant in mutants[::20]:
        ast.parse(mutant.source)


def test_every_module_of_the_core_has_tests():
    for module in core_modules():
        stages = stages_of_tests(module)
        assert stages, module
        assert all((ROOT / "tests" / test).exists() for stage in stages for test in stage), module


def test_a_core_that_has_moved_is_named():
    with pytest.raises(ValueError, match=r"no module is named aiayn_keras/layers/maskes\.py"):
        core_modules(patterns=["layers/maskes.py"])


def test_the_mirrored_test_is_asked_first_then_those_that_import_the_module():
    first, direct, *_ = stages_of_tests("layers/masks.py")
    assert first == ["layers/test_masks.py"]
    assert "layers/test_decoder_block.py" in direct
    assert "layers/test_masks.py" not in direct
    # TokenBatches is imported from the folder, and holds a batch's arrays three imports away.
    stages = stages_of_tests("data/pair_batches.py")
    assert any("data/test_token_batches.py" in stage for stage in stages)


def test_equivalent_mutants_exist_and_say_why():
    ids = [
        mutant.id
        for module in core_modules()
        for mutant in make_mutants(module, (ROOT / path_of(module)).read_text("utf-8"))
    ]
    assert [pattern for pattern in EQUIVALENT if not any(matches(i, [pattern]) for i in ids)] == []
    assert all(EQUIVALENT.values())


def test_a_sample_is_the_same_for_the_same_seed_and_spread_over_modules():
    mutants = all_mutants()
    ids = [[m.id for m in choose(mutants, [], 100, seed)] for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]
    assert len(set(ids[0])) == 100
    assert len({mutant_id.partition(":")[0] for mutant_id in ids[0]}) > 15
    assert len(choose(mutants, ["layers/*"], None, 0)) < len(mutants)


@pytest.fixture
def small_package(tmp_path, monkeypatch):
    """Source of a module whose test sees no mistake in `unseen`, in a repository of its own."""
    files = {
        f"{PACKAGE}/__init__.py": "",
        f"{PACKAGE}/layers/__init__.py": "",
        f"{PACKAGE}/layers/sums.py": """
            def seen(x):
                return x + 1

            def unseen(x):
                return x * 3
        """,
        "tests/layers/test_sums.py": f"""
            from {PACKAGE}.layers.sums import seen

            def test_it_adds():
                assert seen(1) == 2
        """,
        "pyproject.toml": "",
    }
    root = tmp_path / "root"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
    for function in (core.stages_of_tests, running.Copy.__init__):
        monkeypatch.setattr(function, "__defaults__", (root,))
    monkeypatch.setattr(running.Runner.__init__, "__defaults__", (("pytest",), 600))
    return root / PACKAGE / "layers" / "sums.py"


def test_a_mistake_is_noticed_by_the_test_that_fails_or_by_nobody(small_package, tmp_path):
    source = small_package.read_text("utf-8")
    mutants = choose(make_mutants("layers/sums.py", source), ["*:arithmetic:*"], None, 0)
    results = Results(tmp_path / "runs" / "results.jsonl")
    try_mutants(mutants, results, tmp_path / "copies", processes=2)
    noticed = {mutant.function: results[mutant] for mutant in mutants}
    assert noticed == {"seen": "test_it_adds", "unseen": None}
    assert "layers/sums.py:unseen:arithmetic:1`, line 6: `x * 3` → `x / 3`" in report(
        mutants, results
    )
    # A later run reads the results; a mutant of changed code is not among them.
    again = Results(tmp_path / "runs" / "results.jsonl")
    assert all(mutant in again for mutant in mutants)
    assert mutants[0]._replace(source="x") not in again


def test_tests_that_fail_on_the_code_as_it_is_prove_nothing(small_package, tmp_path):
    (mutant, *_) = make_mutants("layers/sums.py", small_package.read_text("utf-8"))
    small_package.write_text(mutant.source, "utf-8")
    results = Results(tmp_path / "results.jsonl")
    with pytest.raises(RuntimeError, match=r"test_it_adds.*fails on the code as it is"):
        try_mutants([mutant], results, tmp_path / "copies", processes=1)


def test_a_recording_names_the_tests_that_run_a_line(small_package, tmp_path):
    copy = running.Copy(tmp_path / "copy")
    (copy.folder / "tests" / "layers" / "test_sums.py").write_text(
        textwrap.dedent(f"""
        import pytest
        from {PACKAGE}.layers.sums import seen, unseen

        @pytest.fixture(scope="module")
        def four():
            return seen(3)

        @pytest.mark.parametrize("factor", [1, 2])
        def test_a(four, factor):
            assert unseen(four * factor) == 12 * factor

        def test_b(four):
            assert four == 4
        """)
    )
    file = "tests/layers/test_sums.py"
    recording = running.Runner(copy).record(file)
    assert set(recording.seconds) == {f"{file}::test_a", f"{file}::test_b", file}
    module = path_of("layers/sums.py").as_posix()
    lines = {line: names for (path, line), names in recording.lines.items() if path == module}
    assert lines == {2: [file], 3: [file], 5: [file], 6: [f"{file}::test_a"]}


def test_a_mistake_that_never_ends_is_noticed(small_package, tmp_path):
    copy = running.Copy(tmp_path / "copy")
    (copy.folder / "tests" / "test_endless.py").write_text("def test_it():\n    while True: ...\n")
    runner = running.Runner(copy, seconds=2)
    assert runner.first_failure(["tests/test_endless.py"]) == "(no end after 2 s of processor time)"


def test_a_file_whose_tests_are_all_left_out_notices_nothing(small_package, tmp_path):
    copy = running.Copy(tmp_path / "copy")
    settings = '[tool.pytest.ini_options]\naddopts = "-k absent"\n'
    (copy.folder / "pyproject.toml").write_text(settings)
    runner, file = running.Runner(copy), "tests/layers/test_sums.py"
    recording = runner.record(file)
    assert recording.seconds == {file: 0}
    assert runner.first_failure([file]) is None


def test_the_command_lists_mutants():
    from click.testing import CliRunner

    outcome = CliRunner().invoke(main, ["--list", "aiayn_keras_light/search_numbers.py:*"])
    assert outcome.exit_code == 0
    assert "length_penalty:constant:1, line " in outcome.output
