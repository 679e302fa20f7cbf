"""True errors of runs with adaptive steps, against what they were asked for, and against those of another program.

FMUs of co-simulation save their states here, or do not; the equations are those of the bench.
"""

from dataclasses import replace

import numpy as np
import pytest

import ssptool
from tests.accuracy.adaptive_table import EXACT, MASTERSIM, able
from tests.accuracy.measured import true_error, written
from tests.accuracy.parts import Part
from tests.accuracy.systems import (
    SYSTEMS,
    System,
    bounces,
    bouncing,
    clocked,
    clocked_mass,
    linear,
    oscillator,
    thermal,
    thermostat,
)
from tests.engine.masters.test_damped_steps import GAP, WITH_GAP, mass, write

pytestmark = pytest.mark.one_in(3)


def carried_out(system, folder, tolerance, **more):
    options = {**system.settings, "adaptive": tolerance, "accuracy": "off", **more}
    return ssptool.simulate(written(system, folder), output=None, **options)


@pytest.mark.parametrize("name", EXACT)
def test_the_error_of_a_run_is_within_ten_times_what_was_asked_for(name, tmp_path):
    system = able(SYSTEMS[name], saves=True)
    path = written(system, tmp_path)
    for tolerance in (1e-3, 1e-4):
        options = {**system.settings, "adaptive": tolerance, "accuracy": "off"}
        result = ssptool.simulate(path, output=None, **options)
        assert true_error(system, result)[0] <= 10 * tolerance, tolerance
        assert np.all(np.diff(result.t) >= 0)


@pytest.mark.parametrize("name", MASTERSIM)
def test_errors_are_less_than_with_step_doubling_that_counts_each_step_alone(name, tmp_path):
    system, known = MASTERSIM[name]
    result = carried_out(system, tmp_path, 1e-4)
    assert true_error(system, result)[0] < known


def test_an_undamped_oscillator_is_as_exact_as_asked_for_however_long_it_takes(tmp_path):
    """Errors of all steps add up: each may have its part of what is allowed, and not all of it."""
    for stop in (2.0, 20.0):
        system = able(oscillator(stop=stop), saves=True, follows=True)
        folder = tmp_path / f"{stop:g}"
        folder.mkdir()
        error = true_error(system, carried_out(system, folder, 1e-3))[0]
        assert 1e-4 <= error <= 1e-3


def inexact(result):
    return [one for one in result.warnings if one.code == "RUN-112"]


HELD = ["oscillator that holds", "damped oscillator that holds", "driven at resonance", "slow source", "a day"]
HELD += ["soft thermal link", "predators", "growth", "steps of 0.1 s", "bouncing ball"]


@pytest.mark.parametrize("name", HELD)
def test_fmus_that_cannot_save_their_states_have_adaptive_steps_as_well(name, tmp_path):
    system = SYSTEMS[name]
    path = written(system, tmp_path)
    steps = []
    for tolerance in (1e-3, 1e-4):
        options = {"adaptive": tolerance, "accuracy": "off"}
        result = ssptool.simulate(path, output=None, **options)
        assert true_error(system, result)[0] <= 10 * tolerance, tolerance
        steps.append(result.statistics.steps)
        assert result.statistics.inexact_error < 2 and not inexact(result)
    assert result.statistics.rejected == 0
    assert 2 <= steps[1] / steps[0] <= 5  # of order 2


LATE = ["thermostat of co-simulation", "relay", "late strike", "late strike that a ramp sets off", "sampled by steps"]
LATE += ["contact of 1e6 N/m"]


@pytest.mark.parametrize("name", LATE)
def test_a_run_that_cannot_repeat_steps_states_that_they_are_too_inexact(name, tmp_path):
    made = able(SYSTEMS[name], saves=False)
    result = carried_out(made, tmp_path, 1e-3)
    assert true_error(made, result)[0] > 1e-2
    (warning,) = inexact(result)
    assert result.statistics.inexact > 0 and warning.size == result.statistics.inexact_error
    assert 0 < warning.time <= made.stop and warning.signal in {column.signal for column in result.columns}


