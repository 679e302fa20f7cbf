"""How event mode goes together with everything else, and what is refused."""

import re
import shutil
import zipfile

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.exceptions import InvalidSystem
from tests.engine.event_mode.systems import before_and_after, column, simulate

LOOP = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]
SAMPLED = {"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController", "Ball": "fmi3/Ball"}


def edited(system, fmu, **replaced):
    """The FMU of a system folder with other text in its model description."""
    path = next((system / "resources").glob(f"*{fmu}.fmu"))
    copy = path.with_suffix(".tmp")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "modelDescription.xml":
                for attribute, value in replaced.items():
                    content = re.sub(rf'\b{attribute}="[^"]*"'.encode(), f'{attribute}="{value}"'.encode(), content)
            new.writestr(name, content)
    shutil.move(copy, path)
    return system


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("how", ["hold", "auto"])
def test_every_master_ends_its_steps_at_events(system, master, how):
    """What is held between ticks makes all of them exact."""
    folder = system(SAMPLED, LOOP)
    reference = simulate(folder, 1.0, 0.1, {"Plant.m": "1"}).unwrap()
    trace = simulate(folder, 1.0, 0.05, {"Plant.m": "1"}, master=master, approximation=how).unwrap()
    # Times of bounces depend on the steps between them, up to rounding.
    assert np.abs(reference.t[:, None] - trace.t).min(axis=1).max() < 1e-14
    assert column(trace, "Plant.z")[-1] == approx(column(reference, "Plant.z")[-1], abs=1e-9)
    assert before_and_after(trace, "Ball.v")[2] == approx(before_and_after(reference, "Ball.v")[2], rel=1e-12)


def test_an_iterated_group_goes_back_to_an_event(system):
    """A mass and a spring iterate while a ball bounces: the same oscillation as without it, and rows at bounces."""
    pair = {"Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper"}
    wires = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]
    trace = simulate(system({**pair, "Ball": "fmi3/Ball"}, wires), 1.0, 0.001, master="iterated").unwrap()
    other = simulate(system(pair, wires, name="other"), 1.0, 0.001, master="iterated").unwrap()
    t = before_and_after(trace, "Ball.v")[0]
    assert len(t) == 1 and t[0] == approx(np.sqrt(2 / 9.81), abs=1e-12)
    # The errors of both are about 3e-6; one of a thousand steps is divided.
    assert column(trace, "Mass.z")[-1] == approx(column(other, "Mass.z")[-1], abs=1e-8)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_steps_that_a_kernel_does_at_once_are_those_that_are_asked_for_one_by_one(system, compared, master):
    """Two bouncing balls, of which one returns early inside the other's steps, a sampled controller and a coupled
    pair.
    """
    pair = {"Mass": "fmi2/Mass", "Spring": "fmi2/SpringDamper"}
    wires = [("Mass.z", "Spring.z"), ("Mass.v", "Spring.v"), ("Spring.F", "Mass.F")]
    given = '<ssv:Parameter name="Second.e"><ssv:Real value="0.6"/></ssv:Parameter>'
    folder = system({**SAMPLED, **pair, "Second": "fmi3/Ball"}, [*LOOP, *wires], given)
    trace = ssptool.simulate(folder, stop_time=1.0, step_size=0.01, master=master, isolated=False).unwrap()
    assert compared()
    assert len(before_and_after(trace, "Ball.v")[0]) >= 11


FALL = np.sqrt(2 / 9.81)
BOUNCES = FALL * (1 + 2 * np.array([0.0, 0.7, 0.7 + 0.7**2, 0.7 + 0.7**2 + 0.7**3]))
ON_PLANT = [("Ball.v", "Plant.F")]


