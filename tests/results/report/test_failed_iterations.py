"""A run that ends in an iteration says when, why and with which residual: the same in message, manifest and report."""

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from lxml import html
from pytest import approx

import ssptool
from ssptool.engine.failure import MOST_CONNECTIONS, MOST_POINTS, Ending, residual_curves
from ssptool.engine.run.summary import result_text
from tests.cmake_build import build
from tests.engine.systems import write_system
from tests.foreign.generators import python_fmu
from tests.results.report.tables import cells
from tests.systems.peers import where_wheels_are

ROOT = Path(__file__).parents[3]
SYSTEMS = ROOT / "systems"
RING, BOTH_WAYS = {"A": "Affine", "B": "Affine"}, [("A.y", "B.u"), ("B.y", "A.u")]
LARGEST_PAGE = 1_500_000


@pytest.fixture(scope="module")
def affine(tmp_path_factory):
    """Write a system of FMUs with y = a u + b w + c, a = 1, b = c = 0 unless set."""
    models = ROOT / "build" / "engine-test-models"
    build(ROOT / "tests" / "engine" / "models", models)
    return lambda components, wires: write_system(
        tmp_path_factory.mktemp("affine") / "system", models / "fmi2", components, wires
    )


def run(system, folder, values=None, **settings):
    """The result, and the page about it."""
    output = folder / "r.csv"
    given = {name: str(value) for name, value in (values or {}).items()}
    result = ssptool.simulate(system, start_values=given, settings={"stop_time": 1.0, **settings}, output=output)
    ssptool.report(system, output, folder / "r.html")
    return result, html.parse(folder / "r.html").getroot()


def test_a_loop_without_a_solution_tells_its_residual_once(affine, tmp_path):
    """y = u + 1 both ways, x = x + 2: the residual is 2 wherever x is."""
    result, page = run(affine(RING, BOTH_WAYS), tmp_path, {"A.c": 1, "B.c": 1})
    iteration = result.failure.iteration
    assert (iteration.residual, iteration.allowed) == (approx(2.0), approx(1e-12))
    worst, other = iteration.connections
    assert (worst, abs(worst.residual), worst.relative) == (iteration.worst, approx(2.0), approx(2.0))
    assert other.residual is None
    assert other.value == approx(worst.value + 1)  # the other component adds one to what went in
    assert {(one.source, one.destination) for one in iteration.connections} == set(BOTH_WAYS)
    assert all(curve.residuals == approx([2.0] * len(curve.residuals)) for curve in iteration.curves)
    manifest = ssptool.read_manifest(tmp_path / "r.csv")
    assert manifest["failure"]["iteration"] == json.loads(json.dumps(asdict(iteration)))
    assert manifest["loops"][0]["residual_norm"] == iteration.residual
    verdict = page.xpath("//header/p")[0].text_content()
    for text in (str(result.failure), result_text(result), verdict):
        assert set(re.findall(r"relative residual (\S+)", text)) == {"2"}
    told = dict(cells(page, "Iteration that did not converge"))
    assert (told["relative residual"], told["iterations"]) == ("2", str(iteration.iterations))
    assert cells(page, "Connections of the loop")[0][3] in ("2", "-2")


def test_the_course_of_a_diverging_loop_is_that_of_a_geometric_series(affine, tmp_path):
    """x ← 3 x + 1: the residual 2 x + 1 grows threefold, and the first iterate is the best."""
    result, _ = run(affine(RING, BOTH_WAYS), tmp_path, {"A.a": 3, "A.c": 1}, init="fixed-point")
    (curve,) = result.failure.iteration.curves
    start = result.failure.iteration.worst
    assert start.residual == approx(2 * start.value + 1)
    assert curve.iterations == tuple(range(1, len(curve.iterations) + 1))
    residuals = [start.residual * 3.0 ** (number - 1) for number in curve.iterations]
    assert curve.residuals == approx(residuals)
    assert curve.allowed == approx([1e-12 * max(1.0, (residual - 1) / 2) for residual in residuals])
    assert result.failure.iteration.residual == approx(start.residual)