def test_steps_that_cannot_be_repeated_create_no_energy(tmp_path):
    """Two masses with play between them and 0.5 J in all, so that no speed exceeds 1 m/s."""
    folder = write(tmp_path / "backlash", {"A": mass(1.0, "-"), "B": mass(0.0, ""), "Gap": GAP}, WITH_GAP)
    options = {"start_values": {"Gap.k": "1e5"}, "stop_time": 0.2, "adaptive": 1e-3, "accuracy": "off"}
    result = ssptool.simulate(folder, output=None, settings_file=False, **options)
    assert np.abs(result["A.speed"]).max() < 1.01
    assert result.statistics.steps < 20_000


def test_adaptive_steps_are_stable_where_fixed_ones_are_not_and_their_error_is_stated(tmp_path):
    """A conductance of 1000 W/K between 1 and 10 J/K; FMUs that save no state."""
    made = thermal(1e3, stop=1.0)
    path = written(made, tmp_path)
    fixed = ssptool.simulate(path, output=None, step_size=0.005, accuracy="off")
    assert fixed.failure is not None
    result = ssptool.simulate(path, output=None, adaptive=1e-3, accuracy="check")
    assert true_error(made, result)[0] <= 3 * result.accuracy.error <= 0.05


@pytest.mark.parametrize("settings", [{"step_size": 2e-4}, {"adaptive": 1e-3}])
@pytest.mark.parametrize("following", [{"A"}, {"B", "L"}])
def test_heat_is_conserved_where_only_one_side_of_a_coupling_follows_its_inputs(settings, following, tmp_path):
    """Heat capacities of 1, 10 and 5 J/K; the step is too large for a smooth exchange."""
    made = thermal(2e3, stop=0.2)
    made = replace(made, parts={name: part.able(follows=name in following) for name, part in made.parts.items()})
    result = ssptool.simulate(written(made, tmp_path), output=None, accuracy="off", **settings)
    heat = result["A.T"] + 10 * result["B.T"] + 5 * result["D.T"]
    assert np.ptp(heat) < 1e-9 * heat[0]


STIFF = [("holds", set(), 1e-3), ("one follows", {"A"}, 1e-3), ("follows", {"A", "B", "D", "L", "M"}, 1e-4)]


@pytest.mark.parametrize(("kind", "following", "tolerance"), STIFF)
def test_the_first_step_does_not_leap_over_a_fast_decay(kind, following, tolerance, tmp_path):
    """The hot body loses 90 K within a millisecond. Steps that cannot be repeated begin with small ones."""
    made = SYSTEMS["thermal link of 1e4 W/K"]
    parts = {name: part.able(follows=name in following) for name, part in made.parts.items()}
    made = replace(made, parts=parts)
    result = carried_out(made, tmp_path, tolerance)
    assert true_error(made, result)[0] <= 10 * tolerance or result.warnings, kind
    assert np.abs(result["A.T"] - made.exact(result.t)["A.T"])[:30].max() < 1e-3 * 90


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
def test_a_relaxation_oscillation_is_as_exact_as_stated(tolerance, follows, tmp_path):
    """The fast component follows its held input at once, half a step late. What is missed shifts the next jump."""
    made = able(SYSTEMS["relaxation"], saves=False, follows=follows)
    result = carried_out(made, tmp_path, tolerance)
    assert true_error(made, result)[0] <= 10 * tolerance or inexact(result)
    slow = result["Y.y"] - made.exact(result.t)["Y.y"]
    assert np.abs(slow).max() <= 2 * tolerance * np.ptp(result["Y.y"])
    assert result.statistics.steps < 3000


@pytest.mark.parametrize(("name", "signal"), [("thermostat of co-simulation", "Switch.on"), ("relay", "Relay.up")])
def test_only_the_first_switches_are_late(name, signal, tmp_path):
    """From them the values of inputs are known at which the others come."""
    made = able(SYSTEMS[name], saves=False)
    result = carried_out(made, tmp_path, 1e-3)
    found = result.t[1:][np.diff(result[signal]) != 0]
    exact = made.exact(result.t)[signal].times
    assert len(found) == len(exact)
    late = np.abs(np.diff(found) - np.diff(exact)) / made.stop
    assert late[:2].max() > 1e-4 and late[8:].max() < 2e-6