@pytest.mark.parametrize("step", [0.25, 0.01], ids=str)
@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("wires", [ON_PLANT, []], ids=["coupled", "apart"])
def test_all_others_step_to_where_one_returns_early(system, compared, master, step, wires):
    """Nobody has to go back. The force on the mass is the ball's velocity, so that m v = h - 1. It is a line between
    bounces, which extrapolation continues exactly but in the first step and in those after each bounce: without a past
    they hold the force, and are off by g h² / (2 m) at most.
    """
    folder = edited(system({"Plant": "fmi2/Mass", "Ball": "fmi3/Ball"}, wires), "Mass", canGetAndSetFMUstate="false")
    result = simulate(folder, 2.0, step, {"Plant.m": "4"}, master=master, approximation="auto")
    assert compared()
    assert not any("at its end" in note for note in result.notes)
    trace = result.unwrap()
    assert before_and_after(trace, "Ball.bounces")[0] == approx(BOUNCES, abs=1e-12)
    fed = (column(trace, "Ball.h") - 1.0) / 4 if wires else 0.0 * trace.t
    assert np.ptp(column(trace, "Plant.v") - fed) <= 5 * 9.81 * step**2 / (2 * 4) + 1e-12


@pytest.mark.parametrize(
    "components, master", [({"Second": "fmi3/Ball"}, "jacobi"), ({}, "iterated")], ids=["two of them", "iterated"]
)
def test_where_not_all_can_go_back_and_nobody_leads_events_wait_for_the_end_of_the_step(system, components, master):
    folder = system({"Ball": "fmi3/Ball", "Plant": "fmi2/Mass", **components})
    folder = edited(folder, "Mass", canGetAndSetFMUstate="false")
    result = simulate(folder, 2.0, 0.25, master=master)
    assert any("events inside a macro step are handled at its end" in note and "Plant" in note for note in result.notes)
    trace = result.unwrap()
    t, _, _ = before_and_after(trace, "Ball.bounces")
    assert set(t) <= set(0.25 * np.arange(9)) and len(t) > 0
    assert column(trace, "Ball.bounces")[-1] == 4


def test_a_component_alone_needs_no_way_back(system):
    folder = edited(system({"Ball": "fmi3/Ball"}), "Ball", canGetAndSetFMUState="false")
    result = simulate(folder, 1.0, 0.25)
    assert result.notes == ()
    assert before_and_after(result.unwrap(), "Ball.v")[0] == approx([np.sqrt(2 / 9.81)], abs=1e-12)


def test_clocks_need_steps_of_any_size(system):
    folder = edited(system(SAMPLED, LOOP), "Mass", canHandleVariableCommunicationStepSize="false")
    with pytest.raises(UnsupportedByFmu, match="component Plant: event mode, for the clocks of Controller"):
        simulate(folder, 1.0, 0.1)


def test_discrete_variables_alone_do_without_event_mode_where_it_cannot_be(system):
    folder = system({"Ball": "fmi3/Ball"})
    path = folder / "SystemStructure.ssd"
    path.write_text(re.sub(r'<ssd:Connector name="bounce".*?</ssd:Connector>', "", path.read_text()))
    edited(folder, "Ball", canHandleVariableCommunicationStepSize="false")
    result = simulate(folder, 1.0, 0.25)
    assert (
        "events of Ball are handled inside their own steps, because Ball accepts steps of one size only" in result.notes
    )
    assert column(result.unwrap(), "Ball.bounces")[-1] == 1


def test_a_clock_without_event_mode_is_refused_by_name(system):
    folder = edited(system(SAMPLED, LOOP), "SampledController", hasEventMode="false")
    with pytest.raises(Unsupported, match=r"connector Controller\.y: it belongs to the clock sample"):
        simulate(folder, 1.0, 0.1)


def test_a_clock_that_ticks_by_itself_is_not_triggered(system):
    """It counts as an output, and no output leads to another."""
    components = {"Ball": "fmi3/Ball", "Controller": "fmi3/SampledController"}
    with pytest.raises(InvalidSystem, match="SSD-CONN-003"):
        simulate(system(components, [("Ball.bounce", "Controller.sample")]), 1.0, 0.1)


