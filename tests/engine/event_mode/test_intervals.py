"""Intervals of clocks that the system states, or that change; and ticks in the trace."""

from fractions import Fraction

import numpy as np
import pytest
from pytest import approx
from typer.testing import CliRunner

import ssptool
from ssptool.cli.app import app
from ssptool.engine.failure import Unsupported
from ssptool.errors import WrongValue
from tests.engine.event_mode.systems import column, simulate

ALONE = {"M": "fmi3/Metronome"}


def stating(folder, clock, attributes):
    """The system with these attributes of a connector of type Clock."""
    path = folder / "SystemStructure.ssd"
    text = path.read_text(encoding="utf-8")
    start = f'<ssd:Connector name="{clock}" kind="input"><ssc:Clock'
    assert start in text
    path.write_text(text.replace(start, f"{start} {attributes}"), encoding="utf-8")
    return folder


def ticks(trace, name):
    """When a clock has ticked."""
    return trace.t[trace[name]]


def test_a_clock_ticks_as_the_system_says_and_its_fmu_is_told(system):
    """The FMU states 0.25 s; the system chooses 0.2 s, and 0.1 s before the first tick."""
    folder = stating(system(ALONE), "bar", 'intervalVariability="fixed" intervalDecimal="0.2" shiftDecimal="0.1"')
    trace = simulate(folder, 1.0, 0.5).unwrap()
    assert ticks(trace, "M.bar") == approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=1e-15)
    assert (column(trace, "M.bar_told")[-1], column(trace, "M.bar_shift")[-1]) == (0.2, 0.1)
    assert column(trace, "M.bars")[-1] == 5


def test_an_interval_is_told_as_a_fraction_where_the_fmu_takes_it(system):
    """A third of a second is none in decimals."""
    folder = stating(system(ALONE), "line", 'resolution="3" intervalCounter="1" shiftCounter="0"')
    trace = simulate(folder, 3.0, 0.5).unwrap()
    assert ticks(trace, "M.line").tolist() == [float(Fraction(n, 3)) for n in range(10)]
    assert column(trace, "M.line_told")[-1] == 1 / 3


def test_what_the_system_states_as_the_fmu_does_is_not_told(system):
    folder = stating(system(ALONE), "bar", 'intervalDecimal="0.25"')
    trace = simulate(folder, 1.0, 0.5).unwrap()
    assert ticks(trace, "M.bar").tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert column(trace, "M.bar_told")[-1] == 0.0


def test_without_a_statement_a_tunable_clock_ticks_at_fractions_that_the_fmu_gives(system):
    trace = simulate(system(ALONE), 3.0, 0.5).unwrap()
    assert ticks(trace, "M.beat").tolist() == [float(Fraction(1, 6) + Fraction(n, 3)) for n in range(9)]


@pytest.mark.parametrize("at", [Fraction(3, 4), Fraction(7, 10)], ids=str)
def test_a_tunable_clock_goes_on_with_its_new_interval_from_where_that_is_told(system, at):
    """Ticks at 1/6, 1/2; there the rate becomes 2: the next one is 1/6 s after that, not after the last tick."""
    settings = ssptool.Settings(stop_time=1.5, step_size=0.25)
    with ssptool.Simulation(system(ALONE), settings=settings) as simulation:
        assert simulation.run_until(float(at)) == float(at)
        simulation.set("M.rate", 2)
        simulation.run_until(1.5)
        trace = simulation.trace
    expected = [Fraction(1, 6), Fraction(1, 2), *(at + Fraction(n, 6) for n in range(1, 5))]
    assert ticks(trace, "M.beat").tolist() == approx([float(t) for t in expected], abs=1e-15)


@pytest.mark.parametrize(
    ("clock", "attributes", "reason"),
    [
        ("beat", 'intervalDecimal="0.2"', r"clock beat \(tunable\): the system states the interval 0.2 s, but the FMU"),
        ("bar", 'intervalDecimal="0"', "clock bar: the interval must be positive, found 0 s"),
        ("bar", 'shiftDecimal="-1"', "clock bar: the shift must be positive, found -1 s"),
    ],
)
def test_an_interval_that_cannot_be_chosen_is_refused_by_name(system, clock, attributes, reason):
    with pytest.raises(Unsupported, match=reason):
        simulate(stating(system(ALONE), clock, attributes), 1.0, 0.5)


@pytest.mark.parametrize(
    ("fmu", "clock", "attributes"),
    [
        ("SampledController", "sample", 'intervalDecimal="0.2"'),
        ("Alarm", "beat", 'intervalDecimal="0.2"'),
        ("Counter", "tick", 'shiftDecimal="0.2"'),
    ],
)
def test_constant_changing_and_triggered_clocks_have_the_times_of_their_fmu(system, fmu, clock, attributes):
    with pytest.raises(Unsupported, match=f"component C: clock {clock} .*only fixed and tunable clocks"):
        simulate(stating(system({"C": f"fmi3/{fmu}"}), clock, attributes), 1.0, 0.5)


# -- ticks in the trace --------------------------------------------------------------------------------------


def test_a_tick_is_true_in_the_row_after_the_event_only(system):
    trace = simulate(
        system({"Ball": "fmi3/Ball", "C": "fmi3/Counter"}, [("Ball.bounce", "C.tick")]), 2.0, 0.01
    ).unwrap()
    twice = np.flatnonzero(np.diff(trace.t) == 0.0) + 1
    assert np.flatnonzero(trace["Ball.bounce"]).tolist() == np.flatnonzero(trace["C.tick"]).tolist() == twice.tolist()
    assert len(twice) == column(trace, "Ball.bounces")[-1] == column(trace, "C.count")[-1]


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat"])
def test_ticks_are_in_files_as_booleans(system, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"run.{ending}"
    folder = stating(system(ALONE), "bar", 'intervalDecimal="0.2"')
    arguments = ["run", str(folder), "--stop-time", "1", "--step-size", "0.05", "--output", str(path)]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 0, outcome.output
    trace = ssptool.read_trace(path)
    assert trace["M.bar"].dtype == np.bool_
    assert ticks(trace, "M.bar") == approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], abs=1e-15)


def test_a_clock_is_not_set_by_hand(system):
    settings = ssptool.Settings(stop_time=1.0, step_size=0.5)
    with ssptool.Simulation(system({"C": "fmi3/Counter"}), settings=settings) as simulation:
        assert simulation.get("C.tick") is False
        with pytest.raises(WrongValue, match=r"C\.tick.*clock"):
            simulation.set("C.tick", True)
