"""Runs of unsaved documents in a child process: traces, values, plots, comparison, cancelling and failures."""

import shutil

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.test_isolated_runs import SYSTEM
from tests.fmus import build as fmus
from tests.studio.conftest import copy_of
from tests.waiting import until

QUICK = {"stop_time": "0.5", "step_size": "10ms", "master": "jacobi"}
ITERATED = {"stop_time": "0.1", "step_size": "10ms", "master": "iterated"}


def opened(path, events=None):
    return PageCalls(EditSession(path), lambda event: None if events is None else events.append(event))


def ended(calls, number: int = 1):
    """The run of this number when it has ended."""
    return until(lambda: (run := run_of(calls, number))["status"] != "running" and run)


def run_of(calls, number: int):
    return calls.call("runs", {})["runs"][number - 1]


@pytest.fixture(scope="module")
def oscillator(tmp_path_factory):
    """Three runs, which tests only read: of the system on disk, with an unsaved parameter, and iterated."""
    calls = opened(copy_of("dual_mass_oscillator", tmp_path_factory.mktemp("runs")))
    calls.call("run", {"settings": QUICK})
    ended(calls)
    calls.call("edit", {"edits": [{"verb": "set", "name": "System1.m1", "value": "3"}]})
    calls.call("run", {"settings": QUICK})
    ended(calls, 2)
    calls.call("run", {"settings": ITERATED, "iterations": True})
    ended(calls, 3)
    yield calls
    calls.close()


def test_a_run_is_that_of_the_command_line(oscillator, tmp_path):
    run = run_of(oscillator, 1)
    assert (run["status"], run["fraction"], run["times"], run["rows"]) == ("completed", 1.0, [0.0, 0.5], 51)
    path = copy_of("dual_mass_oscillator", tmp_path)
    result = ssptool.simulate(path, stop_time=0.5, step_size=0.01, master="jacobi")
    found = oscillator.call("values", {"run": 1, "time": 0.25})
    assert found["System1.x1"] == f"{result['System1.x1'][25]:.4g} m"


def test_the_force_at_the_start_is_5_newton(oscillator):
    """F = k2 x2 = 10 N/m · 0.5 m: all else is at rest, and the flange has no mass."""
    assert float(oscillator.call("values", {"run": 1, "time": 0})["System2.F"].removesuffix(" N")) == approx(5.0)
    figure = oscillator.call("plot", {"runs": [1], "signals": ["System2.F"]})
    assert len(figure["data"]) == 1
    assert figure["layout"]["yaxis"]["title"]["text"] == "[N]"


def test_an_unsaved_edit_counts_and_runs_are_compared(oscillator):
    """m1 a1 = F at the start: with three times the mass a third of the acceleration."""
    found = (oscillator.call("values", {"run": run, "time": 0})["System1.a1"] for run in (1, 2))
    assert [float(one.removesuffix(" m/s2")) for one in found] == approx([5.0, 5.0 / 3.0], rel=1e-3)
    headings, *rows = oscillator.call("differences", {"run": 2, "reference": 1})
    assert "signal" in headings[0].lower() and {row[0] for row in rows} >= {"System1.a1", "System1.x1"}
    figure = oscillator.call("plot", {"runs": [1, 2], "signals": ["System1.x1"]})
    assert [curve["name"] for curve in figure["data"]] == [
        "System1.x1 (run 1)",
        "System1.x1 (run 2: set System1.m1 3)",
    ]


def test_pages_are_told_of_a_run(tmp_path):
    events = []
    calls = opened(copy_of("dual_mass_oscillator", tmp_path), events)
    for number in (1, 2):
        calls.call("run", {"settings": QUICK})
        ended(calls, number)
    calls.close()
    told = [one for one in events if one["event"] == "run"]
    ends = [one["number"] for one in told if one["status"] == "completed"]
    assert ends == [1, 1, 2], "the first cannot be checked any more when the second begins"
    assert told[-1] == {"event": "run", **run_of(calls, 2)}, "the end of a run is told last"


def test_a_plan_gives_reasons_and_loads_nothing(oscillator):
    plan = oscillator.call("plan", {"settings": {"master": "jacobi"}})
    assert {"setting": "master", "value": "jacobi", "reason": "asked for "} in plan["choices"]
    assert plan["calls"]


