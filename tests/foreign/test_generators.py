"""FMUs that other people's tools made, in systems with one of ours, against closed forms."""

import math

import numpy as np
import pytest

import ssptool
from ssptool.fmu.description import UnusableFmu
from ssptool.fmu.processes import AVAILABLE
from tests.foreign.generators import container, lag, of_sources, python_fmu, without_backend, without_binaries
from tests.systems.peers import SYSTEMS, where_wheels_are

pytestmark = [where_wheels_are, pytest.mark.one_in(3)]
MASS = SYSTEMS / "one_dof_oscillator" / "resources" / "Mass.fmu"
K, M, Z0 = 69.48, 0.03575, 0.0016


def system(path, *fmus, connections):
    """A system of these FMUs, made as a user makes it."""
    with ssptool.new(path) as made:
        made.add(*fmus)
        for source, destination in connections:
            made.connect(source, destination)
    return path


def error(path, signal, exact, **settings):
    """The largest deviation of a signal from the closed form, over [0, 1] s."""
    result = ssptool.simulate(path, stop_time=1.0, isolated=True, **settings)
    assert result.ok, result
    return float(np.max(np.abs(result.trace[signal] - exact(result.trace.t))))


def order(path, signal, exact, step, **settings):
    """The order of convergence from halving the step."""
    coarse, fine = (error(path, signal, exact, step_size=h, **settings) for h in (step, step / 2))
    return math.log2(coarse / fine)


@pytest.mark.parametrize(("course", "expected"), [("hold", 1), ("extrapolate", 2)])
@pytest.mark.parametrize("fmi", [2, 3])
def test_a_sine_from_python_drives_our_lag(fmi, course, expected, tmp_path):
    """der(x) = sin t - x, x(0) = 0  ⇒  x = (sin t - cos t + exp(-t)) / 2."""
    wave = python_fmu("Wave", fmi, tmp_path)
    path = system(tmp_path / "driven", wave, lag(2, tmp_path), connections=[("Wave.y", "Lag.u")])

    def exact(t):
        return (np.sin(t) - np.cos(t) + np.exp(-t)) / 2

    assert order(path, "Lag.y", exact, 0.02, approximation=course) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_spring_from_python_and_our_mass_oscillate(fmi, tmp_path):
    """m z'' = -k z  ⇒  z = z0 cos(√(k/m) t). The FMU from Python cannot save its state, so steps are not repeated."""
    spring = python_fmu("Spring", fmi, tmp_path)
    path = system(tmp_path / "loop", MASS, spring, connections=[("Mass.z", "Spring.z"), ("Spring.F", "Mass.F")])
    start = {"Mass.m": M, "Mass.z": Z0, "Spring.k": K}

    def exact(t):
        return Z0 * np.cos(math.sqrt(K / M) * t)

    assert order(path, "Mass.z", exact, 5e-5, start_values=start) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_container_of_two_lags_behind_one_of_ours(fmi, tmp_path):
    """Three lags in a row, u = 1  ⇒  y = 1 - (1 + t + t²/2) exp(-t)."""

    def exact(t):
        return 1 - (1 + t + t**2 / 2) * np.exp(-t)

    deviations = []
    for step in (0.02, 0.01):
        folder = tmp_path / str(step)
        fmus = lag(2, folder), container(fmi, folder, step)
        path = system(folder / "row", *fmus, connections=[("Lag.y", "Container.u")])
        deviations.append(error(path, "Container.y", exact, step_size=step, start_values={"Lag.u": 1.0}))
    assert math.log2(deviations[0] / deviations[1]) == pytest.approx(1, abs=0.1)


def test_an_fmu_that_never_comes_back_from_instantiate_costs_no_more_than_the_timeout(tmp_path):
    path = without_backend(tmp_path)
    result = ssptool.simulate(path, stop_time=1.0, isolated=True, timeout=5.0)
    assert not result.ok
    assert "Instantiate" in str(result.failure) and "Waiting" in str(result.failure)


apart = pytest.mark.skipif(not AVAILABLE, reason="FMUs have processes of their own on Linux only")


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("processes", [pytest.param(True, marks=apart), False])
def test_fmus_from_python_with_modules_of_one_name_do_not_disturb_each_other(fmi, processes, tmp_path, monkeypatch):
    """y = sin(t) / 2, though Python has one module `model` per process; without processes, each FMU imports its own."""
    monkeypatch.setattr("ssptool.engine.assembly.instances.AVAILABLE", processes)
    wave = python_fmu("Wave", fmi, tmp_path / "wave", module="model")
    half = python_fmu("Half", fmi, tmp_path / "half", module="model")
    path = system(tmp_path / "row", wave, half, connections=[("Wave.y", "Half.u")])
    for isolated in (True, False, False):
        result = ssptool.simulate(path, stop_time=1.0, step_size=0.1, master="gauss-seidel", isolated=isolated)
        assert result.ok, result
        assert result.trace["Half.y"] == pytest.approx(np.sin(result.trace.t) / 2, abs=1e-15)
        said = "Half has a process of its own, because resources/Half.fmu and resources/Wave.fmu both bring a Python"
        assert [note.partition(" module")[0] for note in result.notes] == [said] * processes


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("processes", [pytest.param("each", marks=apart), None])
def test_a_run_of_an_fmu_from_python_is_made_again_with_the_same_bits(fmi, processes, tmp_path):
    spring = python_fmu("Spring", fmi, tmp_path)
    path = system(tmp_path / "loop", MASS, spring, connections=[("Mass.z", "Spring.z"), ("Spring.F", "Mass.F")])
    start = {"Mass.m": M, "Mass.z": Z0, "Spring.k": K}
    output = tmp_path / "r.csv"
    settings = {"stop_time": 0.1, "step_size": 1e-3, "processes": processes}
    ssptool.simulate(path, start_values=start, output=output, isolated=True, **settings).unwrap()
    again = ssptool.reproduce(output, isolated=True)
    assert (again.verdict, again.reasons) == ("same bits", ())


