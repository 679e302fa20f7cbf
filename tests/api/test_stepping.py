"""`ssptool.Simulation`, as a program uses it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


def test_a_system_is_stepped_read_set_saved_and_resumed(tmp_path):
    settings = ssptool.Settings(stop_time=0.2)
    with ssptool.Simulation(SYSTEM, settings=settings) as one:
        assert one.get("System2.F") == approx(5.0, abs=1e-12)
        one.run_until(0.1)
        one.set("System2.k3", 30.0)
        one.save(tmp_path / "state")
        one.run_until(0.2)
    with ssptool.Simulation(SYSTEM, settings=settings, saved=tmp_path / "state") as other:
        assert other.time == approx(0.1)
        other.run_until(0.2)
    assert np.array_equal(other.trace.y, one.trace.y[101:])


def test_a_system_with_errors_is_refused_before_anything_is_loaded(tmp_path):
    copy = shutil.copytree(SYSTEM, tmp_path / "broken")
    (copy / "resources" / "System1.fmu").unlink()
    with pytest.raises(ssptool.exceptions.InvalidSystem, match=r"System1\.fmu"):
        ssptool.Simulation(copy)
