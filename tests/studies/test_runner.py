"""A run that takes its process along costs that run; and processes are started when there are runs for them."""

import pytest

from ssptool.engine.watch import NATIVE
from ssptool.studies import worker
from ssptool.studies.bundle import pack, unpack
from ssptool.studies.checking import check_study
from ssptool.studies.definition import RunStatus, Task
from ssptool.studies.run import open_evaluations
from ssptool.studies.worker import Bounds, Runner
from tests.fmus import build as fmus

stand_ins = pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")


@pytest.fixture
def outcomes(misbehaving, tmp_path):
    """Of runs that do `what`, by number, in the same process as long as that lives."""

    def run(what, bounds):
        checked = check_study(misbehaving(what))
        bundle = pack(checked.study, checked.points, checked.signals)
        study, signals = unpack(bundle.content, tmp_path / "unpacked")
        points = checked.points
        with Runner(study, signals, bounds) as runner:
            return list(runner.run([Task(points.ids[k], k, points.at(k)) for k in range(len(points))]))

    return run


@stand_ins
def test_crashes_and_exits_cost_their_own_run_and_say_whose_call_it_was(outcomes):
    what = [fmus.NOTHING, fmus.WRITE_TO_NULL, fmus.EXIT_WITH_3, fmus.NOT_A_NUMBER]
    good, crashed, ended, nan = outcomes(what, Bounds(60.0))
    assert good.status is RunStatus.COMPLETED and good.results["y"] > 0
    assert crashed.status is ended.status is nan.status is RunStatus.FAILED
    assert "SIGSEGV" in crashed.message and "fmi2DoStep of component Bad" in crashed.message
    assert "exit status 3" in ended.message
    assert crashed.attempts == ended.attempts == 2 and nan.attempts == good.attempts == 1


def test_a_run_that_hangs_is_stopped_and_the_next_one_runs(outcomes):
    hung, good = outcomes([fmus.HANG, fmus.NOTHING], Bounds(3.0, retries=0))
    assert hung.status is RunStatus.FAILED and "time limit of 3 s" in hung.message
    assert good.status is RunStatus.COMPLETED


def test_a_run_that_eats_memory_is_stopped(outcomes):
    eater, good = outcomes([fmus.EAT_MEMORY, fmus.NOTHING], Bounds(60.0, memory=400 << 20, retries=0))
    assert eater.status is RunStatus.FAILED and "MiB of memory" in eater.message
    assert good.status is RunStatus.COMPLETED


@pytest.mark.parametrize(("abreast", "processes"), [(1, 1), (2, 2), (5, 3)])
def test_no_more_processes_start_than_have_runs_at_a_time(misbehaving, monkeypatch, abreast, processes):
    """The first run has its own process, in which the others run too."""
    started = []
    start = worker.start_interpreter
    monkeypatch.setattr(worker, "start_interpreter", lambda *a, **k: started.append(a) or start(*a, **k))
    checked = check_study(misbehaving([fmus.NOTHING]))
    point = checked.points.at(0)
    with open_evaluations(checked.study, checked.signals, Task("", 0, point), workers=3, scheduler=None) as evaluate:
        for _ in range(3):
            found = evaluate([point] * abreast)
            assert [(one.status, one.results["y"] > 0) for one in found] == [(RunStatus.COMPLETED, True)] * abreast
    assert len(started) <= processes