@pytest.fixture
def misbehaving(tmp_path):
    """A system whose FMU does as its parameter `what` says, from t = 0.5 s on."""
    folder = tmp_path / "lag"
    (folder / "resources").mkdir(parents=True)
    (folder / "SystemStructure.ssd").write_text(SYSTEM, encoding="utf-8")
    shutil.copy(fmus.build() / "fmi2" / "Misbehaving.fmu", folder / "resources")
    calls = opened(folder)

    def run(what: int):
        edits = [
            {"verb": "set", "name": f"Bad.{name}", "value": str(value)}
            for name, value in (("what", what), ("when", 0.5))
        ]
        calls.call("edit", {"edits": edits})
        calls.call("run", {"settings": {"step_size": "0.1"}})
        return calls

    yield run
    calls.close()


def test_a_crash_is_told_with_its_component_and_the_rows_until_then(misbehaving):
    calls = misbehaving(fmus.ABORT)
    run = ended(calls)
    assert run["status"] == "the process of the FMUs crashed"
    assert run["failure"]["component"] == "Bad"
    assert 0 < run["rows"] < 11


def test_cancelling_ends_a_run_whose_fmu_hangs(misbehaving):
    calls = misbehaving(fmus.HANG)
    with pytest.raises(WrongUsage, match="a run is in progress"):
        calls.call("run", {"settings": {}})
    calls.call("cancel", {})
    assert ended(calls)["status"] == "cancelled"


def test_a_system_with_errors_is_not_run(tmp_path):
    path = copy_of("dual_mass_oscillator", tmp_path)
    text = (path / "SystemStructure.ssd").read_text().replace('startConnector="a1"', 'startConnector="a11"')
    (path / "SystemStructure.ssd").write_text(text)
    calls = opened(path)
    with pytest.raises(ssptool.exceptions.InvalidSystem, match="cannot be run"):
        calls.call("run", {"settings": {}})
    calls.close()


def test_names_of_runs_and_signals_are_checked(oscillator):
    with pytest.raises(Exception, match="there is no run 9"):
        oscillator.call("values", {"run": 9, "time": 0})
    with pytest.raises(Exception, match="nothere"):
        oscillator.call("plot", {"runs": [1], "signals": ["nothere.*"]})
    assert np.isfinite(run_of(oscillator, 1)["fraction"])


def test_iterations_and_residuals_of_a_run_are_kept_if_they_are_wanted(oscillator):
    run = run_of(oscillator, 3)
    assert run["iterations"] and run["status"] == "completed", run["message"]
    assert any("iterations of a macro step: " in fact for fact in run["facts"])
    names = {curve["name"]: curve for curve in oscillator.call("iterations", {"run": 3})["data"]}
    macro = next(curve for name, curve in names.items() if name.startswith("macro steps of"))
    assert len(macro["x"]) == 10 and max(macro["x"]) == approx(0.1)
    rows = oscillator.call("iterates", {"run": 3, "time": 0.055})
    steps = [one for one in rows if one["solved"].startswith("macro steps of")]
    assert [one["iteration"] for one in steps] == [*range(1, len(steps) + 1)]
    residuals = [float(one["residual"]) for one in steps]
    assert residuals[-1] < residuals[0], "the iteration converges"
    assert oscillator.call("iterations", {"run": 1}) is None, "nobody wanted them"


def test_result_files_beside_the_system_are_opened_and_compared(tmp_path):
    path = copy_of("dual_mass_oscillator", tmp_path)
    (tmp_path / "results").mkdir()
    settings = {"stop_time": 0.1, "step_size": 0.01, "master": "jacobi"}
    for file in ("earlier.csv", "results/other.csv"):
        ssptool.simulate(path, output=tmp_path / file, **settings)
    calls = opened(path)
    assert calls.call("runs", {})["files"] == ["earlier.csv", "results/other.csv"]
    for _ in range(2):  # it is there once
        run = calls.call("open_results", {"file": "earlier.csv"})
    assert (run["number"], run["name"], run["rows"]) == (1, "earlier.csv", 11)
    calls.call("run", {"settings": settings})
    ended(calls, 2)
    deviations = calls.call("differences", {"run": 2, "reference": 1})[1:]
    assert {row[0] for row in deviations} >= {"System1.x1"}
    assert len(calls.call("plot", {"runs": [1, 2], "signals": ["System1.x1"]})["data"]) == 2
    with pytest.raises(Exception, match=r"third\.csv is not a result file"):
        calls.call("open_results", {"file": "third.csv"})
    calls.close()
