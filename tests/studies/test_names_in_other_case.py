"""Names of variables and signals in studies that differ from those of the system in upper and lower case."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.trace import Column
from ssptool.types import Trace
from tests.studies.conftest import OSCILLATOR
from tests.systems.exact_dual_mass import DualMass

SETTINGS = {"step_size": 0.002, "stop_time": 4}


def study(factors, results):
    table = {"system": str(OSCILLATOR), "settings": SETTINGS, "start_values": {"SYSTEM1.M1": 1.7}}
    return table | {"factors": factors, "results": results, "accuracy": "off"}


def test_factors_and_measured_signals_are_found(tmp_path):
    factors = {"system2.K2": [5.0, 13.0], "System1.C1": [0.4]}
    peaks = ssptool.study(study(factors, {"peak": 'max("system1.X1")'}), tmp_path / "out")["peak"]
    t = np.linspace(0, 4, 2001)
    exact = [np.max(DualMass(m1=1.7, c1=0.4, k2=stiffness).signals(t)["x1"]) for stiffness in (5.0, 13.0)]
    assert peaks == pytest.approx(exact, rel=2e-3)


def test_results_have_the_unit_of_the_signal(tmp_path):
    factors = {"system2.K2": {"values": [13000], "unit": "mN/m"}, "System1.C1": [0.4]}
    units = {"mN/m": {"kg": 1, "s": -2, "factor": 1e-3}}
    table = study(factors, {"peak": 'max("system1.X1")'}) | {"units": units}
    results = ssptool.study(table, tmp_path / "out")
    exact = np.max(DualMass(m1=1.7, c1=0.4, k2=13.0).signals(np.linspace(0, 4, 2001))["x1"])
    assert results["peak"] == pytest.approx([exact], rel=2e-3)
    assert results.units["peak"] == "m"


def test_columns_of_a_measurement_are_found(tmp_path):
    t = np.linspace(0, 4, 201)
    measured = Trace.of(t, [(Column("SYSTEM1.x1", "m"), DualMass(m1=1.7, c1=0.4, k2=13.0).signals(t)["x1"])])
    factors = {"system2.K2": {"low": 5, "high": 40}, "system1.C1": {"low": 0.1, "high": 2}}
    fit = ssptool.calibrate(study(factors, {}), tmp_path / "out", data=measured)
    assert fit["system2.K2"].value == pytest.approx(13.0, rel=1e-2)
    assert fit["system1.C1"].value == pytest.approx(0.4, rel=5e-2)
    with pytest.raises(KeyError, match="System2\\.c2"):
        fit["System2.c2"]


def test_a_variable_has_one_factor(tmp_path):
    table = study({"System2.k2": [5.0], "system2.K2": [13.0]}, {"peak": 'max("System1.x1")'})
    with pytest.raises(ssptool.exceptions.BadData, match=r"System2\.k2 is set by 'System2\.k2' already"):
        ssptool.study(table, tmp_path / "out")


def test_results_of_a_run_are_found():
    result = ssptool.simulate(OSCILLATOR, stop_time=0.1, step_size=0.01, output=None)
    assert np.array_equal(result["system1.X1"], result["System1.x1"])
    assert "SYSTEM1.X1" in result and "System1.x7" not in result