def test_two_clocks_that_tick_by_themselves_are_not_made_one(system):
    """To documents that is a warning (CLK-005), because what a tool does about it is up to it."""
    components = {"One": "fmi3/SampledController", "Other": "fmi3/SampledController"}
    with pytest.raises(Unsupported, match="a connection of two time-based clocks"):
        simulate(system(components, [("One.sample", "Other.sample")]), 1.0, 0.1)


def test_a_clock_with_an_interval_triggers_one_without(system):
    """Both are inputs of their FMUs; the one that ticks at known times is the source."""
    folder = system(
        {"Controller": "fmi3/SampledController", "Counter": "fmi3/Counter"}, [("Controller.sample", "Counter.tick")]
    )
    trace = simulate(folder, 1.0, 0.25).unwrap()
    assert column(trace, "Counter.count")[-1] == 11  # at 0, 0.1 … 1


def test_an_fmu_that_does_not_say_how_often_its_clock_ticks_ends_the_run(system):
    folder = system({"Alarm": "fmi3/Alarm"})
    edited(folder, "Alarm", intervalVariability="fixed")
    result = simulate(folder, 1.0, 0.25, {"Alarm.pause": "0"})
    assert result.failure is not None and result.failure.component == "Alarm"
    assert "the fixed clock alarm needs a positive interval, the FMU states 0 s" in result.failure.message


def test_a_fixed_clock_ticks_as_its_fmu_says(system):
    folder = edited(system({"Controller": "fmi3/SampledController"}), "SampledController", intervalVariability="fixed")
    path = next((folder / "resources").glob("*.fmu"))
    with zipfile.ZipFile(path) as archive:
        assert b'intervalVariability="fixed"' in archive.read("modelDescription.xml")
    trace = simulate(folder, 1.0, 0.25).unwrap()
    assert before_and_after(trace, "Controller.u")[0] == approx(0.1 * np.arange(1, 11), abs=1e-15)


def test_events_happen_in_a_child_process_too(system):
    folder = system(SAMPLED, LOOP)
    here, there = (simulate(folder, 1.0, 0.05, isolated=isolated).unwrap() for isolated in (False, True))
    assert np.array_equal(here.t, there.t) and np.array_equal(here.y, there.y)


def test_an_input_that_jumps_is_an_event(system):
    """A free mass under a force that jumps at 0.33 s, beside a ball that bounces at 0.4515 s."""
    folder = system({"Ball": "fmi3/Ball", "Plant": "fmi2/Mass"})
    force = {"Plant.F": ssptool.types.Table((0.0, 0.33, 0.33, 1.0), (0.0, 0.0, 2.0, 2.0))}
    trace = simulate(folder, 1.0, 0.25, {"Plant.m": "1", "Plant.v": "0"}, inputs=force).unwrap()
    t, before, after = before_and_after(trace, "Plant.F")
    assert t == approx([0.33, np.sqrt(2 / 9.81)], abs=1e-12)
    assert before.tolist() == [0, 2] and after.tolist() == [2, 2]
    assert column(trace, "Plant.z")[-1] == approx(0.0016 + 0.67**2, abs=1e-9)


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("step", [0.01, 0.25])
def test_an_input_runs_on_its_line_through_steps_that_events_cut(system, master, step):
    """A free mass of 1 kg under F = 6 t, and twice that from 0.6 s, beside a ball that bounces between steps."""
    folder = system({"Ball": "fmi3/Ball", "Plant": "fmi2/Mass"})
    force = {"Plant.F": ssptool.types.Table((0.0, 0.6, 0.6, 1.0), (0.0, 3.6, 7.2, 12.0))}
    trace = simulate(folder, 1.0, step, {"Plant.m": "1", "Plant.v": "0"}, inputs=force, master=master).unwrap()
    past = np.maximum(trace.t - 0.6, 0.0)
    assert column(trace, "Plant.v") == approx(3 * np.minimum(trace.t, 0.6) ** 2 + 7.2 * past + 6 * past**2, abs=1e-12)
    assert before_and_after(trace, "Plant.F")[0] == approx([np.sqrt(2 / 9.81), 0.6], abs=1e-12)


