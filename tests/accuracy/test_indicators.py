"""Signs of steps that are too large: in runs that are wrong, and none in runs that are right."""

import json
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.run.indicators import RunWarning, _of_signal
from ssptool.engine.trace import Column
from tests.engine.small.test_stiff_links import fmus, line, simulate  # noqa: F401

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
REAL, BOOLEAN = Column("A.x"), Column("A.on", type="Boolean")
T = np.arange(1001) * 0.01


def signs(column, values):
    return [(one.code, one.time) for one in _of_signal(column, T, np.asarray(values, dtype=float))]


def test_a_stiff_link_rings_until_the_steps_are_small_or_the_link_is_soft(line):  # noqa: F811
    (warning,) = simulate(line, 1e4).warnings
    assert (warning.code, warning.signal, warning.time) == ("RUN-101", "A.T", 0.0)
    assert warning.size > 12
    assert simulate(line, 10).warnings == ()


@pytest.mark.parametrize("system", sorted(path.parent.name for path in SYSTEMS.glob("*/SystemStructure.ssd")))
def test_examples_have_no_warnings(system):
    assert ssptool.simulate(SYSTEMS / system).warnings == ()


def test_few_steps_per_period_are_told_everywhere(tmp_path):
    output = tmp_path / "r.csv"
    result = ssptool.simulate(OSCILLATOR, step_size=0.2, stop_time=10, output=output, keep=True)
    (warning,) = result.warnings
    assert isinstance(warning, RunWarning)
    assert (warning.code, warning.signal) == ("RUN-102", "System2.F")
    assert 4 < warning.size < 20
    (stored,) = json.loads(Path(f"{output}.json").read_text())["warnings"]
    assert (stored["code"], stored["signal"], stored["size"]) == ("RUN-102", "System2.F", warning.size)
    assert "RUN-102" in result._repr_html_()
    assert "RUN-102" in ssptool.report(OSCILLATOR, output).html


def test_steps_per_period_are_those_of_a_sine():
    for number in (4.5, 9, 18):
        (found,) = _of_signal(REAL, T, 3 - 2 * np.sin(2 * np.pi * np.arange(1001) / number + 0.3))
        assert found.code == "RUN-102"
        assert found.size == pytest.approx(number, rel=0.02)
    assert signs(REAL, np.sin(2 * np.pi * np.arange(1001) / 21)) == []


def test_alternation_rings_but_noise_and_tolerances_do_not():
    alternating = (-1.0) ** np.arange(1001)
    assert signs(REAL, 300 + np.exp(-T) + 0.1 * alternating * (T > 2)) == [("RUN-101", pytest.approx(2.01, abs=0.011))]
    assert signs(REAL, 300 + np.exp(-T) + 1e-5 * alternating) == []
    noise = np.random.default_rng(1).normal(size=1001)
    assert [code for code, _ in signs(REAL, noise)] != ["RUN-101"]
    assert signs(REAL, T + 1e-3 * noise) == []


def test_switches_that_lie_close_together_are_told():
    on = (np.arange(1001) // 40) % 2
    assert signs(BOOLEAN, on) == []
    on[500:502] = 1 - on[500:502]
    assert signs(BOOLEAN, on) == [("RUN-103", 5.0)]


def test_values_that_are_not_finite_or_do_not_change_have_no_signs():
    assert signs(REAL, np.where(T > 5, np.nan, np.sin(T * 100))) == []
    assert signs(REAL, np.full(1001, 7.0)) == []


def test_a_run_without_a_row_has_none():
    result = ssptool.simulate(OSCILLATOR, start_values={"System1.m1": 0.0}, stop_time=1, isolated=False)
    assert (result.ok, result.rows, result.warnings) == (False, 0, ())
