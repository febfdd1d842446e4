"""`python -m tests.mutants` makes the mistakes that it says, and tells who notices."""

import ast
import textwrap

import pytest

from tests.mutants import Court, Results, all_mutants, choose, main, matches, report
from tests.mutations.core import CORE, PACKAGE, ROOT, core_modules, stages_of_tests
from tests.mutations.equivalent import EQUIVALENT
from tests.mutations.mutant import make_mutants
from tests.mutations.running import Copy, Runner

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


def test_the_core_is_there_with_its_tests():
    for pattern in CORE:
        assert core_modules(patterns=[pattern]), pattern
    for module in core_modules():
        stages = stages_of_tests(module)
        assert stages, module
        assert all((ROOT / "tests" / test).exists() for stage in stages for test in stage), module


def test_the_mirrored_test_is_asked_first():
    first, others, more = stages_of_tests("layers/masks.py")
    assert first == ["layers/test_masks.py"]
    assert "layers/test_attention.py" in others
    assert "layers/test_masks.py" not in others
    assert more == ["models/test_transformer_backbone.py"]


def test_equivalent_mutants_exist_and_say_why():
    ids = [
        mutant.id
        for module in core_modules()
        for mutant in make_mutants(module, (ROOT / PACKAGE / module).read_text("utf-8"))
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
    """A package of one module whose test sees no mistake in `unseen`."""
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
    for name, text in files.items():
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
    return tmp_path / "root"


def test_a_mistake_is_noticed_by_the_test_that_fails_or_by_nobody(small_package, tmp_path):
    source = (small_package / PACKAGE / "layers" / "sums.py").read_text("utf-8")
    mutants = choose(make_mutants("layers/sums.py", source), ["*:arithmetic:*"], None, 0)
    copy = Copy(tmp_path / "copy", small_package)
    court = Court(copy, Runner(copy, preloaded=("pytest",), seconds=60))
    results = Results(tmp_path / "runs" / "results.jsonl")
    for mutant in mutants:
        results.add(mutant, court.noticed_by(mutant, [["layers/test_sums.py"]]))
    noticed = {mutant.function: results[mutant] for mutant in mutants}
    assert noticed == {"seen": "test_it_adds", "unseen": None}
    assert "layers/sums.py:unseen:arithmetic:1`, line 6: `x * 3` → `x / 3`" in report(
        mutants, results
    )
    # What was found out is read again; a mutant of other code is not it.
    again = Results(tmp_path / "runs" / "results.jsonl")
    assert all(mutant in again for mutant in mutants)
    assert mutants[0]._replace(source="x") not in again


def test_tests_that_fail_on_the_code_as_it_is_prove_nothing(small_package, tmp_path):
    module = small_package / PACKAGE / "layers" / "sums.py"
    (mutant, *_) = make_mutants("layers/sums.py", module.read_text("utf-8"))
    module.write_text(mutant.source, "utf-8")
    copy = Copy(tmp_path / "copy", small_package)
    court = Court(copy, Runner(copy, preloaded=("pytest",), seconds=60))
    with pytest.raises(RuntimeError, match=r"test_it_adds.*fails on the code as it is"):
        court.noticed_by(mutant, [["layers/test_sums.py"]])


def test_the_command_lists_mutants():
    from click.testing import CliRunner

    outcome = CliRunner().invoke(main, ["--list", "decoding/search_options.py:*"])
    assert outcome.exit_code == 0
    assert "length_penalty:constant:1, line " in outcome.output
