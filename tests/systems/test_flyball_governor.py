"""The flyball governor with stiff couplers: what the claims about it rest on, and what goes wrong on purpose."""

import shutil

import numpy as np
import pytest
from pytest import approx

import ssptool
from tests.systems import flyball_governor as governor
from tests.systems import reference_flyball_governor as reference
from tests.systems.claims import flyball_governor as claims
from tests.systems.claims.couplings import END_VALUE, EXTRAPOLATED, GAUSS_SEIDEL, HELD, INTERPOLATED, LATE
from tests.systems.flyball_governor import CUT_AT_COUPLER, CUT_AT_SPINDLE, SYSTEM

TIGHT = {"tolerance": 1e-8}
"""Of the integrator, relative: at this, heights are right to a micrometre."""


# -- the reference -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("t", "expected"), reference.INDEPENDENT.items())
def test_the_reference_agrees_with_an_independent_derivation(t, expected):
    """To the 12 decimals printed of that, but for what Radau's method leaves at a relative tolerance of 1e-9."""
    alpha, _, s, _, omega = reference.solution()(t)
    assert (s, alpha, omega) == approx(expected, abs=1e-9)


def test_the_reference_agrees_with_the_published_heights():
    """These have 6 decimals and the error of their own solver."""
    t = np.linspace(0.0, 3.0, 31)
    assert np.max(np.abs(reference.height(t) - reference.PUBLISHED)) <= 1.2e-6


def test_the_couplers_are_nearly_rods():
    """44 N stretch a coupler by 5.5e-5 m; over 10 s, that shifts s by 2.1e-4 m from where rods would hold it."""
    t = np.linspace(0.0, 10.0, 1001)
    assert np.max(np.abs(reference.rigid_height(t) - reference.height(t))) == approx(2.1e-4, rel=0.05)


# -- all parts as one differential equation ------------------------------------------------------------------


@pytest.fixture(scope="module")
def trace():
    return claims.trace()


def test_no_part_needs_itself_at_the_same_instant():
    """Angles, velocities and heights are states; the moment of inertia is exchanged in place of a reaction torque."""
    cycles = ssptool.graph(SYSTEM).cycles
    assert cycles and all(cycle.loops == () for cycle in cycles)


def test_the_spindle_starts_with_the_momentum_of_the_arms_that_it_carries(trace):
    """h(0) = (J_hub + J_arms(0)) Omega0: an initial state from an input, to round-off."""
    assert trace["Spindle.h"][0] == approx(53.868998658418, rel=1e-13)
    assert trace["Spindle.Omega"][0] == approx(2 * np.pi, rel=1e-15)
    assert trace["Arms.J_arms"][0] == approx(8.5685124159, abs=5e-11)


def test_the_couplers_start_without_tension(trace):
    """l = l0 to the last bit but one, times K = 8e5 N/m."""
    assert abs(trace["Coupler.F"][0]) <= 2e-10


def test_a_hundredth_of_the_tolerance_gives_a_tenth_of_the_error_at_least():
    """Multistep methods of variable order control the error per step, whose number grows as the tolerance falls."""
    errors = [governor.height_error(governor.run(tolerance=tolerance).unwrap()) for tolerance in (1e-8, 1e-10)]
    assert errors[1] <= errors[0] / 10


def test_a_run_without_settings_is_right_to_a_tenth_of_a_millimetre():
    """A relative tolerance of 1e-6 per step, over 3000 steps."""
    assert governor.height_error(governor.run().unwrap()) <= 1e-4


def test_adams_formulas_are_right_too():
    assert governor.height_error(governor.run(**TIGHT, integrator="adams").unwrap()) <= 1e-6


def test_angular_momentum_stays_to_the_last_bit(trace):
    """It is a state without any torque."""
    assert np.ptp(trace["Spindle.h"]) == 0.0


def test_the_dampers_take_little_energy(trace):
    """3.1e-3 J of 237 J, most of it while the couplers take up the load."""
    assert governor.dissipated_energy(trace)[-1] == approx(3.12186070e-3, rel=0.03)  # rows are 1e-3 s apart


def test_the_shaft_turns_nine_times_in_ten_seconds(trace):
    """phi integrates Omega, so that it is as right as the arms are."""
    assert trace["Spindle.phi"][-1] == approx(reference.TURNED, abs=5e-6)


