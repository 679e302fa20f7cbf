"""Optimizations find what closed forms give, and go on where they were stopped.

A mass that is let go at 1 m, with spring and damper: mass and stiffness 1, damping d. The integral of the square of its
position is (1 + d²) / (2 d), least at d = 1; its overshoot is exp(-π ζ / √(1 - ζ²)) with ζ = d / 2.
"""

import re
from math import exp, log, pi, sqrt
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.engine.trace import Column
from ssptool.studies.calibration import read_fit, read_fitted
from ssptool.studies.charts import chart
from ssptool.studies.optimum import Constraint
from ssptool.studies.study_file import study_from, study_table
from ssptool.studies.varied_descent import CostAndViolations, Slopes, descend, most_integrations
from ssptool.studies.varied_fit import NoVariation
from tests.fmus import build as fmus
from tests.safety.command_line import typed

SYSTEM = Path(__file__).parents[2] / "systems" / "mass_spring_damper"
DAMPING = "first.spring_damper.d"
STUDY = {
    "system": str(SYSTEM),
    "settings": {"stop_time": 30, "step_size": 0.05},
    "start_values": {
        "first.mass.m": 1,
        "first.mass.theta": 0,
        "first.mass.s0": 1,
        "first.mass.v0": 0,
        "first.spring_damper.c": 1,
    },
    "factors": {DAMPING: {"low": 0.5, "high": 4.0}},
    "results": {
        "square": 'rms("first.mass.s") ** 2 * 30',
        "overshoot": '-min("first.mass.s")',
        "damping": f"value('{DAMPING}')",
    },
}
DISCRETE = 5e-4
"""What steps of 0.05 s, and an end at 30 s, leave of the closed forms, relative."""


def study_of(**design):
    return study_from({**STUDY, "design": {"kind": "optimize", "runs": 100, "seed": 1, **design}})


def test_the_best_damping_is_found(tmp_path):
    results = ssptool.study(study_of(minimize="square"), tmp_path / "s.study")
    found = results.optimum()
    assert found.best[DAMPING] == approx(1.0, abs=1e-3) and found.best["square"] == approx(1.0, rel=DISCRETE)
    assert results.status.ok and results.status.runs == found.of < 100
    assert "no better run" in found.message and f"{DAMPING} = {found.best[DAMPING]:.6g}" in results.text(3)


def test_what_is_maximized_and_constrained_is_at_the_bound_of_the_constraint(tmp_path):
    """More overshoot with less damping: that of 5 % is at ζ = 0.690."""
    study = study_of(maximize="overshoot", constraints=["overshoot <= 0.05", "damping < 1 + 1"])
    found = ssptool.study(study, tmp_path / "s.study").optimum()
    ratio = -log(0.05) / sqrt(pi**2 + log(0.05) ** 2)
    assert found.best[DAMPING] == approx(2 * ratio, rel=DISCRETE)
    assert found.best["overshoot"] == approx(0.05, rel=1e-5)
    assert 0 < len(found.feasible) < found.of


def test_derivatives_lead_to_the_optimum_in_fewer_runs(tmp_path):
    """Of mass and damping, with the integral (m + d²) / (2 d): least at d = √m, and with the least mass."""
    factors = {DAMPING: {"low": 0.5, "high": 4.0}, "first.mass.m": {"low": 0.64, "high": 2.0}}
    others = {name: value for name, value in STUDY["start_values"].items() if name not in factors}
    found = {}
    for name, more in {"derivatives": {}, "runs": {"implementation": "cs", "step_size": 1.0}}.items():
        settings = {**STUDY["settings"], **more}
        design = {"kind": "optimize", "runs": 400, "seed": 1, "minimize": "square"}
        study = study_from(
            {**STUDY, "settings": settings, "start_values": others, "factors": factors, "design": design}
        )
        found[name] = ssptool.study(study, tmp_path / name).optimum()
        assert found[name].best["first.mass.m"] == approx(0.64, abs=1e-5)
    best = found["derivatives"].best
    assert (best[DAMPING], best["square"]) == (approx(0.8, abs=2e-3), approx(0.8, rel=2e-3))
    assert "variational equations" in found["derivatives"].message
    assert "without derivatives, because the error of the coupling" in found["runs"].message
    assert found["derivatives"].of < found["runs"].of


