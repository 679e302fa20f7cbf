"""Notes of the calls to FMUs: complete, and without influence on what is called."""

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.kernel.calls import ACCESS, FUNCTIONS, functions_for
from ssptool.engine.run.execution import Job, execute
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.run.recorder import Recorder
from ssptool.engine.watch import NATIVE, STAND_INS, Watch
from tests.engine.dual_mass import FMI1, FMI2, FMI3, Folder, oscillator

pytestmark = pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")


def watched(sources, *, measured=True, **settings):
    plan = make_plan(oscillator(sources), Settings(stop_time=0.5, step_size=0.01, **settings))
    watch = Watch.private([instance.name for instance in plan.instances], measured=measured)
    recorder = Recorder(plan, None, keep=True)
    execution = execute(Job(plan, Folder()), recorder, watch)
    assert execution.failure is None
    return watch, recorder.trace


def test_every_function_that_a_kernel_may_call_has_a_stand_in():
    typed = {name for major, kinds in ACCESS.items() for name in functions_for(major, kinds)}
    assert {name for names in FUNCTIONS.values() for name in names} | typed <= set(STAND_INS)


@pytest.mark.parametrize("measured", [True, False])
@pytest.mark.parametrize("sources", [FMI1, FMI2, FMI3])
def test_who_is_watched_does_the_same(sources, measured):
    plan = make_plan(oscillator(sources), Settings(stop_time=0.5, step_size=0.01))
    unseen = Recorder(plan, None, keep=True)
    execute(Job(plan, Folder()), unseen)
    watch, trace = watched(sources, measured=measured)
    assert np.array_equal(trace.y, unseen.trace.y)
    assert watch.in_flight() == ()


@pytest.mark.parametrize(("sources", "step"), [(FMI1, "fmiDoStep"), (FMI2, "fmi2DoStep"), (FMI3, "fmi3DoStep")])
def test_calls_are_counted_one_by_one(sources, step):
    """Jacobi without iterations: 50 macro steps are 50 calls of doStep for each component."""
    watch, _ = watched(sources, master="jacobi", approximation="hold")
    calls = {(one.component, one.function): one for one in watch.calls()}
    assert calls["System1", step].calls == calls["System2", step].calls == 50
    assert calls["System1", step].seconds > 0


def test_calls_from_python_are_counted_too():
    watch, _ = watched(FMI2)
    calls = {(one.component, one.function): one.calls for one in watch.calls()}
    for function in ("fmi2Instantiate", "fmi2EnterInitializationMode", "fmi2Terminate", "fmi2FreeInstance"):
        assert calls["System2", function] == 1


def test_a_call_is_in_flight_while_it_runs():
    watch = Watch.private(["A", "B"])
    with watch.during(1, "fmi2Instantiate"):
        assert watch.in_flight() == (("B", "fmi2Instantiate"),)
        with watch.during(0, "fmi2GetReal"):
            assert watch.in_flight() == (("A", "fmi2GetReal"), ("B", "fmi2Instantiate"))
    assert watch.in_flight() == ()


def test_a_function_of_unknown_shape_has_no_stand_in():
    functions, _ = Watch.private(["A"]).stand_ins(0, {"fmi2DoStep": 1, "fmi2NewInSomeYear": 2}, 3)
    assert set(functions) == {"fmi2DoStep"}


def test_two_instances_of_one_fmu_share_its_functions_and_no_cache_line():
    watch, functions = Watch.private(["A", "B", "C"], measured=True), {"fmi2DoStep": 1}
    (one, first), (other, third) = watch.stand_ins(0, functions, 3), watch.stand_ins(2, functions, 3)
    assert one == other and third - first == 2 * 64
