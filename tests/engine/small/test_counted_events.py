"""A component is asked for new discrete states once per event, unless it or its inputs ask for more."""

import pytest

import ssptool
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu

COUNTER = (Var("count", "output", "Int32", start=0, initial="exact", needs=[]),)
EVERY_QUARTER = "v->count++; e->has_next = true; e->next = (floor(v->time * 4 + 1e-9) + 1) / 4; return OK;"
SETTINGS = ssptool.Settings(stop_time=1.0, step_size=0.1)


@pytest.mark.parametrize(("version", "interface"), [(2, "me"), (3, "me"), (3, "cs")])
def test_who_counts_its_events_counts_each_once(tmp_path, version, interface):
    """At t = 0, 1/4, …, 1 s. That its own output changes is not a reason to ask it again."""
    offered = {"me": None, "cs": None, interface: 'hasEventMode="true"' if interface == "cs" else ""}
    make_fmu(tmp_path / "Counter.fmu", COUNTER, version=version, event=EVERY_QUARTER, **offered)
    system = write_system(tmp_path / "system", tmp_path, {"A": "Counter", "B": "Counter"})
    trace = ssptool.simulate(system, settings=SETTINGS).trace
    after = dict(zip(trace.t.tolist(), trace["A.count"].tolist(), strict=True))  # the last row of each time
    assert after == {t: 1 + int(4 * t + 1e-9) for t in after}
    assert {0.25, 0.5, 0.75} <= set(after) and trace["B.count"][-1] == 5
