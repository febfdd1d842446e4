"""The number of usable cores: quotas of both versions of control groups, and none."""

import os

import pytest

from aiayn_keras_light import usable_cores


@pytest.fixture
def groups(tmp_path, monkeypatch):
    monkeypatch.setattr(usable_cores, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    usable_cores._quota.cache_clear()
    yield tmp_path
    usable_cores._quota.cache_clear()


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("5000 100000", 1),
        ("1600000 100000", 8),
        ("0 0", 8),
        ("", 8),
    ],
)
def test_a_quota_limits_the_cores(limit, expected, groups):
    (groups / "cpu.max").write_text(limit + "\n")
    assert usable_cores.usable_cores() == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1", 8), ("250000", 3), (None, 8)])
def test_an_older_quota_limits_the_cores(quota, expected, groups):
    if quota is not None:
        (groups / "cpu").mkdir()
        (groups / "cpu" / "cpu.cfs_quota_us").write_text(quota + "\n")
        (groups / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cores.usable_cores() == expected


def test_systems_without_affinity_have_the_cores_of_the_machine(groups, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert usable_cores.usable_cores() == 6
