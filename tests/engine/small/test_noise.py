"""Iterated steps of FMUs whose outputs are not exact: where iterations stop converging, stagnate or diverge."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import ssptool
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu

MASS = Path(__file__).parents[3] / "systems" / "one_dof_oscillator" / "resources" / "Mass.fmu"
M, K, Z0 = 0.03575, 69.48, 0.0016
OMEGA = np.sqrt(K / M)
WIRES = [("M.z", "S.z"), ("M.v", "S.v"), ("S.F", "M.F")]
RANDOM = "static uint32_t seed = 1; seed = seed * 1664525u + 1013904223u; double noise = seed / 2147483648.0 - 1;"
NOMINAL = 'nominal="0.1"'
SPRING = (
    Var("z", "input", start=0.0),
    Var("v", "input", start=0.0),
    Var("F", "output", needs=["z", "v"], attributes=NOMINAL),
)
FOLLOWS = "return OK;"


def spring(folder, force, version=2):
    """A spring on one of our masses; its `force` in C."""
    make_fmu(
        folder / "Spring.fmu",
        SPRING,
        version=version,
        me=None,
        cs='canInterpolateInputs="true"',
        calc=force,
        lead=FOLLOWS,
        step="v->time = t + h; return OK;",
    )
    shutil.copy(MASS, folder / "Mass.fmu")
    return write_system(folder / "system", folder, {"M": "Mass", "S": "Spring"}, WIRES)


def simulate(folder, **settings):
    """In a process of its own, where the noise begins anew."""
    settings = ssptool.Settings(**{"stop_time": 0.2, "step_size": 1e-3, **settings})
    return run(ssptool.plan(folder, settings=settings), Folder(folder), isolated=True)


def amplitude(t):
    return Z0 * np.cos(OMEGA * t)


@pytest.mark.parametrize("eps", [1e-9, 4e-7, 1e-5])
@pytest.mark.parametrize("kind", ["random", "rounded"])
def test_what_is_left_at_the_noise_of_an_fmu_is_accepted(tmp_path, eps, kind):
    """An error of at most eps N of the force moves the undamped mass by at most eps t / (m ω), beyond the error that
    the same coupling has without noise.
    """
    force = f"{RANDOM} v->F = -{K} * v->z + {eps} * noise;"
    if kind == "rounded":
        force = f"v->F = {2 * eps} * round(-{K} * v->z / {2 * eps});"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    exact = simulate(spring(tmp_path / "a", f"v->F = -{K} * v->z;")).trace
    result = simulate(spring(tmp_path / "b", force))
    assert result.ok and result.last_time == pytest.approx(0.2)
    t = result.trace.t
    coupling = np.abs(exact["M.z"] - amplitude(t))
    error = np.abs(result.trace["M.z"] - amplitude(t))
    assert np.all(error <= coupling + eps * t / (M * OMEGA) + 1e-12)
    noted = [note for note in result.notes if "noise of the FMUs" in note]
    assert len(noted) == (kind == "random")


def noisy(folder, eps):
    return spring(folder, f"{RANDOM} v->F = -{K} * v->z + {eps} * noise;")


def test_a_run_whose_steps_do_not_converge_is_not_completed(tmp_path):
    """Noise of half the size of the force cannot be accepted as the end of an iteration; without one, it makes up at
    most 5e-2 · 0.2 / (m ω) = 4 Z0.
    """
    result = simulate(noisy(tmp_path, 5e-2))
    assert not result.ok
    assert "10 of 10 macro steps of M, S did not converge as planned" in result.failure.message
    assert "10 with extrapolated inputs" in result.failure.message and "--master jacobi" in result.failure.advice
    other = simulate(tmp_path / "system", master="jacobi").unwrap()
    assert np.all(np.abs(other["M.z"]) < 5 * Z0)


def test_a_master_that_was_asked_for_fails_with_the_right_word(tmp_path):
    result = simulate(noisy(tmp_path, 5e-2), master="iterated")
    assert not result.ok and "stagnates after 30 iterations" in result.failure.message
    assert "the noise of the FMUs is 0." in result.failure.message
    assert result.failure.advice == "step without iterations (--master jacobi)"
    assert simulate(tmp_path / "system", master="jacobi").ok


def test_an_answer_that_is_too_steep_for_plain_iteration_diverges(tmp_path):
    """k = 1e8 N/m at h = 1 ms: an end force moves the mass by h²/(6 m) per N, so the iteration grows by 466."""
    folder = spring(tmp_path, "v->F = -1e8 * v->z;")
    result = simulate(folder, acceleration="none")
    assert "diverges" in result.failure.message and "--acceleration newton or iqn-ils" in result.failure.advice
    # These converge; after 13 steps, which are not stable themselves, such a run would fail.
    for acceleration in "newton", "iqn-ils":
        assert simulate(folder, acceleration=acceleration, stop_time=0.01).ok
