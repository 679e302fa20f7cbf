"""Components wrapped into exported FMUs, which offer event mode and clocks: a run of them gives the bits of a run of
the components themselves, event by event.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.fmu.read_description import read_description
from tests.engine.event_mode.systems import write_system
from tests.engine.event_mode.test_event_mode import BOUNCES, edited
from tests.exporting.fmus import exported
from tests.exporting.test_event_mode import BALLS, COUPLED, LOOP, PAIR, SYSTEMS

pytestmark = pytest.mark.one_in(3)


def wrapped(name, fmu, place, folder, **options):
    """An exported FMU of a system that is nothing but this component, with the same inputs, outputs and clocks."""
    description = read_description(fmu)
    variables = [one for one in description.variables.values() if one.causality in ("input", "output")]
    clocks = {one.name: dict(one.clock)["intervalVariability"] for one in variables if one.type == "Clock"}
    timed = {name for name, variability in clocks.items() if variability != "triggered"}
    connectors, wires = "", []
    for one in variables:
        kind = "output" if one.name in timed else one.causality
        extents = "".join(f'<ssc:Dimension size="{size}"/>' for size in one.shape)
        connectors += f'<ssd:Connector name="{one.name}" kind="{kind}"><ssc:{one.type}/>{extents}</ssd:Connector>'
        ends = (f".{one.name}", f"{name}.{one.name}")
        wires.append(ends if kind == "input" else ends[::-1])
    system = write_system(folder / f"{name}-inside", fmu.parent, {name: fmu.stem}, wires, connectors=connectors)
    made = exported(system, folder, fmi=3, **options)
    place.mkdir(exist_ok=True)
    return made.rename(place / f"{name}.fmu")


def nested(components, connections, which, values, models, tmp_path, **options):
    """The system with some components wrapped, with parameters inside, and the start values of the others."""
    own = {name: value for name, value in values.items() if name.split(".")[0] not in which}
    place, found = tmp_path / "fmus", {}
    for name, fmu in components.items():
        path = models.parent / f"{fmu}.fmu"
        if name in which:
            inside = {key: value for key, value in values.items() if key.split(".")[0] == name}
            wrapped(name, path, place, tmp_path, start_values=inside, **options)
            found[name] = name
            continue
        copy = place / f"{Path(fmu).parent.name}-{path.name}"
        place.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
        found[name] = copy.stem
    return write_system(tmp_path / "nested", place, found, connections), own


def assert_same_runs(components, connections, which, values, models, tmp_path, **options):
    flat = write_system(tmp_path / "flat", models.parent, components, connections)
    direct = ssptool.simulate(flat, start_values=values, **options).unwrap()
    inside = {name: options[name] for name in ("step_size", "stop_time")}
    folder, own = nested(components, connections, which, values, models, tmp_path, **inside)
    through = ssptool.simulate(folder, start_values=own, **options).unwrap()
    np.testing.assert_array_equal(through.t, direct.t)
    assert set(direct.signals) == set(through.signals)
    for signal in map(str, direct.signals):
        np.testing.assert_array_equal(through[signal], direct[signal], err_msg=signal)
    return direct


FILLED = {"tank": {"Plant.v": "3", "Plant.m": "1"}}
"""Start values with which something happens."""

CASES = [
    (name, which)
    for name, (components, _, _) in SYSTEMS.items()
    for chosen in [[one for one, fmu in components.items() if fmu.startswith("fmi3") and "Mass" not in fmu]]
    for count in (1, len(chosen))
    for which in itertools.combinations(chosen, count)
]


@pytest.mark.parametrize("step", [0.1, 0.25])
@pytest.mark.parametrize(
    ("name", "which"), sorted(set(CASES)), ids=lambda one: one if one in SYSTEMS else "+".join(one)
)
def test_wrapped_components_give_the_bits_of_components(name, which, step, models, tmp_path):
    components, connections, values = SYSTEMS[name]
    values = values or FILLED.get(name, {})
    run = assert_same_runs(
        components, connections, which, values, models, tmp_path, step_size=step, stop_time=2.0, approximation="hold"
    )
    assert np.any(np.diff(run.t) == 0)  # there are events


@pytest.mark.parametrize("which", [["Ball"], ["Second", "Controller"], ["Ball", "Second", "Controller"]])
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_with_every_master(master, which, models, tmp_path):
    """Two balls, of which one bounces inside the other's steps, a sampled controller and a coupled pair."""
    values = {"Second.e": "0.6", "Plant.m": "1"}
    wires = [*LOOP, *COUPLED]
    options = {"step_size": 0.01, "stop_time": 1.0, "master": master, "approximation": "hold"}
    run = assert_same_runs({**BALLS, **PAIR}, wires, which, values, models, tmp_path, **options)
    assert len(run.t) >= 101 + 11 + 2


COUNTERS = """
<ssd:Connector name="tick" kind="input"><ssc:Clock/></ssd:Connector>
<ssd:Connector name="count" kind="output"><ssc:Int32/></ssd:Connector>
<ssd:Connector name="carry" kind="output"><ssc:Clock/></ssd:Connector>
"""


