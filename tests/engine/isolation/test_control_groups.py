"""Limits of the kernel for processes in a sandbox, where control groups are delegated to this user (cgroup v2)."""

import sys
from pathlib import Path

import pytest

import ssptool
from ssptool import sandbox
from ssptool.engine.failure import Ending
from ssptool.engine.isolation import memory
from ssptool.engine.isolation.memory import delegated_group
from tests.engine.systems import write_system
from tests.fmus import build as fmus

if sys.platform != "linux":
    pytest.skip("control groups", allow_module_level=True)

delegated = pytest.mark.skipif(delegated_group() is None, reason="no control group is delegated to this process")
BOXED = True if not sandbox.missing() else "best"


def group(folder: Path, controllers: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.subtree_control").write_text(controllers, encoding="ascii")
    (folder / "cgroup.procs").write_text("", encoding="ascii")
    return folder


def test_groups_are_made_in_the_group_around_or_the_own_one_and_nowhere_else(tmp_path):
    mount = group(tmp_path, "cpu")
    around = group(mount / "user" / "app", "cpu memory pids")
    own = group(around / "shell.scope", "")
    assert memory._delegated(mount, "user/app/shell.scope") == around
    group(own, "memory pids")
    assert memory._delegated(mount, "user/app/shell.scope") == own
    assert memory._delegated(mount, "user/app") == around
    group(around, "cpu pids")
    group(own, "memory")
    assert memory._delegated(mount, "user/app/shell.scope") is None
    assert memory._delegated(mount, "elsewhere/scope") is None


@pytest.fixture
def system(tmp_path):
    write_system(
        tmp_path / "s", fmus.build() / "fmi2", {"Good": "Misbehaving", "Bad": "Misbehaving"}, [("Good.y", "Bad.u")]
    )
    return tmp_path / "s"


def left():
    return [one.name for one in delegated_group().glob("ssptool-*")]


@delegated
@pytest.mark.parametrize("what", [fmus.EAT_MEMORY, fmus.NOTHING])
def test_the_kernel_ends_a_run_whose_memory_is_too_large(system, monkeypatch, what):
    from ssptool.engine.isolation import parent

    monkeypatch.setattr(parent, "used_memory", lambda *_: 0)  # which looks often, and may be faster
    start = {"Bad.what": float(what), "Bad.when": 0.5}
    result = ssptool.simulate(system, sandbox=BOXED, memory_limit=400, start_values=start)
    if what == fmus.NOTHING:
        assert result.ok
    else:
        assert result.failure.ending is Ending.MEMORY and "400 MiB" in str(result.failure), result.failure
        assert 0.4 < result.trace.times[-1] < 0.6
    assert not left()


@delegated
def test_the_kernel_ends_a_run_of_a_study_whose_memory_is_too_large(system, monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    from ssptool.studies import worker

    monkeypatch.setattr(worker, "used_memory", lambda *_: 0)
    study = {
        "system": str(system),
        "settings": {"step_size": 0.01},
        "start_values": {"Bad.when": 0.5},
        "factors": {"Bad.what": [float(fmus.NOTHING), float(fmus.EAT_MEMORY)]},
        "results": {"y": 'final("Good.y")'},
        "effort": {"memory": 400},
    }
    done = ssptool.study(study, tmp_path / "results", sandbox=BOXED, workers=1)
    rows = list(done.rows())
    assert done.status.completed == 1 and any("400 MiB" in str(row) for row in rows), rows
    assert not left()


@delegated
def test_processes_in_a_group_are_limited_and_groups_of_killed_commands_are_removed(system):
    dead = delegated_group() / "ssptool-999999999-1"
    dead.mkdir()
    start = {"Bad.what": float(fmus.LEAVE_BEHIND), "Bad.when": 0.5}
    assert ssptool.simulate(system, sandbox=BOXED, start_values=start).ok
    assert not left()