@pytest.mark.parametrize("fmi", [2, 3])
def test_an_fmu_with_noise_is_iterated_down_to_its_noise(fmi, tmp_path):
    """y = sin t + u/2 + noise, u = y/2  ⇒  y = 4/3 sin t, but for what noise of at most N leaves.

    A step is accepted where the iterate x and what comes out of it differ by at most F: |u - y/2| ≤ F and, as |y| has a
    size of at most 4/3 sin 1, also |x_y - y| ≤ 4/3 F sin 1. So the error e of y has e ≤ |e_u|/2 + N with |e_u| ≤
    (e + 4/3 F sin 1)/2 + F, and F is at most 4 standard deviations of the noise, which are at most 4 N.
    """
    fmus = (python_fmu(name, fmi, tmp_path, "--handle-state") for name in ("Noisy", "Half"))
    path = system(tmp_path / "loop", *fmus, connections=[("Noisy.y", "Half.u"), ("Half.y", "Noisy.u")])
    result = ssptool.simulate(path, stop_time=1.0, step_size=0.01, master="iterated", isolated=True)
    assert result.ok, result
    deviation = np.abs(result.trace["Noisy.y"] - 4 / 3 * np.sin(result.trace.t))[1:]
    (note,) = (note for note in result.notes if "stagnated at the noise of the FMUs" in note)
    noise, left = 1e-6, 1.05 * float(note.partition("changed by up to ")[2].split()[0])  # printed with two digits
    assert left < 4 * noise
    assert 1e-7 < deviation.max() < 4 / 3 * (noise + left * (1 / 2 + np.sin(1.0) / 3))


@pytest.mark.parametrize("course", [None, "extrapolate", "interpolate"])
def test_an_fmu_that_promises_input_derivatives_and_refuses_them_has_its_inputs_held(course, tmp_path):
    """u = sin t, y = u/2 at the end of each step: of order 1 whatever is held, as sin t changes by at most h."""
    half = python_fmu("Half", 2, tmp_path, "--interpolate-inputs")
    path = system(tmp_path / "row", python_fmu("Wave", 2, tmp_path), half, connections=[("Wave.y", "Half.u")])
    result = ssptool.simulate(path, stop_time=1.0, step_size=0.01, approximation=course, isolated=True)
    assert result.ok, result
    assert np.max(np.abs(result.trace["Half.y"] - np.sin(result.trace.t) / 2)) <= 0.01 / 2 + 1e-12
    assert any("fmi2SetRealInputDerivatives returned error" in note for note in result.notes)


@apart
@pytest.mark.parametrize("fmi", [2, 3])
def test_an_fmu_that_allows_one_instance_per_process_is_used_twice(fmi, tmp_path):
    """y = sin(t) / 4 behind two halves."""
    half = python_fmu("Half", fmi, tmp_path, "--only-one-per-process")
    path = system(tmp_path / "row", python_fmu("Wave", fmi, tmp_path), half, connections=[("Wave.y", "Half.u")])
    with ssptool.edit(path) as made:
        made.add(half, name="Quarter")
        made.connect("Half.y", "Quarter.u")
    result = ssptool.simulate(path, stop_time=1.0, step_size=0.1, master="gauss-seidel", isolated=True)
    assert result.ok, result
    assert result.trace["Quarter.y"] == pytest.approx(np.sin(result.trace.t) / 4, abs=1e-15)
    assert any("canBeInstantiatedOnlyOncePerProcess" in note for note in result.notes)


def test_an_fmu_from_python_that_ends_the_run_ends_it_regularly(tmp_path):
    """y = t until it says in the step to t = 0.5 s that there is no step more."""
    result = ssptool.simulate(python_fmu("Ender", 2, tmp_path), stop_time=1.0, step_size=0.1, isolated=True)
    assert result.ok, result
    assert "Ender ended the simulation" in str(result.notes)
    assert result.trace.t[-1] == pytest.approx(0.4)
    assert result.trace["Ender.y"] == pytest.approx(result.trace.t)


def test_the_sources_that_fmpy_writes_are_compiled(tmp_path, monkeypatch):
    """y = p sin t at the end of each step."""
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    fmus = python_fmu("Wave", 3, tmp_path), of_sources(tmp_path)
    path = system(tmp_path / "row", *fmus, connections=[("Wave.y", "model.u0")])
    settings = {"step_size": 0.1, "master": "gauss-seidel", "compile": True, "start_values": {"model.p0": 3.0}}
    result = ssptool.simulate(path, stop_time=1.0, isolated=True, **settings)
    assert result.ok, result
    assert result.trace["model.y0"] == pytest.approx(3 * np.sin(result.trace.t), abs=1e-15)


def test_sources_that_nothing_lists_are_not_offered_for_compilation(tmp_path):
    """pythonfmu3 puts its C++ sources into an FMU, with a CMakeLists.txt in place of a build description."""
    bare = without_binaries(python_fmu("Wave", 3, tmp_path))
    with pytest.raises(ssptool.exceptions.MissingBinary) as refused:
        ssptool.simulate(bare, stop_time=1.0, step_size=0.1)
    assert "--compile" not in str(refused.value)
    with pytest.raises(UnusableFmu, match=r"has no sources/buildDescription\.xml"):
        ssptool.simulate(bare, stop_time=1.0, step_size=0.1, compile=True)
