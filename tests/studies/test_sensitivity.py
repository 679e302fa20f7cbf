"""Sobol' indices and elementary effects against functions whose sensitivities are known."""

from math import pi
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ssptool
from ssptool.studies.designs import Range
from ssptool.studies.sensitivity import Morris, Saltelli, sensitivity
from ssptool.studies.study_file import study_from
from tests.cmake_build import build
from tests.engine.systems import write_system

ROOT = Path(__file__).parents[2]
A, B = 7.0, 0.1
V1, V2, V13 = (1 + B * pi**4 / 5) ** 2 / 2, A**2 / 8, 8 * B**2 * pi**8 / 225
V = V1 + V2 + V13
FIRST, TOTAL = (V1 / V, V2 / V, 0.0), ((V1 + V13) / V, V2 / V, V13 / V)
"""Of the Ishigami function with factors uniform between -π and π (Sobol' and Levitan 1999)."""

SOURCES = {name: Range(-pi, pi) for name in ("x1", "x2", "x3")}


def ishigami(columns):
    x1, x2, x3 = (np.array(columns[name]) for name in SOURCES)
    return np.sin(x1) + A * np.sin(x2) ** 2 + B * x3**4 * np.sin(x1)


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    folder = ROOT / "build" / "engine-test-models"
    build(ROOT / "tests" / "engine" / "models", folder)
    return write_system(tmp_path_factory.mktemp("ishigami") / "system", folder / "fmi2", {"F": "Ishigami"}, [])


def study_of(system, design):
    factors = {f"F.x{k}": {"low": -pi, "high": pi} for k in (1, 2, 3)}
    settings = {"stop_time": 1.0, "step_size": 1.0}
    content = {"system": str(system), "settings": settings, "factors": factors, "design": design}
    return study_from({**content, "results": {"y": 'final("F.y")', "constant": "1.0"}})


@pytest.fixture(scope="module")
def indices(system, tmp_path_factory):
    study = study_of(system, {"kind": "saltelli", "runs": 256, "seed": 5})
    return ssptool.study(study, tmp_path_factory.mktemp("saltelli") / "s.study")


def test_indices_of_an_fmu_are_those_of_the_function_to_the_sampling_error(indices):
    assert indices.status.runs == 256 * 5
    (found,) = indices.sensitivity()  # what is constant depends on nothing
    assert (found.result, found.factors, found.used, found.lost) == ("y", ("F.x1", "F.x2", "F.x3"), 256, 0)
    for measures, exact in (("S1", FIRST), ("ST", TOTAL)):
        for one, truth in zip(found.measures[measures], exact, strict=True):
            assert one.low <= one.value <= one.high
            assert one.value == pytest.approx(truth, abs=max(one.high - one.low, 0.01))
            assert one.high - one.low < 0.5


