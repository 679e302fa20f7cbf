"""Components of model exchange that crash, hang or compute nonsense: whose call it was, and what is left of the run."""

import re

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.settings import Limits
from ssptool.engine.watch import NATIVE
from tests.engine.dual_mass import FMI2, MIXED, Folder, network, oscillator
from tests.engine.ode.systems import beside
from tests.engine.running import run
from tests.fmus import build as fmus

pytestmark = pytest.mark.skipif(not NATIVE, reason="the stand-ins are not built")
KINDS = pytest.mark.parametrize("exchange", (("Good", "Bad"), ("Bad",)), ids=("alone", "beside"))
VERSIONS = pytest.mark.parametrize("version", (2, 3))


@pytest.fixture(scope="session")
def folder():
    return fmus.build()


@pytest.fixture
def misbehave(folder):
    """Run Good → Bad, of which Bad misbehaves from t = 0.455 on; `exchange` are run as model exchange."""

    def simulate(what, exchange, *, version=2, **options):
        source = f"fmi{version}/Misbehaving.fmu"
        values = {"Bad.what": what, "Bad.when": 0.455}
        net = network({"Good": source, "Bad": source}, [("Good.y", "Bad.u")], values, folder=folder)
        plan = make_plan(beside(net, *exchange), Settings(stop_time=1.0, step_size=0.01))
        return run(plan, Folder(folder), isolated=True, **options)

    return simulate


def check_rows(result, exchange):
    """What was recorded before is right. An integrator looks ahead: alone it need not stop where rows are wanted."""
    assert result.rows == 46 or (len(exchange) == 2 and 30 <= result.rows <= 46)
    assert result.trace["Good.y"] == pytest.approx(1 - np.exp(-result.trace.t), abs=1e-5)
    assert np.isfinite(result.trace.y).all()


@KINDS
@VERSIONS
@pytest.mark.parametrize(
    ("what", "ending"),
    (
        (fmus.WRITE_TO_NULL, Ending.CRASHED),
        (fmus.ABORT, Ending.CRASHED),
        (fmus.OVERFLOW_STACK, Ending.CRASHED),
        (fmus.EXIT_WITH_3, Ending.EXITED),
    ),
)
def test_what_ends_the_process_is_told_with_the_call(misbehave, exchange, version, what, ending):
    result = misbehave(what, exchange, version=version)
    assert result.status is ending
    assert result.failure.component == "Bad"
    assert re.fullmatch(rf"fmi{version}(Get\w*Derivatives|GetReal|GetFloat64)", result.failure.function)
    assert result.failure.time == pytest.approx(0.45, abs=0.16)
    check_rows(result, exchange)


@KINDS
@VERSIONS
def test_a_call_that_never_returns_ends_with_the_step_limit(misbehave, exchange, version):
    result = misbehave(fmus.HANG, exchange, version=version, limits=Limits(step_seconds=1.0))
    assert result.status is Ending.TIMEOUT
    assert (result.failure.component, result.failure.function[:4]) == ("Bad", f"fmi{version}")
    check_rows(result, exchange)


@KINDS
def test_memory_that_grows_beyond_its_limit_ends_the_run(misbehave, exchange):
    result = misbehave(fmus.EAT_MEMORY, exchange, limits=Limits(memory=400 << 20))
    assert (result.status, result.failure.component) == (Ending.MEMORY, "Bad")


@KINDS
@VERSIONS
def test_derivatives_that_are_no_numbers_are_named(misbehave, exchange, version):
    result = misbehave(fmus.NAN_INSIDE, exchange, version=version)
    assert result.status is Ending.NONFINITE
    assert "Bad: der(x) is nan" in result.failure.message
    function = "fmi2GetDerivatives" if version == 2 else "fmi3GetContinuousStateDerivatives"
    assert (result.failure.component, result.failure.function) == ("Bad", function)
    assert result.failure.time == pytest.approx(0.455, abs=0.01)
    check_rows(result, exchange)


@KINDS
def test_outputs_that_are_no_numbers_are_named(misbehave, exchange):
    result = misbehave(fmus.NOT_A_NUMBER, exchange)
    assert result.status is Ending.NONFINITE
    assert "Bad.y is nan" in result.failure.message
    trace = result.trace
    assert trace.t[-1] == result.failure.time == pytest.approx(0.46, abs=1e-12)
    assert np.isnan(trace["Bad.y"][-1]) and np.isfinite(trace["Bad.y"][:-1]).all()
    assert trace["Good.y"][:-1] == pytest.approx(1 - np.exp(-trace.t[:-1]), abs=1e-5)


@pytest.mark.parametrize("exchange", (("System1", "System2"), ("System1",)), ids=("alone", "beside"))
@pytest.mark.parametrize("isolated", (False, True))
def test_calls_of_the_integrator_are_counted_and_timed(exchange, isolated):
    """Each evaluation of f asks each component of the ODE for its derivatives once, Jacobians and all."""
    net = beside(oscillator(MIXED), *exchange)
    plan = make_plan(net, Settings(stop_time=0.5, step_size=0.01, master="jacobi" if len(exchange) == 1 else "auto"))
    result = run(plan, Folder(), isolated=isolated, measured=True)
    calls = {(one.component, one.function): one for one in result.statistics.calls}
    asked = calls["System1", "fmi2GetDerivatives"]
    assert asked.calls == result.statistics.evaluations
    assert asked.seconds > 0
    for function in ("fmi2SetTime", "fmi2SetContinuousStates"):
        assert calls["System1", function].calls >= asked.calls
    assert calls["System1", "fmi2EnterContinuousTimeMode"].calls == 1
    assert ("System1", "fmi2DoStep") not in calls
    steps = {function for component, function in calls if component == "System2" and "DoStep" in function}
    assert steps == (set() if len(exchange) == 2 else {"fmi3DoStep"})


def test_who_is_watched_does_the_same():
    for exchange in (("System1", "System2"), ("System1",)):
        plan = make_plan(beside(oscillator(FMI2), *exchange), Settings(stop_time=0.5, step_size=0.01))
        assert np.array_equal(run(plan, Folder()).unwrap().y, run(plan, Folder(), measured=True).unwrap().y)
