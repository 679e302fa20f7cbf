"""Clocks of whose intervals the FMU says that they change, or that they do not."""

import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

COUNT = (Var("n", "output", "Int32", start=0, initial="exact", needs=[]), Var("y", "output", needs=[]))
OFFER = {"me": "", "cs": 'hasEventMode="true" canReturnEarlyAfterIntermediateUpdate="true"'}
TRIANGULAR = [0.1, 0.3, 0.6, 1.0, 1.5]
CHANGED, UNCHANGED = "return 2;", "return 1;"


@pytest.mark.parametrize("interface", ["me", "cs"])
@pytest.mark.parametrize(
    ("variability", "said", "expected"),
    [
        ("changing", f"*x = 0.4; if (v->n) {UNCHANGED} {CHANGED}", [0.4, 0.8, 1.2, 1.6]),
        ("changing", f"*x = 0.1 * (v->n + 1); if (v->n == 3) {UNCHANGED} {CHANGED}", [0.1, 0.3, 0.6, 0.9, 1.4]),
        ("countdown", f"*x = 0.1 * (v->n + 1); if (v->told > v->n) {UNCHANGED} v->told++; {CHANGED}", TRIANGULAR),
    ],
)
def test_an_interval_holds_until_the_fmu_says_another(tmp_path, interface, variability, said, expected):
    """That of a countdown clock for one tick only."""
    clock = Var("c", "input", "Clock", attributes=f'intervalVariability="{variability}"')
    make_fmu(
        tmp_path / "Ticking.fmu",
        [clock, *COUNT],
        version=3,
        **{"me": None, "cs": None, interface: OFFER[interface]},
        own="int told;",
        calc="v->y = v->time;",
        step="v->time = t + h; return OK;",
        event="v->n += v->c; return OK;",
        interval=said,
    )
    system = write_system(tmp_path / "system", tmp_path, {"A": "Ticking"})
    result = ssptool.simulate(system, settings=ssptool.Settings(stop_time=1.75, step_size=0.25))
    assert result.status == "completed", result.failure
    assert result.trace.t[result.trace["A.c"]] == pytest.approx(expected, abs=1e-12)