def test_indices_are_in_table_plot_and_report(indices, tmp_path):
    text = indices.text(3)
    assert "y depends on" in text and "S1" in text and "F.x3" in text
    for name in ("p.png", "p.html"):
        ssptool.studies.plot_study(indices, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    ssptool.studies.report_study(indices, output=tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "What y depends on" in page and "What results depend on" in page


def test_indices_are_those_of_scipy():
    """The same points, and the same estimators."""
    design = Saltelli(1024, 3)
    values = ishigami(design.columns(SOURCES, {}))
    found = sensitivity(design, list(SOURCES), "y", values)
    blocks = values.reshape(5, 1024)
    f_ab = blocks[2:, np.newaxis]
    theirs = stats.sobol_indices(func={"f_A": blocks[:1], "f_B": blocks[1:2], "f_AB": f_ab}, n=1024)
    assert [one.value for one in found.measures["S1"]] == pytest.approx(theirs.first_order.ravel(), abs=1e-12)
    assert [one.value for one in found.measures["ST"]] == pytest.approx(theirs.total_order.ravel(), abs=1e-12)


def test_more_points_come_nearer():
    errors = []
    for runs in (64, 4096):
        found = sensitivity(design := Saltelli(runs, 1), list(SOURCES), "y", ishigami(design.columns(SOURCES, {})))
        errors.append(max(abs(one.value - truth) for one, truth in zip(found.measures["ST"], TOTAL, strict=True)))
    assert errors[1] < 0.02 < errors[0]


def test_points_without_a_value_are_left_out_and_counted():
    design = Saltelli(1024, 3)
    values = ishigami(design.columns(SOURCES, {}))
    values[[3, 1024 + 7, 2 * 1024 + 7, 5000]] = np.nan
    found = sensitivity(design, list(SOURCES), "y", values)
    assert (found.used, found.lost) == (1021, 3)
    for one, truth in zip(found.measures["S1"], FIRST, strict=True):
        assert one.value == pytest.approx(truth, abs=one.high - one.low)
    assert sensitivity(design, list(SOURCES), "y", np.full(5 * 1024, np.nan)) is None


def test_elementary_effects_of_a_linear_function_are_its_slopes_over_the_ranges():
    sources = {"a": Range(0.0, 2.0), "b": Range(-1.0, 0.0), "c": Range(0.0, 1.0)}
    design = Morris(20, 1)
    columns = {name: np.array(values) for name, values in design.columns(sources, {}).items()}
    found = sensitivity(design, list(sources), "y", 3 * columns["a"] - 5 * columns["b"])
    assert [one.value for one in found.measures["µ"]] == pytest.approx([6.0, -5.0, 0.0])
    assert [one.value for one in found.measures["µ*"]] == pytest.approx([6.0, 5.0, 0.0])
    assert [one.value for one in found.measures["σ"]] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_elementary_effects_of_a_product_scatter_as_their_other_factor_does():
    """y = a b on the unit square, levels 1/8, 3/8, 5/8, 7/8: the effect of a is b, of mean 1/2 and deviation √5/8."""
    sources = {"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)}
    design = Morris(4000, 2)
    columns = {name: np.array(values) for name, values in design.columns(sources, {}).items()}
    found = sensitivity(design, list(sources), "y", columns["a"] * columns["b"])
    for mean, spread in zip(found.measures["µ"], found.measures["σ"], strict=True):
        assert mean.value == pytest.approx(0.5, abs=0.02)
        assert spread.value == pytest.approx(5**0.5 / 8, abs=0.01)


def test_trajectories_of_an_fmu_find_the_factors_that_matter(system, tmp_path):
    results = ssptool.study(study_of(system, {"kind": "morris", "trajectories": 30, "seed": 4}), tmp_path / "m.study")
    assert results.status.runs <= 30 * 4  # equal points are run once
    found = next(one for one in results.sensitivity() if one.result == "y")
    assert found.used == 30
    constant = next(one for one in results.sensitivity() if one.result == "constant")
    assert {one.value for one in constant.measures["µ*"]} == {0.0}
    assert found.measures["σ"][2].value > 1.0  # x3 acts through x1 only
    assert "µ*" in results.text(3)
    ssptool.studies.plot_study(results, tmp_path / "p.svg")


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ({"kind": "saltelli", "runs": 100, "seed": 1}, "must be a power of 2 for the points to be balanced: 64 or 128"),
        ({"kind": "saltelli", "runs": 64}, "a saltelli design needs seed, so that it can be repeated"),
        ({"kind": "morris", "trajectories": 5, "seed": 1, "levels": 3}, "must be even"),
        ({"kind": "morris", "seed": 1}, "a morris design needs trajectories"),
        ({"kind": "morris", "trajectories": 5, "seed": 1, "runs": 3}, "runs"),
    ],
)
def test_a_design_that_cannot_be_is_refused_by_name(system, design, message):
    with pytest.raises(ValueError, match=message):
        ssptool.study(study_of(system, design), ROOT / "never.study")
