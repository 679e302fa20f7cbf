"""A mass-spring-damper as a part, used twice: what the claims about it rest on, and two readings of its start."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from tests.systems.claims.mass_spring_damper import SYSTEM, THETA, USES, VALUES, C, G, M, exact, position


@pytest.mark.parametrize("case", VALUES)
def test_the_closed_form_has_the_values_of_an_independent_computation(case):
    times = np.array(list(VALUES[case]))
    assert exact(times, USES[case][1]) == approx(list(VALUES[case].values()), abs=1e-12)


def test_both_readings_of_the_start_agree_where_the_acceleration_is_the_consistent_one():
    """With the stretch 0 the mass starts with a0 = (F + f)/m − g sin(theta) = −12.405 m/s2; the stretch found from that
    a0 is 0 again.
    """
    s0, v0, d = 0.3, 0.0, 4.0
    a0 = -(C * s0 + d * v0) / M - G * np.sin(THETA)
    assert a0 == approx(-12.405, abs=1e-12)
    stretch = -s0 - (M * (a0 + G * np.sin(THETA)) + d * v0) / C
    _, given = position("first")
    _, found = position("first", start_values={"spring_damper.stretch": repr(float(stretch))})
    assert np.max(np.abs(given - found)) <= 1e-14


def test_an_initial_acceleration_besides_position_and_velocity_is_one_start_value_too_many(tmp_path):
    """The finding names the parameter in its file, and what the acceleration follows from at the start."""
    system = Path(shutil.copytree(SYSTEM, tmp_path / "over_specified"))
    values, names = system / "resources" / "underdamped.ssv", system / "resources" / "names.ssm"
    given = '<ssv:Parameter name="a0"><ssv:Real value="-1.5" unit="m/s2"/></ssv:Parameter>'
    values.write_text(values.read_text().replace("  </ssv:Parameters>", f"    {given}\n  </ssv:Parameters>"))
    names.write_text(names.read_text().replace("</ssm:", '  <ssm:MappingEntry source="a0" target="mass.a"/>\n</ssm:'))
    (finding,) = ssptool.validate(system, variant="MassSpringDampers").errors
    assert (finding.code, finding.position.file) == ("SSD-PAR-018", "resources/names.ssm")
    assert "mass.a is calculated by its FMU" in finding.message
    assert "F, f, g, m, theta" in finding.advice


@pytest.mark.parametrize("acceleration", ["none", "aitken", "anderson", "iqn-ils", "newton"])
def test_at_rest_an_iteration_has_converged_whatever_part_of_its_first_residual_is_asked_for(acceleration):
    """After 20 s all that the interface still changes by is rounding; the spring carries m g sin(theta) = 9.81 N."""
    settings = ssptool.Settings(
        start_time=0.0,
        stop_time=20.0,
        step_size=0.01,
        master="iterated",
        acceleration=acceleration,
        convergence={"residual-relative": 1e-3},
    )
    result = ssptool.simulate(SYSTEM, settings=settings)
    assert result.ok, result.failure
    assert result.trace["first.mass.f"][-1] == approx(M * G * np.sin(THETA), rel=1e-6)