@pytest.mark.parametrize("late", ["0", "1"])
def test_clocks_that_pass_through_a_system_inside(late, models, tmp_path):
    """A ball ticks a chain of two counters inside, which ticks a third one, at the same instant or in the iterations
    that follow.
    """
    options = {"step_size": 0.1, "stop_time": 2.0}
    parts = {"A": "fmi3/Counter", "B": "fmi3/Counter"}
    chain = [("A.carry", "B.tick"), ("A.count", "B.add")]
    values = {"A.late": late, "B.late": late}
    own = [(".tick", "A.tick"), ("B.count", ".count"), ("B.carry", ".carry")]
    inside = write_system(tmp_path / "inside", models.parent, parts, [*chain, *own], connectors=COUNTERS)
    place = tmp_path / "fmus"
    place.mkdir()
    exported(inside, tmp_path, fmi=3, start_values=values, **options).rename(place / "Chain.fmu")
    for name in ("Ball", "Counter"):
        (place / f"{name}.fmu").write_bytes((models.parent / "fmi3" / f"{name}.fmu").read_bytes())
    outer = {"Ball": "Ball", "N": "Chain", "C": "Counter"}
    wires = [("Ball.bounce", "N.tick"), ("N.carry", "C.tick"), ("N.count", "C.add")]
    through = ssptool.simulate(write_system(tmp_path / "nested", place, outer, wires), **options).unwrap()
    flat = {"Ball": "fmi3/Ball", **parts, "C": "fmi3/Counter"}
    wires = [("Ball.bounce", "A.tick"), *chain, ("B.carry", "C.tick"), ("B.count", "C.add")]
    direct = ssptool.simulate(
        write_system(tmp_path / "flat", models.parent, flat, wires), start_values=values, **options
    ).unwrap()
    np.testing.assert_array_equal(through.t, direct.t)
    for name, own_name in {"Ball.v": "Ball.v", "N.count": "B.count", "C.count": "C.count"}.items():
        np.testing.assert_array_equal(through[name], direct[own_name], err_msg=name)
    assert direct["C.count"][-1] == 20  # after 1, 4 and 10


def test_a_system_with_two_sources_of_events_inside(models, tmp_path):
    """A ball and a sampled loop inside, and another ball that bounces at other times outside."""
    options = {"step_size": 0.1, "stop_time": 1.5}
    parts = {"Ball": "fmi3/Ball", "Plant": "fmi2/Mass", "Controller": "fmi3/SampledController"}
    inside = write_system(tmp_path / "inside", models.parent, parts, LOOP)
    place = tmp_path / "fmus"
    place.mkdir()
    exported(inside, tmp_path, fmi=3, start_values={"Plant.m": "1"}, **options).rename(place / "Inside.fmu")
    (place / "Ball.fmu").write_bytes((models.parent / "fmi3" / "Ball.fmu").read_bytes())
    nested = write_system(tmp_path / "nested", place, {"N": "Inside", "Second": "Ball"})
    values = {"Second.e": "0.6"}
    through = ssptool.simulate(nested, start_values=values, **options).unwrap()
    flat = write_system(tmp_path / "flat", models.parent, {**parts, "Second": "fmi3/Ball"}, LOOP)
    direct = ssptool.simulate(flat, start_values={**values, "Plant.m": "1"}, **options).unwrap()
    np.testing.assert_array_equal(through.t, direct.t)
    for name in ("Ball.h", "Ball.v", "Plant.z", "Plant.v", "Controller.u"):
        np.testing.assert_array_equal(through[f"N.{name}"], direct[name], err_msg=name)
    np.testing.assert_array_equal(through["Second.v"], direct["Second.v"])


def test_where_not_all_can_go_back_a_wrapped_component_leads(models, tmp_path):
    """Of ball and counter nobody leads: bounces wait for the end of a step. The exported ball says that it may return
    early.
    """
    components = {"Ball": "fmi3/Ball", "Counter": "fmi3/Counter", "Plant": "fmi2/Mass"}
    wires = [("Ball.bounce", "Counter.tick")]
    options = {"step_size": 0.25, "stop_time": 2.0}
    flat = edited(
        write_system(tmp_path / "flat", models.parent, components, wires), "Mass", canGetAndSetFMUstate="false"
    )
    direct = ssptool.simulate(flat, **options).unwrap()
    folder, _ = nested(components, wires, ["Ball"], {}, models, tmp_path, **options)
    through = ssptool.simulate(edited(folder, "Mass", canGetAndSetFMUstate="false"), **options).unwrap()
    assert set(direct.t) <= set(0.25 * np.arange(9))
    assert through.t[np.flatnonzero(np.diff(through.t) == 0)] == pytest.approx(BOUNCES, abs=1e-12)
    at = np.isin(through.t, direct.t)
    np.testing.assert_allclose(through["Ball.h"][at][-1], direct["Ball.h"][-1], atol=1e-12)
    assert through["Counter.count"][-1] == direct["Counter.count"][-1] == 4