def test_values_have_the_units_of_their_signals_in_text_table_and_picture(tmp_path):
    """The heavy flange makes the loop gain of the oscillator -2; its first residual is 5 m/s2."""
    system = SYSTEMS / "dual_mass_oscillator"
    flange = [system / "resources" / "heavy_flange.ssv"]
    output = tmp_path / "r.csv"
    result = ssptool.simulate(system, parameters=flange, settings={"init": "fixed-point"}, output=output)
    ssptool.report(system, output, tmp_path / "r.html")
    page = html.parse(tmp_path / "r.html").getroot()
    worst = result.failure.iteration.worst
    assert (worst.source, worst.destination, worst.unit) == ("System1.a1", "System2.a1", "m/s2")
    (curve,) = result.failure.iteration.curves
    assert curve.residuals == approx([2.0 ** (number - 1) for number in curve.iterations])
    assert "System1.a1 = 0 m/s2 (residual 5 m/s2); relative residual 1 (allowed 1e-12)" in result.failure.message
    assert cells(page, "Connections of the loop") == [
        ["System1.a1", "System2.a1", "0 m/s2", "5 m/s2", "5e-12 m/s2", "1"],
        ["System2.F", "System1.F", "5 N", "", "", ""],
    ]
    (picture,) = page.xpath("//figure[@id='loop']/*[name()='svg']")
    drawn = {text.text for text in picture.iter() if text.tag == "text"}
    assert {"System1", "System2", "a1 = 0 m/s2", "residual 5 m/s2 (allowed 5e-12 m/s2)", "F = 5 N"} <= drawn
    blamed = [path.xpath("./title")[0].text for path in picture.xpath(".//path[@class='wire error']") if len(path)]
    assert blamed[0].startswith("System1.a1 → System2.a1")
    (chart,) = page.xpath("//figure[@id='residuals']/*[name()='svg']")
    said = [text.text for text in chart.iter() if text.tag == "text"]
    assert {"allowed", "best iterate: 1", "fixed point", "relative residual", "1000"} <= set(said)
    assert (tmp_path / "r.html").stat().st_size < LARGEST_PAGE


def test_a_loop_that_loses_its_solution_during_the_run_has_one_time(affine, tmp_path):
    """y = a u + 1 with a = 1 from t = 0.5 s on: until then x = 2, afterwards x = x + 1."""
    system, output = affine(RING, BOTH_WAYS), tmp_path / "r.csv"
    change = ssptool.types.Scenario((ssptool.types.Event(0.5, "A.a", "override", 1.0),), end=1.0)
    given = {"A.a": "0.5", "A.c": "1"}
    settings = {"stop_time": 1.0, "step_size": 0.1}
    result = ssptool.simulate(system, start_values=given, scenario=change, settings=settings, output=output)
    ssptool.report(system, output, tmp_path / "r.html")
    assert (result.status, result.failure.time) == (Ending.LOOP, approx(0.5))
    assert abs(result.failure.iteration.worst.residual) == approx(1.0)
    assert result.trace["A.y"][:5] == approx(2.0)
    told = dict(cells(html.parse(tmp_path / "r.html").getroot(), "Details"))
    assert (told["time"], told["cause"]) == ("0.5 s", result.failure.message)
    assert str(result.failure).startswith("at t = 0.5 s: ")


@pytest.mark.parametrize("logged", [False, True], ids=["kernel", "Python"])
def test_a_diverging_macro_step_has_all_its_iterates_whoever_did_them(logged, tmp_path):
    """The kernel iterates by itself where nothing is logged, and tells no iterates but the last."""
    settings = {"master": "iterated", "acceleration": "none", "max_iterations": 10, "step_size": 0.1}
    log = {"log_coupling": tmp_path / "log.csv"} if logged else {}
    system, output = SYSTEMS / "one_dof_oscillator", tmp_path / "r.csv"
    result = ssptool.simulate(system, variant="Newmark.ssd", settings={**settings, **log}, output=output)
    iteration = result.failure.iteration
    (curve,) = iteration.curves
    assert curve.iterations == tuple(range(1, iteration.iterations + 1))
    assert iteration.residual == min(curve.residuals) == approx(5.416097267)
    worst = iteration.worst
    assert abs(worst.residual) / abs(worst.value) == approx(iteration.residual, rel=1e-3)
    assert f"{worst.destination} changes by 5.25 N, 5.42 of its size" in result.failure.message