def test_a_simulation_goes_on_from_a_file_with_the_same_bits(system, tmp_path):
    folder = system(SAMPLED, LOOP)
    settings = ssptool.Settings(stop_time=1.0, step_size=0.05)
    with ssptool.Simulation(folder, settings=settings) as whole:
        whole.run_until(0.55)
        whole.save(tmp_path / "saved")
        whole.run_until(1.0)
        expected = whole.trace
    with ssptool.Simulation(folder, settings=settings, saved=tmp_path / "saved") as rest:
        rest.run_until(1.0)
        found = rest.trace
    count = len(found.t)
    assert np.array_equal(found.t, expected.t[-count:]) and np.array_equal(found.y, expected.y[-count:])


@pytest.mark.parametrize("how", ["list", "run_until"])
def test_a_simulation_goes_through_the_event_at_its_stop_time(system, tmp_path, how):
    """The controller ticks there; afterwards the simulation is finished, and so is one that was saved there."""
    folder, settings = system(SAMPLED, LOOP), ssptool.Settings(stop_time=1.0, step_size=0.05)
    with ssptool.Simulation(folder, settings=settings) as simulation:
        list(simulation) if how == "list" else simulation.run_until(1.0)
        assert simulation.finished
        simulation.save(tmp_path / "saved")
        found = simulation.trace
    expected = ssptool.simulate(folder, settings=settings).unwrap()
    assert found.t[-2:].tolist() == [1.0, 1.0]
    assert np.array_equal(found.t, expected.t) and np.array_equal(found.cells, expected.cells)
    with ssptool.Simulation(folder, settings=settings, saved=tmp_path / "saved") as rest:
        assert rest.finished and list(rest) == []


def test_what_is_set_at_a_clock_waits_for_its_tick(system):
    with ssptool.Simulation(
        system({"Controller": "fmi3/SampledController"}), settings=ssptool.Settings(stop_time=1.0, step_size=0.05)
    ) as simulation:
        simulation.run_until(0.25)
        simulation.set("Controller.y", 3.0)
        assert simulation.get("Controller.u") == 0.0
        simulation.run_until(0.35)
        assert simulation.get("Controller.u") == -6.0


@pytest.mark.parametrize(("master", "how"), [("gauss-seidel", "interpolate"), ("iterated", "interpolate")])
def test_inputs_that_move_inside_a_step_move_until_it_ends_early(system, master, how):
    """v = t fills a tank of size 1, which is then emptied: at √(2 n). Its FMU asks for the input inside of steps."""
    folder = system({"Plant": "fmi2/Mass", "Tank": "fmi3/Tank"}, [("Plant.v", "Tank.u")])
    values = {"Plant.m": "1", "Plant.F": "1"}
    trace = simulate(folder, 4.0, 0.5, values, master=master, approximation=how).unwrap()
    t, before, after = before_and_after(trace, "Tank.x")
    assert t == approx(np.sqrt(2 * np.arange(1, 9)), abs=1e-9)
    assert before == approx(np.ones(8), abs=1e-9) and after == approx(np.zeros(8), abs=1e-9)


def test_model_exchange_beside_event_mode_goes_through_the_events_of_both(system):
    """A ball that is integrated, with bounces of its own, beside a sampled loop and a ball of co-simulation."""
    loop = system({**SAMPLED, "Other": "fmi2/BouncingBall"}, LOOP)
    expected = simulate(system(SAMPLED, LOOP, name="alone"), 1.0, 0.05, {"Plant.m": "1"}).unwrap()
    trace = simulate(loop, 1.0, 0.05, {"Plant.m": "1", "Other.h": "0.5", "Other.e": "0.6"}).unwrap()
    assert column(trace, "Plant.z")[-1] == approx(column(expected, "Plant.z")[-1], abs=1e-12)
    t, before, after = before_and_after(trace, "Other.v")
    bounced = t[after - before > 1]
    first = np.sqrt(2 * 0.5 / 9.81)
    assert bounced == approx(first * np.array([1, 2.2, 2.92]), abs=1e-6)  # the integrator's tolerance
