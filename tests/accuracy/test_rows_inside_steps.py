"""Input tables with rows inside macro steps: integrals of what an FMU is given, against those of the table."""

import json
from pathlib import Path

import numpy as np
import pytest

import ssptool
from tests.engine.small.fmus import Var, make_fmu

STEP = 0.01
FAST = np.arange(1001) / 1000
PULSE = ([0.0, 0.0131, 0.0136, 0.0141, 1.0], [0.0, 0.0, 2000.0, 0.0, 0.0])  # a triangle 1 ms wide of area 1
FOLLOWS = 'canInterpolateInputs="true"'
SUM = (
    Var("u", "input", start=0.0),
    Var("y", "output", start=0.5, needs=[], initial="exact"),
    Var("gain", "parameter", start=3.0),
)


def integrator(folder, version=2, inputs=SUM, cs=""):
    """y' = gain · u from 0.5; it holds u over a step, or steps along the line of its derivative."""
    return make_fmu(
        folder / "S.fmu",
        inputs,
        version=version,
        me=None,
        cs=cs,
        own="double slope;",
        lead="if (order != 1) return ERROR; v->slope = x; return OK;",
        step="v->y += v->gain * h * (v->u + 0.5 * h * v->slope); return OK;",
    )


def simulated(fmu, times, values, step=STEP, **settings):
    table = ssptool.types.Table(tuple(times), tuple(values))
    settings = ssptool.Settings(step_size=step, stop_time=1.0, **settings)
    return ssptool.simulate(fmu, inputs={"S.u": table}, settings=settings, isolated=False, keep=True)


def area(result):
    return (result.unwrap()["S.y"][-1] - 0.5) / 3.0


def told(result):
    return [note for note in result.notes if "inside macro steps" in note]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"master": "gauss-seidel"}, {"adaptive": 1e-3}], ids=str)
def test_a_pulse_inside_a_step_keeps_its_area(tmp_path, version, settings):
    result = simulated(integrator(tmp_path, version), *PULSE, **settings)
    assert area(result) == pytest.approx(1.0, abs=1e-12)
    assert result.warnings == ()


def test_a_square_wave_of_sines_at_100_hz_has_its_mean(tmp_path):
    """Twice sin² of 50 Hz is zero at each point of the steps, and has the integral 1."""
    result = simulated(integrator(tmp_path), FAST, 2 * np.sin(2 * np.pi * 50 * FAST) ** 2)
    assert area(result) == pytest.approx(1.0, abs=1e-12)
    (note,) = told(result)
    assert "900 of 1001 rows" in note and note.startswith("u: ")
    assert result.warnings == ()


def test_at_each_point_the_integral_is_that_of_the_table(tmp_path):
    values = 1.5 + np.random.default_rng(3).normal(size=len(FAST))
    trace = simulated(integrator(tmp_path), FAST, values).unwrap()
    exact = np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]) * 1e-3)])
    np.testing.assert_allclose((trace["S.y"] - 0.5) / 3, exact[::10], atol=1e-12)
    np.testing.assert_array_equal(trace["S.u"], values[::10])


def test_a_scenario_that_replaces_or_shifts_the_table_has_its_own_area(tmp_path):
    fmu = integrator(tmp_path)
    scenario = tmp_path / "s.json"
    for action, value, expected in (("override", 2.0, 2.0), ("bias", 0.25, 1.25)):
        event = {"time": 0.0, "model": "S", "variable": "u", "action": action, "value": value}
        scenario.write_text(json.dumps({"events": [event]}))
        settings = ssptool.Settings(step_size=STEP, stop_time=1.0)
        table = {"S.u": ssptool.types.Table(*map(tuple, PULSE))}
        result = ssptool.simulate(fmu, inputs=table, scenario=scenario, settings=settings, isolated=False, keep=True)
        assert area(result) == pytest.approx(expected, abs=1e-12)


def test_rows_on_the_line_of_their_step_are_not_counted(tmp_path):
    fmu = integrator(tmp_path)
    assert told(simulated(fmu, FAST, 2 * FAST)) == []
    assert told(simulated(fmu, FAST[::10], np.sin(3 * FAST[::10]))) == []