def test_it_swings_between_two_heights_once_per_second(trace):
    """Turning points of the reference: s = 0.7435710833 m at 0.5123 s, falling by 1.3e-6 m per period."""
    assert trace["Slider.s"].max() == approx(0.7435710833, abs=2e-6)
    assert trace["Slider.s"].min() == approx(0.49991, abs=1e-5)


def test_fmus_of_fmi3_give_the_same(tmp_path, trace):
    """Same equations, other functions to call."""
    fmus = SYSTEM.parents[1] / "build" / "models" / "fmi3"
    if not (fmus / "Spindle.fmu").exists():
        pytest.skip("the FMUs of FMI 3.0 are not built: make setup")
    system = shutil.copytree(SYSTEM, tmp_path / "fmi3")
    for part in ("Spindle", "Arms", "Coupler", "Slider"):
        shutil.copy(fmus / f"{part}.fmu", system / "resources")
    assert {one.fmi_version for one in ssptool.info(system).components} == {"3.0"}
    found = governor.run(system=system, **TIGHT).unwrap()
    assert np.max(np.abs(found["Slider.s"] - trace["Slider.s"])) <= 1e-9


@pytest.mark.parametrize(
    ("start_values", "deviation"),
    [
        pytest.param({"Arms.g": "9.80665", "Slider.g": "9.80665"}, 3.9e-4, id="standard-gravity"),
        pytest.param({"Arms.g": "9.80", "Slider.g": "9.80"}, 1.2e-3, id="rounded-gravity"),
        pytest.param({"Spindle.m_s": "0"}, 2.1e-4, id="slider-does-not-turn"),
        pytest.param({"Arms.m_p": "0"}, 6.6e-1, id="no-balls"),
    ],
)
def test_other_readings_of_the_benchmark_miss_the_published_heights(start_values, deviation):
    """Expected deviations have two digits, hence 5 %."""
    settings = ssptool.Settings(stop_time=3.0, **TIGHT)
    result = ssptool.simulate(SYSTEM, start_values=start_values, settings=settings)
    assert governor.published_error(result.unwrap()) == approx(deviation, rel=0.05)


def test_without_balls_the_slider_drops_to_the_ground():
    settings = ssptool.Settings(stop_time=3.0, **TIGHT)
    result = ssptool.simulate(SYSTEM, parameters=[governor.NO_BALLS], settings=settings)
    assert governor.published_heights(result.unwrap()).min() == approx(0.054, abs=5e-4)


# -- cut at the spindle: a soft coupling -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coupling", "lowest", "highest"),
    [
        pytest.param(LATE, 0.317, 1.152, id="late"),
        pytest.param(HELD, 0.457, 0.813, id="held"),
        pytest.param(EXTRAPOLATED, 0.49981, 0.74372, id="extrapolated"),
        pytest.param(END_VALUE, 0.531, 0.700, id="end-value"),
        pytest.param(INTERPOLATED, 0.49994, 0.74351, id="interpolated"),
    ],
)
def test_held_inputs_gain_energy_and_end_values_lose_it(coupling, lowest, highest):
    """Heights of the last swing of 10 s at 1e-2 s; exact are 0.49992 … 0.74356 m."""
    trace = governor.run(CUT_AT_SPINDLE, step_size=1e-2, **coupling).unwrap()
    last = trace["Linkage.s"][trace.t > 10.0 - 1.03]
    assert (last.min(), last.max()) == approx((lowest, highest), abs=1e-3)


def test_cut_at_the_spindle_a_run_without_settings_is_right_to_a_hundredth_of_a_millimetre():
    result = governor.run(CUT_AT_SPINDLE)
    assert governor.height_error(result.unwrap(), "Linkage.s") <= 1e-5
    assert result.statistics.iterations_max <= 3


# -- cut at the couplers: stiff -------------------------------------------------------------------------------


def test_late_outputs_diverge_beyond_half_the_limit_of_held_inputs():
    """1/8121 s, the fastest eigenvalue being −8121 1/s."""
    assert governor.coupling_error(CUT_AT_COUPLER, 1 / 7000, 0.5, **LATE) > 0.1


