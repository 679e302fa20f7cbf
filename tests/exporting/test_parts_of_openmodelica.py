"""Exported systems of FMUs that OpenModelica made: coupled masses on springs, against the closed form and runs."""

import numpy as np
import pytest

import ssptool
from tests.engine.systems import state_implementation, write_system
from tests.exporting.fmus import assert_same_bits, exported, in_fmpy
from tests.foreign.openmodelica import fmus, on_linux

pytestmark = on_linux
INTERFACES = ["CoSimulation", "ModelExchange"]


@pytest.fixture
def masses(tmp_path):
    """Writes two masses of 1 kg on three springs of 1 N/m, each FMU with the interface that is named."""

    def write(*interfaces):
        parts = {"A": "MassSpringSubSystem1", "B": "MassSpringSubSystem2"}
        folder = write_system(tmp_path / "masses", fmus(), parts, [("A.x1", "B.x1"), ("B.x2", "A.x2")])
        for name, kind in zip(parts, interfaces, strict=True):
            state_implementation(folder, name, implementation=kind)
        return folder

    return write


def exact(t):
    """x1'' = x2 - 2 x1, x2'' = x1 - 2 x2 with x1 = 0, x1' = 1, x2 = 1, x2' = 0 at first: x1 + x2 = cos t + sin t, and
    x1 - x2 = -cos √3 t + sin(√3 t) / √3.
    """
    w = np.sqrt(3.0)
    sum_, difference = np.cos(t) + np.sin(t), -np.cos(w * t) + np.sin(w * t) / w
    return (sum_ + difference) / 2, (sum_ - difference) / 2


def error(found):
    x1, x2 = exact(found["time"])
    return max(np.abs(found["A.x1"] - x1).max(), np.abs(found["B.x2"] - x2).max())


def test_model_exchange_follows_the_closed_form_inside_and_outside(masses, fmi, tmp_path):
    """Inside by Rodas5P, outside by FMPy's CVODE, which keeps a tolerance of 1e-8 per step to about 2e-6 in all."""
    system = masses("ModelExchange", "ModelExchange")
    fmu = exported(system, tmp_path, fmi=fmi, interface="both", tolerance=1e-8, step_size=0.1, stop_time=10.0)
    assert error(in_fmpy(fmu, 0.1, fmi_type="CoSimulation")) < 1e-7
    assert error(in_fmpy(fmu, 0.1, fmi_type="ModelExchange", relative_tolerance=1e-8)) < 1e-5


@pytest.mark.parametrize("integrator", ["rosenbrock", "dormand-prince"])
def test_model_exchange_has_the_bits_of_a_run(integrator, masses, fmi, tmp_path):
    options = {"integrator": integrator, "tolerance": 1e-8, "step_size": 0.1, "stop_time": 2.0}
    system = masses("ModelExchange", "ModelExchange")
    run = ssptool.simulate(system, **options).unwrap()
    assert_same_bits(in_fmpy(exported(system, tmp_path, fmi=fmi, **options), 0.1), run)


@pytest.mark.parametrize(
    ("interfaces", "master"),
    [(("CoSimulation",) * 2, "jacobi"), (INTERFACES, "gauss-seidel")],
    ids=["simulated by jacobi", "one is integrated, by gauss-seidel"],
)
def test_co_simulation_has_the_bits_of_a_run_and_its_order(interfaces, master, masses, fmi, tmp_path):
    """Held inputs and the explicit Euler steps of OpenModelica's own solver: of order 1."""
    system = masses(*interfaces)
    errors = []
    inside = {"integrator": "rosenbrock", "tolerance": 1e-8} if "ModelExchange" in interfaces else {}
    for step in (0.01, 0.005):
        options = {"master": master, "step_size": step, "stop_time": 2.0, "approximation": "hold", **inside}
        found = in_fmpy(exported(system, tmp_path, fmi=fmi, **options), step)
        assert_same_bits(found, ssptool.simulate(system, **options).unwrap())
        errors.append(error(found))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1, abs=0.15)


def response(t):
    """Of m s'' + d s' + c s = min(t, 1) with m = 1, d = 10, c = 10 000 and s = 1/2, s' = 0 at first."""
    d, c = 10.0, 1e4
    w = np.sqrt(c - d * d / 4)
    cosine = d / c**2
    sine = (d / 2 * cosine - 1 / c) / w

    def ramp(t):
        return t / c - d / c**2 + np.exp(-d / 2 * t) * (cosine * np.cos(w * t) + sine * np.sin(w * t))

    free = np.exp(-d / 2 * t) * (np.cos(w * t) + d / 2 / w * np.sin(w * t)) / 2
    return free + ramp(t) - np.where(t > 1, ramp(np.maximum(t - 1, 0)), 0)


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_ramp_with_events_drives_a_mass_with_a_damper(interface, fmi, tmp_path):
    """The spring has no force at y = -0.5 m; the ramp ends at 1 s."""
    parts = {"Ramp": "ramp", "Mass": "Mass_Damper"}
    system = write_system(tmp_path / "pushed", fmus(), parts, [("Ramp.out", "Mass.f")])
    options = {"interface": "both", "tolerance": 1e-9, "step_size": 0.01, "stop_time": 2.0}
    fmu = exported(system, tmp_path, fmi=fmi, **options)
    found = in_fmpy(fmu, 0.01, fmi_type=interface, relative_tolerance=1e-9)
    assert np.abs(found["Mass.y"] + 0.5 - response(found["time"])).max() < 1e-7
    np.testing.assert_allclose(found["Ramp.out"], np.minimum(found["time"], 1), rtol=0, atol=1e-12)