@pytest.mark.parametrize(
    "case", ["held from the start", "discrete", "along its line"], ids=["held", "discrete", "followed"]
)
def test_rows_that_no_input_has_a_part_of_are_told_with_a_step_that_has_them(tmp_path, case):
    inputs, cs, settings = SUM, "", {}
    if case == "discrete":
        inputs = (Var("u", "input", start=0.0, variability="discrete"), *SUM[1:])
    elif case == "along its line":
        cs = FOLLOWS
    else:
        settings = {"approximation": "hold"}
    fmu = integrator(tmp_path, inputs=inputs, cs=cs)
    values = 2 * np.sin(2 * np.pi * 50 * FAST) ** 2
    result = simulated(fmu, FAST, values, **settings)
    assert abs(area(result)) < 1e-12
    (warning,) = result.warnings
    assert (warning.code, warning.signal, warning.size) == ("RUN-104", "u", 900)
    assert "--step-size 0.001" in warning.message
    finer = simulated(fmu, FAST, values, step=1e-3, **settings)
    assert area(finer) == pytest.approx(1.0, abs=1e-9)
    assert finer.warnings == ()


def test_steps_end_at_jumps_and_rows_count_on_their_own_side(tmp_path):
    """From 0.012 s on the table is at 7; what it was before has no part in the step behind the jump."""
    rows = [(0.0, 0.0), (0.012, 1.2), (0.012, 7.0), (0.015, 7.0), (0.02, 7.0), (1.0, 7.0)]
    result = simulated(integrator(tmp_path), *zip(*rows, strict=True))
    assert told(result) == []
    assert area(result) == pytest.approx(0.5 * 0.012 * 1.2 + 0.988 * 7, abs=1e-12)


def test_a_course_that_steps_resolve_loses_nothing_to_tell(tmp_path):
    """Of a sine of 1 Hz no row departs by a twentieth of its range from the chord of a step of a fortieth period."""
    fmu = integrator(tmp_path, cs=FOLLOWS)
    assert simulated(fmu, FAST, 4 + np.sin(2 * np.pi * FAST), step=0.025).warnings == ()


def test_a_boolean_pulse_inside_a_step_is_no_mean(tmp_path):
    """Steps end at its edges, as a Boolean signal has jumps only."""
    on = Var("on", "input", "Boolean", start=False)
    body = "v->y += v->gain * h * (v->on ? 4.0 : 0.0); return OK;"
    fmu = make_fmu(tmp_path / "S.fmu", (on, *SUM[1:]), me=None, step=body)
    table = ssptool.types.Table((0.0, 0.0131, 0.0141), (False, True, False))
    settings = ssptool.Settings(step_size=STEP, stop_time=1.0)
    result = ssptool.simulate(fmu, inputs={"S.on": table}, settings=settings, isolated=False, keep=True)
    assert area(result) == pytest.approx(4e-3, abs=1e-12)
    assert result.warnings == () and told(result) == []


def test_model_exchange_takes_tables_as_they_are(tmp_path):
    """An integrator stops at their rows."""
    inputs = (
        Var("u", "input", start=0.0),
        Var("x", "state", start=0.5),
        Var("dx", "der", of="x", needs=["u"]),
        Var("y", "output", needs=["x"]),
        Var("gain", "parameter", start=3.0),
    )
    fmu = make_fmu(tmp_path / "S.fmu", inputs, cs=None, calc="v->dx = v->gain * v->u; v->y = v->x;")
    result = simulated(fmu, *PULSE, tolerance=1e-8)
    assert area(result) == pytest.approx(1.0, abs=1e-6)
    assert told(result) == [] and result.warnings == ()


def test_the_warning_is_in_the_manifest(tmp_path):
    fmu, output = integrator(tmp_path, cs=FOLLOWS), tmp_path / "r.csv"
    settings = ssptool.Settings(step_size=STEP, stop_time=1.0)
    ssptool.simulate(fmu, inputs={"S.u": ssptool.types.Table(*map(tuple, PULSE))}, settings=settings, output=output)
    (stored,) = json.loads(Path(f"{output}.json").read_text())["warnings"]
    assert (stored["code"], stored["size"]) == ("RUN-104", 3)