def test_smaller_steps_make_late_switches_less_late(tmp_path):
    made = able(SYSTEMS["relay"], saves=False)
    path = written(made, tmp_path)
    options = {"adaptive": 1e-3, "accuracy": "off", "output": None}
    first, other = (ssptool.simulate(path, **options, **more) for more in ({}, {"max_step_size": 1e-4}))
    assert true_error(made, other)[0] < true_error(made, first)[0] / 10
    assert inexact(first) and other.statistics.inexact_error < first.statistics.inexact_error / 10


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
def test_a_ball_beside_a_table_that_saves_its_state_bounces_inside_adaptive_steps(tmp_path, tolerance, master):
    """The step that leads over a bounce is taken back as a whole, the ball included, and then ends there."""
    made = bouncing(saves=True)
    result = carried_out(made, tmp_path, tolerance, master=master)
    assert true_error(made, result)[0] <= 10 * tolerance
    events = np.flatnonzero(np.diff(result.t) == 0)
    bounced = events[result["Ball.h0"][events + 2] > result["Ball.h0"][events]]
    expected = [time for time, _, _ in bounces(made.stop)]
    assert result.t[bounced] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["thermostat of co-simulation", "relay", "late strike", "sampled by steps"])
def test_switches_that_steps_without_repetition_notice_late_are_in_the_stated_error(name, tmp_path):
    system = SYSTEMS[name]
    options = {"adaptive": 1e-3, "accuracy": "check"}
    result = ssptool.simulate(written(system, tmp_path), output=None, **options)
    stated = result.accuracy.error
    assert stated is not None and true_error(system, result)[0] <= 3 * stated


@pytest.mark.parametrize("name", ["oscillator that follows", "predators that follow", "thermostat of co-simulation"])
def test_the_stated_error_of_adaptive_steps_is_near_the_true_one(name, tmp_path):
    system = able(SYSTEMS[name], saves=True)
    options = {"adaptive": 1e-3, "accuracy": "check"}
    result = ssptool.simulate(written(system, tmp_path), output=None, **options)
    true = true_error(system, result)[0]
    assert true <= 3 * result.accuracy.error


def test_the_accuracy_that_is_asked_for_is_reached_by_adaptive_steps(tmp_path):
    system = able(SYSTEMS["predators"], saves=True)
    options = {"adaptive": 1e-2, "accuracy": 1e-4}
    result = ssptool.simulate(written(system, tmp_path), output=None, **options)
    assert result.accuracy.met
    assert true_error(system, result)[0] <= 3e-4


@pytest.mark.parametrize("saves", [True, False])
def test_errors_inside_an_fmu_on_a_grid_of_its_own_are_not_stated_as_none(saves, tmp_path):
    """All runs have the same values, 19 % off."""
    system = clocked(saves=saves)
    path = written(system, tmp_path)
    result = ssptool.simulate(path, output=None, adaptive=1e-3, accuracy="check")
    assert true_error(system, result)[0] > 0.1
    assert result.accuracy.error is None and result.accuracy.method == "adaptive" and result.accuracy.met
    (warning,) = ssptool.simulate(path, output=None, adaptive=1e-3, accuracy="off").warnings
    # Without saved states, only errors of inputs count, but there are none, and steps are longer than the grid.
    assert warning.code == "RUN-113" if saves else "RUN-112"


@pytest.mark.parametrize(
    ("saves", "settings"), [(True, {"adaptive": 1e-3}), (False, {"adaptive": 1e-3}), (True, {"step_size": 3e-3})]
)
def test_an_fmu_on_a_grid_of_its_own_is_named_where_only_the_coupling_error_is_known(saves, settings, tmp_path):
    system = clocked_mass(0.01, saves=saves)
    path = written(system, tmp_path)
    result = ssptool.simulate(path, output=None, accuracy="check", **settings)
    true = true_error(system, result)[0]
    assert true > 0.05 / 3
    assert (result.accuracy.error or 0.0) < true / 3 and result.accuracy.limit == "own grid"
    unchecked = ssptool.simulate(path, output=None, accuracy="off", **settings)
    assert [one.size for one in unchecked.warnings if one.code == "RUN-113"] == pytest.approx([0.01], rel=0.5)