def test_a_front_has_no_run_that_is_better_than_another_in_both(tmp_path):
    results = ssptool.study(study_of(minimize=["square", "damping"], runs=160), tmp_path / "s.study")
    found = results.optimum()
    assert found.best is None and len(found.front) > 30
    for row in found.front:
        assert row["square"] == approx((1 + row["damping"] ** 2) / (2 * row["damping"]), rel=DISCRETE)
        assert not any(
            other["square"] <= row["square"] and other["damping"] < row["damping"] for other in results.rows()
        )
    ends = [found.front[place]["damping"] for place in (0, -1)]
    assert ends == [approx(1.0, abs=0.02), approx(0.5, abs=1e-3)]
    drawn = chart(results, None, ())  # the front
    assert np.array_equal(drawn.panels[0].line[1], [row["damping"] for row in found.front])
    for kind in ("front", "convergence"):
        for ending in ("png", "html"):
            ssptool.studies.plot_study(results, tmp_path / f"{kind}.{ending}", kind=kind)
            assert (tmp_path / f"{kind}.{ending}").stat().st_size > 10_000
    ssptool.studies.report_study(results, output=tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "minimize square, minimize damping" in page and "What one objective costs of the other" in page


def test_the_best_so_far_falls_to_the_optimum(tmp_path):
    results = ssptool.study(study_of(minimize="square", runs=40), tmp_path / "s.study")
    (panel,) = chart(results, "convergence", ()).panels
    best = panel.line[1]
    assert (np.diff(best) <= 0).all() and best[-1] == results.optimum().best["square"] == min(panel.dots[1])
    assert results.status.runs <= 40


@pytest.mark.slow
def test_a_search_that_was_stopped_does_what_it_would_have_done(tmp_path):
    """Also one that is allowed more runs afterwards: its first runs are those that are there."""
    study, done = study_of(minimize="square", runs=60), []
    whole = ssptool.study(study, tmp_path / "whole").rows()

    def stop(fraction):
        done.append(fraction)
        if fraction > 0.4:
            raise KeyboardInterrupt

    with pytest.raises(ssptool.exceptions.Interrupted) as stopped:
        ssptool.study(study, tmp_path / "parts", workers=2, progress=stop)
    assert 20 <= stopped.value.status.completed < 40 and stopped.value.status.left
    assert ssptool.studies.study_results(tmp_path / "parts").optimum().message == ""
    resumed = ssptool.studies.resume_study(tmp_path / "parts", progress=done.append)
    assert {row["run"]: row["square"] for row in resumed.rows()} == {row["run"]: row["square"] for row in whole}
    assert done[-1] <= 1.0 and resumed.status.ok
    more = ssptool.study(study_of(minimize="square", runs=100), tmp_path / "parts")
    assert more.status.runs > 60 and {row["run"] for row in whole} <= {row["run"] for row in more.rows()}


def test_a_finished_search_runs_nothing_again(tmp_path, monkeypatch):
    study = study_of(minimize="square", runs=20)
    before = ssptool.study(study, tmp_path / "s.study")
    monkeypatch.setattr("ssptool.studies.optimization.open_evaluations", None)
    assert ssptool.study(study, tmp_path / "s.study").rows() == before.rows()


@pytest.mark.slow
def test_points_whose_runs_fail_are_avoided(misbehaving):
    """The least of u² is where the FMU crashes; the best that runs is at its edge."""
    crash = f"{float(fmus.WRITE_TO_NULL)} if u < 0.3 else {float(fmus.NOTHING)}"
    study = misbehaving(
        [],
        factors={"u": {"free": True, "low": 0.0, "high": 1.0}, "Bad.what": crash},
        results={"square": "u ** 2"},
        effort={"retries": 0},
        design={"kind": "optimize", "minimize": "square", "runs": 60, "seed": 2},
    )
    results = ssptool.study(study, study.system.parent / "s.study")
    assert results.optimum().best["u"] == approx(0.3, abs=0.01) and results.status.failed > 0


def test_a_search_without_any_run_that_completes_ends_after_a_generation(misbehaving):
    crash = f"u * 0 + {float(fmus.WRITE_TO_NULL)}"
    study = misbehaving(
        [],
        factors={"u": {"free": True, "low": 0.0, "high": 1.0}, "Bad.what": crash},
        results={"square": "u ** 2"},
        effort={"retries": 0},
        design={"kind": "optimize", "minimize": "square", "runs": 60, "seed": 2, "population": 4},
    )
    found = ssptool.study(study, study.system.parent / "s.study").optimum()
    assert found.of == 4 and found.best is None and "none of the first 4 runs completed" in found.verdict


def test_values_that_are_listed_are_chosen_from(tmp_path):
    factors = {DAMPING: [0.5, 0.9, 2.0], "scale": {"free": True, "values": [1.0, 2.0]}}
    content = {**STUDY, "factors": factors, "results": {**STUDY["results"], "cost": "square * scale"}}
    design = {"kind": "optimize", "minimize": "cost", "runs": 50, "seed": 1}
    found = ssptool.study(study_from({**content, "design": design}), tmp_path / "s.study").optimum()
    assert (found.best[DAMPING], found.best["scale"]) == (0.9, 1.0) and found.of <= 6


def test_the_command_prints_the_best_run(tmp_path):
    path = tmp_path / "best.toml"
    path.write_text(
        f"""
        system = "{SYSTEM}"
        settings = {{stop_time = 1, step_size = 0.1}}
        results = {{cost = "(value('{DAMPING}') - 2) ** 2"}}
        [factors]
        "{DAMPING}" = {{low = 1, high = 4}}
        [design]
        kind = "optimize"
        minimize = "cost"
        runs = 60
        seed = 1
        """
    )
    status, said, _ = typed("study", path, "--output", tmp_path / "s.study")
    assert status == 0, said
    assert "minimize cost: run" in said and "these are the most runs" in said
    assert re.search(rf"{re.escape(DAMPING)} = (1\.9999|2\.0000|2 )", said)


@pytest.mark.parametrize(
    ("design", "key", "reason"),
    [
        ({}, "design", "one objective or two: minimize or maximize = a result; found none"),
        ({"minimize": ["square", "damping", "overshoot"]}, "design", "one objective or two"),
        ({"minimize": "sqare"}, "design.minimize", "did you mean square?"),
        ({"minimize": "square", "constraints": "overshoot"}, "design.constraints", "compares two sides"),
        ({"minimize": "square", "constraints": "damping == 2"}, "design.constraints", "compares two sides"),
        ({"minimize": "square", "constraints": "overshot < 2"}, "design.constraints", "did you mean overshoot?"),
        ({"minimize": "square", "constraints": 'max("first.mass.s") < 2'}, "design.constraints", "[results]"),
        ({"minimize": "square", "population": 2}, "design.population", "at least 4"),
        ({"minimize": "square", "budget": 2}, "design.budget", "no key of an optimize design"),
    ],
)
def test_wishes_that_mean_nothing_are_found_before_the_first_run(design, key, reason):
    content = {**STUDY, "design": {"kind": "optimize", "runs": 10, "seed": 1, **design}}
    with pytest.raises(ssptool.exceptions.BadData) as found:
        ssptool.study(content, "nowhere")
    assert any(one.column == key and reason in one.message for one in found.value.findings), str(found.value)
    assert not Path("nowhere").exists()


def test_a_distribution_cannot_be_searched():
    factors = {DAMPING: {"distribution": "normal", "mean": 1, "std": 0.1}}
    design = {"kind": "optimize", "minimize": "square", "runs": 10, "seed": 1}
    with pytest.raises(ssptool.exceptions.BadData, match="an optimize design cannot use a normal distribution"):
        ssptool.study({**STUDY, "factors": factors, "design": design}, "nowhere")


def test_an_optimization_is_the_same_read_from_its_folder():
    study = study_of(minimize="square", maximize="overshoot", constraints=["overshoot <= 0.05"], population=12)
    assert study_from(study_table(study)).design == study.design


def test_violations_are_parts_of_the_larger_side():
    assert Constraint("a <= 4").violation({"a": 5.0}) == approx(0.2)
    assert Constraint("a * 2 > b").violation({"a": 4.0, "b": 10.0}) == approx(0.2)
    assert Constraint("a < b").violation({"a": 1.0, "b": 4.0}) == approx(-0.75)
    assert np.isnan(Constraint("a < b").violation({"a": None, "b": 4.0}))


def test_a_calibration_shows_its_way_and_its_fit(tmp_path):
    """Position of a critically damped mass, with d = 2: (1 + t) exp(-t)."""
    t = np.linspace(0, 10, 41)
    data = ssptool.types.Trace.of(t, [(Column("first.mass.s", "m"), [(1 + x) * exp(-x) for x in t])])
    fit = ssptool.calibrate({**STUDY, "results": {}}, tmp_path / "s.study", data=data)
    assert fit[DAMPING].value == approx(2.0, rel=1e-3)
    kept, shown = read_fit(tmp_path / "s.study"), read_fitted(tmp_path / "s.study")
    assert len(kept.history) >= fit.runs - 1 and min(kept.history) == approx(fit.residual_rms)
    assert np.array_equal(shown.measured["first.mass.s"], data["first.mass.s"])
    assert np.abs(shown.found["first.mass.s"] - data["first.mass.s"]).max() < 1e-3
    for kind in (None, "convergence"):
        ssptool.studies.plot_study(tmp_path / "s.study", tmp_path / "p.png", kind=kind)
    ssptool.studies.report_study(tmp_path / "s.study", output=tmp_path / "r.html")
    assert "The fit among what was measured" in (tmp_path / "r.html").read_text(encoding="utf-8")


def noisy(sign):
    """Values and derivatives, by `sign` of the right ones, of 2 + 3 u₀ where 4 u₀² ≥ 1.5 + 0.52 u₁, up to rounding."""

    def values(u):
        return CostAndViolations(
            2 + 3 * u[0], np.array([1.5 + 0.52 * u[1] - 4 * u[0] ** 2 + 1e-7 * np.sin(1e11 * u[0])])
        )

    def slopes(u):
        return Slopes(values(u), sign * np.array([3.0, 0.0]), sign * np.array([[-8 * u[0], 0.52]]))

    return values, slopes


def test_a_descent_ends_at_an_optimum_whose_constraint_is_known_to_rounding_only():
    met = []
    values, slopes = noisy(1)
    descend(lambda u: met.append(u) or values(u), slopes, np.array([0.9, 0.3]))
    assert met[-1] == pytest.approx([np.sqrt(1.5 / 4), 0.0], abs=1e-6)


def test_a_descent_that_finds_no_way_down_says_so():
    values, slopes = noisy(-1)
    asked = []
    with pytest.raises(NoVariation):
        descend(values, lambda u: asked.append(u) or slopes(u), np.array([0.9, 0.3]))
    assert len(asked) == most_integrations(2), "as many as the forecast names, and no more"
