"""The largest batch follows from the bytes of two compiled steps."""

import click
import pytest

from benchmarks.tpu import memory_plan
from benchmarks.tpu.memory_plan import MemoryPlan, memory_table, plan_memory

ROW = 64


@pytest.fixture(name="compile_steps")
def compile_steps_by_formula(monkeypatch):
    """Let a step need 700 MB and 5 MB a row, and the compiler refuse more than `limit` rows."""

    def use(limit):
        def project(configuration, folder):
            rows = configuration.rows
            assert (configuration.source_length, configuration.target_length) == (ROW, ROW)
            if rows > limit:
                return {"rows": rows, "refusal": "RESOURCE_EXHAUSTED: too much"}
            memory = {"arguments": 300_000_000, "peak": 700_000_000 + 5_000_000 * rows}
            return {"rows": rows, "memory": memory}

        monkeypatch.setattr(memory_plan, "project", project)

    return use


def test_two_batches_give_the_bytes_of_a_row_and_of_the_rest(compile_steps, tmp_path):
    compile_steps(limit=20)
    plan = plan_memory("base", "float32", ROW, 10, tmp_path)
    assert plan == MemoryPlan("base", "float32", ROW, 300_000_000, 700_000_000, 5_000_000)
    assert plan.largest_batch(720_000_000) == 4 * ROW
    assert plan.largest_batch(719_999_999) == 3 * ROW
    assert plan.largest_batch(600_000_000) == 0


def test_a_batch_that_does_not_compile_is_refused(compile_steps, tmp_path):
    compile_steps(limit=19)
    with pytest.raises(click.ClickException, match=r"base with 1280 tokens .* --tokens"):
        plan_memory("base", "float32", ROW, 10, tmp_path)


def test_a_table_has_the_largest_batches_of_the_share_of_each_memory():
    plan = MemoryPlan("base", "float32", ROW, 300_000_000, 700_000_000, 5_000_000)
    assert memory_table([plan], [1, 16], 0.75).splitlines() == [
        "| model, precision | weights and moments, GB | kB a target token | 1 GB | 16 GB |",
        "| :--- | ---: | ---: | ---: | ---: |",
        "| base, float32 | 0.3 | 78 | 640 | 144,640 |",
    ]
