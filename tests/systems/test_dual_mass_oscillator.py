"""The dual-mass oscillator, end to end through the public API, against its closed form."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from tests.systems.claims.dual_mass_oscillator import HEAVY, SYSTEM, VARIANTS
from tests.systems.exact_dual_mass import DualMass


def error_of(result, exact: DualMass, signal: str = "System1.x1") -> float:
    """Largest deviation of one signal from the closed form over the run."""
    return float(np.max(np.abs(result.trace[signal] - exact.signals(result.trace.t)[signal.split(".")[1]])))


def row_residual(trace, m1: float = 1.0, k1: float = 10.0, c1: float = 0.2) -> float:
    """How far the rows of a trace are from m1 a1 = F − k1 x1 − c1 v1."""
    a1 = (trace["System1.F"] - k1 * trace["System1.x1"] - c1 * trace["System1.v1"]) / m1
    return float(np.max(np.abs(trace["System1.a1"] - a1)))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_a_run_without_settings_is_right_from_start_to_end(variant):
    """To its last row; start and rows are exact to round-off."""
    result = ssptool.simulate(SYSTEM, variant=variant)
    trace = result.trace
    assert result.ok
    assert (trace.t[0], trace.t[-1], len(trace.t)) == (0.0, 10.0, 10001)
    assert trace["System1.F"][0] == approx(5.0, abs=1e-12)
    assert row_residual(trace) <= 1e-9


@pytest.mark.parametrize("master", ["jacobi", "gauss-seidel", "iterated"])
def test_the_first_steps_are_those_of_the_differential_equation(master):
    """Taylor about 0 with a1 = 5: x1 ≈ a1 t²/2, v1 ≈ a1 t; the figures at 0.002 s are those of the closed form."""
    result = ssptool.simulate(SYSTEM, settings=Settings(stop_time=0.002, step_size=1e-4, master=master))
    exact = DualMass().signals(np.array([0.002]))
    row = {name: result.trace[f"System1.{name}"][-1] for name in ("x1", "v1", "a1", "F")}
    assert (exact["x1"][0], exact["v1"][0]) == approx((9.98e-6, 0.00998), rel=1e-3)
    assert (exact["a1"][0], exact["F"][0]) == approx((4.9775, 4.9796), abs=1e-4)
    # The coupling error over 20 steps of 1e-4 s is at most of first order: 20 · h² · |dF/dt| / 2 ≈ 1e-6 in v1.
    for name, value in row.items():
        assert value == approx(exact[name][0], rel=1e-3), name
    assert row_residual(result.trace) <= 1e-9


COUPLINGS = [
    pytest.param(Settings(master="jacobi", approximation="hold"), 1, id="held"),
    pytest.param(Settings(master="gauss-seidel", approximation="hold"), 1, id="gauss-seidel-held"),
    pytest.param(Settings(master="jacobi", approximation="extrapolate"), 2, id="extrapolated-linear"),
    pytest.param(Settings(master="iterated", approximation="interpolate"), 2, id="interpolated-linear"),
    pytest.param(
        Settings(master="iterated", approximation="interpolate", input_order=2), 3, id="interpolated-quadratic"
    ),
]


@pytest.mark.parametrize("variant", list(VARIANTS.values())[:2], ids=["FMI2", "FMI3"])
@pytest.mark.parametrize(("settings", "order"), COUPLINGS)
def test_convergence_order_of_coupling(settings, order, variant):
    """The slope between two steps that are small enough to be asymptotic; 0.15 is what the next term adds there."""
    from dataclasses import replace

    steps = [0.01, 0.005]
    errors = [
        error_of(
            ssptool.simulate(SYSTEM, variant=variant, settings=replace(settings, step_size=h, stop_time=2.0)),
            DualMass(),
        )
        for h in steps
    ]
    assert np.log2(errors[0] / errors[1]) == approx(order, abs=0.15)


def test_heavy_flange_defeats_the_fixed_point_with_a_report():
    """The loop gain is −m_c/m1 = −2: each iteration doubles the error."""
    result = ssptool.simulate(SYSTEM, parameters=[HEAVY], settings=Settings(init="fixed-point"))
    assert not result.ok
    text = str(result.failure)
    for expected in ("System1.a1", "System2.F", "residual", "newton"):
        assert expected.lower() in text.lower()


def test_the_path_of_a_parameter_set_may_be_text():
    result = ssptool.simulate(SYSTEM, parameters=[str(HEAVY)], settings=Settings(stop_time=0.01))
    assert result.trace["System1.a1"][0] == approx(5 / 3)


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_with_a_heavy_flange_rows_are_consistent_too(variant):
    result = ssptool.simulate(SYSTEM, variant=variant, parameters=[HEAVY])
    assert result.ok
    assert row_residual(result.trace) <= 1e-9


@pytest.fixture
def editable(tmp_path: Path) -> Path:
    """A copy of the system whose FMUs may be altered."""
    return Path(shutil.copytree(SYSTEM, tmp_path / "system"))


def strip_dependencies(fmu: Path) -> None:
    """Rewrite an FMU so that its modelDescription declares no dependencies."""
    from lxml import etree

    with zipfile.ZipFile(fmu) as source:
        entries = {info: source.read(info) for info in source.infolist()}
    with zipfile.ZipFile(fmu, "w", zipfile.ZIP_DEFLATED) as target:
        for info, content in entries.items():
            if info.filename == "modelDescription.xml":
                root = etree.fromstring(content)
                for unknown in root.findall("ModelStructure//*"):
                    unknown.attrib.pop("dependencies", None)
                    unknown.attrib.pop("dependenciesKind", None)
                content = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
            target.writestr(info, content)


def test_without_declared_dependencies_the_loop_is_found_and_solved(editable):
    for fmu in (editable / "resources").glob("System*.fmu"):
        strip_dependencies(fmu)
    loops = [loop for cycle in ssptool.graph(editable).cycles for loop in cycle.loops]
    assert {"System1.a1", "System2.F"} <= {str(signal) for loop in loops for signal in loop.outputs}
    result = ssptool.simulate(editable, parameters=[editable / "resources" / "heavy_flange.ssv"])
    assert result.ok
    assert result.trace["System1.a1"][0] == approx(5 / 3, abs=1e-10)
    assert error_of(result, DualMass(m_c=2.0)) <= 1e-6


def test_declared_loop_is_exactly_a1_and_force():
    (cycle,) = ssptool.graph(SYSTEM).cycles
    assert cycle.components == ("System1", "System2")
    (loop,) = cycle.loops
    assert [str(signal) for signal in loop.outputs] == ["System1.a1", "System2.F"]


def test_without_flange_there_is_a_cycle_but_no_loop_and_one_pass_initializes():
    (cycle,) = ssptool.graph(SYSTEM, variant="DualMassOscillatorNoFlange").cycles
    assert (cycle.components, cycle.loops) == (("System1", "System2"), ())
    assert "System2.F does not depend on System2.a1" in map(str, cycle.broken_by)
    result = ssptool.simulate(SYSTEM, variant="DualMassOscillatorNoFlange")
    assert result.initialization.loops == ()
    assert result.trace["System1.a1"][0] == approx(5.0, abs=1e-12)
    assert error_of(result, DualMass()) <= 1e-6


def test_the_packed_system_gives_the_same_trace(tmp_path):
    from ssptool.documents.archive import Archive

    with Archive.open(SYSTEM) as archive:
        archive.save(tmp_path / "dmo.ssp")
    settings = Settings(stop_time=0.1)
    packed = ssptool.simulate(tmp_path / "dmo.ssp", settings=settings)
    assert np.array_equal(packed.trace.y, ssptool.simulate(SYSTEM, settings=settings).trace.y)


def test_parameters_change_the_run():
    result = ssptool.simulate(SYSTEM, start_values={"System1.m1": "2", "System2.x2_start": "0.3"})
    assert error_of(result, DualMass(m1=2.0, start=(0.0, 0.0, 0.3, 0.0))) <= 1e-6