@pytest.mark.parametrize("coupling", [HELD, LATE, EXTRAPOLATED])
def test_a_single_pass_over_the_stiff_coupler_does_not_survive_a_millisecond(coupling):
    assert governor.coupling_error(CUT_AT_COUPLER, 1e-3, 1.0, **coupling) > 1e-2


def test_both_reactions_of_a_coupler_must_be_of_the_same_instant():
    """Gauss-Seidel gives the slider a force after the arms have moved, and the arms a torque before that: what the two
    do not share is a force C dv from nowhere. 0.12 m in a second, at a step that is stable.
    """
    error = governor.coupling_error(CUT_AT_COUPLER, 1e-4, 1.0, **GAUSS_SEIDEL)
    assert error == approx(0.12, rel=0.05)


def test_without_settings_quasi_newton_takes_steps_of_a_millisecond():
    """8.8e-7 m, most of which the start leaves, where the couplers take up the load in 1e-4 s."""
    result = governor.run(CUT_AT_COUPLER)
    assert governor.height_error(result.unwrap()) == approx(8.76e-7, rel=0.02)
    assert result.statistics.iterations_mean < 4


def test_quasi_newton_takes_steps_of_ten_milliseconds_too():
    """Eighty time constants of the coupler in one step."""
    error = governor.coupling_error(CUT_AT_COUPLER, 1e-2, acceleration="iqn-ils", **INTERPOLATED)
    assert error == approx(2.26e-4, rel=0.02)


def test_newton_to_end_values_takes_twenty():
    """First order: twice the error of a step of 1e-2 s."""
    error = governor.coupling_error(CUT_AT_COUPLER, 2e-2, acceleration="newton", **END_VALUE)
    assert error == approx(2 * 3.19e-3, rel=0.02)


@pytest.mark.parametrize("approximation", ["hold", "interpolate"])
def test_fixed_point_iteration_at_a_millisecond_fails_with_a_report(approximation):
    result = governor.run(CUT_AT_COUPLER, acceleration="none", approximation=approximation)
    assert result.status == "the iteration of a macro step did not converge"
    for phrase in ("diverges", "Rotor, Coupler, Slider", "from t = 0 s", "newton or iqn-ils", "smaller --step-size"):
        assert phrase in str(result.failure)


@pytest.mark.parametrize(
    ("coupling", "below", "beyond"),
    [
        pytest.param(END_VALUE, 1.2e-4, 1.25e-4, id="end-value"),
        pytest.param(INTERPOLATED, 2.4e-4, 2.5e-4, id="interpolated"),
    ],
)
def test_fixed_point_iteration_is_no_better_than_held_inputs(coupling, below, beyond):
    """It contracts below 1/8121 = 1.23e-4 s (end value) and 2/8121 = 2.46e-4 s (interpolated)."""

    def error(step: float) -> float:
        more = {"acceleration": "none", "max_iterations": 2000}
        return governor.coupling_error(CUT_AT_COUPLER, step, 0.1, **coupling, **more)

    assert error(below) < 1e-5
    assert error(beyond) == np.inf


@pytest.mark.parametrize(("coupling", "error"), [(END_VALUE, 2.5e-6), (INTERPOLATED, 5e-8)])
def test_within_its_limit_fixed_point_iteration_is_accurate(coupling, error):
    """At 1e-4 s over 1 s. That the first guess of a step comes from the steps before makes it no worse."""
    more = {"acceleration": "none", "max_iterations": 100}
    assert governor.coupling_error(CUT_AT_COUPLER, 1e-4, 1.0, **coupling, **more) <= error


def test_adaptive_steps_find_those_of_the_coupler_by_themselves():
    """Small steps while the coupler takes up the load, and larger ones afterwards."""
    result = governor.run(CUT_AT_COUPLER, step_size=1e-4, stop_time=1.0, acceleration="newton", adaptive=1e-4)
    assert governor.height_error(result.unwrap()) < 1e-4
    steps = np.diff(result.trace.t)
    assert steps[-10:-2].max() > 20 * steps[:10].min()


def test_an_iteration_that_starts_far_from_the_solution_is_not_taken_for_noise():
    """The first step comes from guesses that are off by twice their size; the FMUs have no noise."""
    result = governor.run(CUT_AT_COUPLER, step_size=1e-2, stop_time=1.0)
    assert result.ok and not [note for note in result.notes if "noise" in note]
