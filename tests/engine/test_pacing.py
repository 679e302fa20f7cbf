"""Pace with the clock, and counts of calls, of whole runs."""

import pytest
from pytest import approx

from ssptool import Settings
from ssptool.engine.run import execution
from ssptool.engine.run.execution import Pace
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.watch import NATIVE
from tests.engine.dual_mass import Folder, oscillator
from tests.engine.running import run


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when somebody sleeps, or is made to."""

    class Clock:
        now = 100.0

        def sleep(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(execution, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(execution, "sleep", clock.sleep)
    return clock


def plan(**settings):
    return make_plan(oscillator(), Settings(**{"stop_time": 1.0, "step_size": 0.01, **settings}))


@pytest.mark.parametrize("factor", [0.5, 1.0, 10.0])
def test_a_run_takes_its_time_divided_by_the_factor(clock, factor):
    result = run(plan(), Folder(), realtime=factor)
    assert clock.now - 100 == approx(1.0 / factor)
    assert result.statistics.latest == 0
    assert result.rows == 101


def test_points_come_when_they_are_due(clock):
    pace = Pace(2.0, start=5.0)
    for time in (5.5, 6.0, 8.0):
        pace.keep(time)
        assert clock.now == approx(100 + (time - 5) / 2)


def test_who_is_late_does_not_wait_and_is_told_how_late(clock):
    pace = Pace(1.0, start=0.0)
    clock.now += 0.3
    pace.keep(0.1)
    assert pace.latest == approx(0.2)
    pace.keep(0.5)
    assert clock.now == approx(100.5)
    assert pace.latest == approx(0.2)


@pytest.mark.parametrize(("factor", "step", "chunk"), [(1.0, 0.1, 1), (1.0, 0.001, 10), (100.0, 0.001, 1000)])
def test_short_steps_are_done_several_at_once(factor, step, chunk):
    assert Pace(factor, 0.0).chunk(step) == chunk


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan")])
def test_a_pace_is_greater_than_0(factor):
    with pytest.raises(ValueError, match="greater than 0"):
        run(plan(), Folder(), realtime=factor)


@pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")
@pytest.mark.parametrize("isolated", [False, True])
def test_calls_are_measured_on_request_wherever_they_are_made(isolated):
    result = run(plan(master="jacobi"), Folder(), isolated=isolated, measured=True)
    calls = {(one.component, one.function): one.calls for one in result.statistics.calls}
    assert calls["System1", "fmi2DoStep"] == calls["System2", "fmi2DoStep"] == 100
    assert calls["System1", "fmi2Instantiate"] == 1
    assert run(plan(), Folder(), isolated=isolated).statistics.calls == ()