def made(folder, name, *options):
    """Two FMUs of pythonfmu with the equation `name`, whose outputs feed each other."""
    fmu = python_fmu(name, 2, folder, *options)
    other = Path(shutil.copy(fmu, folder / "Other.fmu"))
    with ssptool.new(folder / "pair") as system:
        system.add(fmu, other)
        system.connect(f"{name}.y", "Other.u")
        system.connect("Other.y", f"{name}.u")
    return folder / "pair"


@where_wheels_are
def test_a_pair_of_foreign_fmus_without_a_solution_fails_with_the_residual_of_its_equations(tmp_path):
    """y = u + 1 in both, x = x + 2."""
    result, page = run(made(tmp_path, "Plus"), tmp_path)
    iteration = result.failure.iteration
    assert result.status is Ending.LOOP
    assert (iteration.residual, abs(iteration.worst.residual)) == (2.0, 2.0)
    assert {row[0] for row in cells(page, "Connections of the loop")} == {"Plus.y", "Other.y"}


@where_wheels_are
def test_a_macro_step_of_foreign_fmus_without_a_solution_fails_with_its_residual(tmp_path):
    """y(t + h) = u(t + h) + 1 in both: plain iteration goes x = 0, 1, 2, …, with the residual 1, which is 1/x of x."""
    settings = {"master": "iterated", "acceleration": "none", "max_iterations": 12, "step_size": 0.25}
    result, page = run(made(tmp_path, "Late", "--handle-state"), tmp_path, **settings)
    iteration = result.failure.iteration
    assert (result.status, result.failure.time, iteration.iterations) == (Ending.COUPLING, 0.0, 12)
    assert [one.residual for one in iteration.connections] == [1.0, 1.0]
    assert [one.value for one in iteration.connections] == [11.0, 11.0]
    (curve,) = iteration.curves
    assert curve.residuals == approx([1.0, *(1 / x for x in range(1, 12))])
    assert curve.allowed == approx([1e-8] * 12)
    told = dict(cells(page, "Iteration that did not converge"))
    assert told == {"method": "fixed point", "iterations": "12", "relative residual": "0.0909", "allowed": "1e-08"}
    assert "0.0909 of its size" in result.failure.message


def test_a_large_loop_keeps_its_largest_residuals_and_counts_the_others(affine, tmp_path):
    """67 sums in a ring, each the sum of its neighbours, without a solution for a source in one place."""
    names = [f"N{number:02}" for number in range(67)]
    wires = [
        ends
        for place, name in enumerate(names)
        for ends in ((f"{names[place - 1]}.y", f"{name}.u"), (f"{names[(place + 1) % 67]}.y", f"{name}.w"))
    ]
    values = {f"{name}.{gain}": 0.5 for name in names for gain in "ab"} | {"N00.c": 1}
    result, page = run(affine(dict.fromkeys(names, "Affine"), wires), tmp_path, values)
    iteration = result.failure.iteration
    assert len(iteration.connections) == MOST_CONNECTIONS
    assert iteration.left_out == len(wires) - MOST_CONNECTIONS
    sizes = [one.relative for one in iteration.connections]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == approx(iteration.residual)
    assert sum(len(curve.residuals) for curve in iteration.curves) <= MOST_POINTS
    assert f"{iteration.left_out} connections with smaller residuals are left out." in page.text_content()
    assert (tmp_path / "r.html").stat().st_size < LARGEST_PAGE


def test_long_curves_keep_their_first_last_and_least_points():
    points = [(number, abs(number - 777) + 0.5, 1e-8) for number in range(1, 5001)]
    (curve, other) = residual_curves({"slow": points, "fast": [(1, 2.0, 1e-8), (2, float("nan"), 1e-8)]})
    assert len(curve.iterations) <= MOST_POINTS / 2
    assert (curve.iterations[0], curve.iterations[-1]) == (1, 5000)
    assert curve.residuals[curve.iterations.index(777)] == 0.5
    assert (other.iterations, other.residuals) == ((1,), (2.0,))


def test_a_failure_that_is_no_iteration_has_none(affine, tmp_path):
    """And a manifest of an earlier version, which has no such key, gives a page too."""
    result, page = run(affine(RING, BOTH_WAYS), tmp_path, {"A.a": 0.5, "A.c": 1})
    assert result.ok
    assert not page.xpath("//section[@id='failure']")