def test_a_default_step_is_refined_beside_a_sampled_controller_whose_output_is_stated_continuous(tmp_path):
    """Its output changes on a grid, which is not an error."""
    sample = "while (clock <= time + 1e-9) { sum += 0.05 * (1.0 - x); held = 0.8 * (1.0 - x) + sum; clock += 0.1; }"
    kept = {"held": 0.0, "clock": 0.0, "sum": 0.0}
    controller = Part(inputs={"x": 0.0}, kept=kept, outputs={"y": "1.0 * held"}, each_step=sample)
    plant = Part(inputs={"u": 0.0}, outputs={"x": "1.0 * z"}, states={"z": (0.2, "3.0 * (u - z)")})
    system = System({"C": controller, "P": plant}, [("C.y", "P.u"), ("P.x", "C.x")], 5.0, lambda t: {})
    accuracy = ssptool.simulate(written(system, tmp_path), output=None, accuracy="check").accuracy
    assert accuracy.error < 0.01 and accuracy.default and accuracy.limit == "own grid"


def test_steps_do_not_crawl_where_a_solver_of_first_order_inside_needs_very_many(tmp_path):
    """A coil of 0.1 ms, by one Euler step in each short macro step: 1e-5 takes steps of about 1e-9 s."""
    coil = Part(inputs={"w": 0.0}, states={"amp": (0.0, "(12 - amp - 0.05 * w) / 1e-4")}, outputs={"i": "amp"})
    rotor = Part(inputs={"i": 0.0}, states={"turn": (3.0, "(2 * i - turn) / 0.01")}, outputs={"w": "turn"}, saves=True)
    exact = linear(("Coil.i", "Rotor.w", ""), [[-1e4, -500, 12e4], [200, -100, 0], [0, 0, 0]], [0, 3, 1])
    parts = {"Coil": coil.able(euler=2e-6, saves=True), "Rotor": rotor}
    system = System(parts, [("Coil.i", "Rotor.i"), ("Rotor.w", "Coil.w")], 1.0, exact)
    result = carried_out(system, tmp_path, 1e-5, master="jacobi")
    assert result.ok and result.statistics.steps < 20_000
    assert inexact(result) and true_error(system, result)[0] <= 5e-3


@pytest.mark.parametrize(
    "output", ["floor(5 * time)", "time > 1 ? 2.0 : 5.0", "fmod(floor(40 * time), 2.0)", "floor(25 * sin(2.1 * time))"]
)
def test_signals_of_few_values_of_few_changes_and_rounded_ones_are_on_no_grid(output, tmp_path):
    parts = {"One": Part(outputs={"y": output}), "Sum": Part(inputs={"u": 0.0}, states={"z": (3.0, "2 * u")})}
    system = System(parts, [("One.y", "Sum.u")], 1.5, lambda t: {})
    result = ssptool.simulate(written(system, tmp_path), output=None, accuracy="check", step_size=0.0025)
    assert result.accuracy.limit != "own grid" and "RUN-113" not in [one.code for one in result.warnings]


def test_a_state_that_no_output_shows_is_as_exact_as_the_others(tmp_path):
    """Contact: the mass shows its place alone; what a step misses of the force is in its speed, and in later places."""
    system = able(SYSTEMS["contact of 1e4 N/m"], saves=True)
    assert true_error(system, carried_out(system, tmp_path, 1e-3))[0] <= 5e-3


def test_switches_are_located_at_a_part_of_the_cost_of_small_steps(tmp_path):
    system = able(thermostat(), saves=True)
    result = carried_out(system, tmp_path, 1e-4)
    assert true_error(system, result)[0] <= 1e-5
    assert result.statistics.steps < 3000
