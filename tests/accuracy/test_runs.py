"""Stated errors of runs against their true errors, which closed forms tell."""

import json
from pathlib import Path

import numpy as np
import pytest

import ssptool
from tests.safety.command_line import typed
from tests.systems.exact_dual_mass import DualMass

pytestmark = pytest.mark.one_in(3)

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"


def true_error(result, exact):
    """Largest error of all signals, relative to their ranges."""
    return max(np.max(np.abs(result[name] - exact[name])) / np.ptp(exact[name]) for name in exact)


def exact_oscillator(t, **parameters):
    of_part = {"x1": "System1", "v1": "System1", "a1": "System1", "F": "System2"}
    signals = DualMass(**parameters).signals(t)
    return {f"{part}.{name}": signals[name] for name, part in of_part.items()}


COUPLINGS = [
    {"master": "jacobi", "approximation": "hold"},
    {"master": "jacobi", "approximation": "extrapolate"},
    {"master": "gauss-seidel", "approximation": "hold"},
    {"master": "iterated", "approximation": "hold"},
    {"master": "iterated", "approximation": "interpolate"},
    {"master": "iterated", "approximation": "interpolate", "input_order": 2},
    {"master": "jacobi", "approximation": "hold", "substeps": {"System1": 3}},
    {"exchange": "late"},
    {"implementation": "me", "tolerance": 1e-4},
    {"implementation": "me", "tolerance": 1e-6, "integrator": "dormand-prince"},
]


@pytest.mark.parametrize("step", [0.05, 0.01])
@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
def test_the_true_error_is_within_three_times_the_stated_one(coupling, step):
    values = {"System1.m1": 1.7, "System1.c1": 0.4}
    settings = {**coupling, "step_size": step, "stop_time": 4}
    result = ssptool.simulate(OSCILLATOR, accuracy="check", start_values=values, **settings)
    true = true_error(result, exact_oscillator(result.t, m1=1.7, c1=0.4))
    assert result.accuracy.error is not None
    assert true <= 3 * result.accuracy.error
    assert result.accuracy.error <= 30 * true


@pytest.mark.parametrize(("coupling", "order"), [(COUPLINGS[0], 1), (COUPLINGS[1], 2), (COUPLINGS[4], 2)])
def test_the_order_of_the_coupling_is_observed(coupling, order):
    accuracy = ssptool.simulate(OSCILLATOR, step_size=0.005, stop_time=4, accuracy="check", **coupling).accuracy
    assert accuracy.order == pytest.approx(order, abs=0.25)
    assert accuracy.steps == pytest.approx((0.005, 0.0025, 0.00125))


def test_energy_from_nowhere_is_seen():
    """An undamped oscillator with a force that is held: the amplitude grows by 62 % in a second."""
    settings = {"step_size": 1e-3, "master": "jacobi", "approximation": "hold", "stop_time": 1}
    accuracy = ssptool.simulate(SYSTEMS / "one_dof_oscillator", accuracy="check", **settings).accuracy
    assert accuracy.error > 0.2


def test_the_last_step_may_be_shorter():
    settings = {"step_size": 0.03, "stop_time": 1, "master": "jacobi", "approximation": "hold"}
    result = ssptool.simulate(OSCILLATOR, accuracy="check", **settings)
    t = result.t
    assert t[-1] == 1.0 and len(t) == 35
    true = max(np.max(np.abs(result["System1.x1"][:-1] - exact_oscillator(t[:-1])["System1.x1"])) / 0.5, 0)
    assert true <= 3 * result.accuracy.error


def test_rows_that_are_left_out_do_not_matter():
    settings = {"step_size": 0.01, "stop_time": 2, "master": "jacobi", "approximation": "hold", "accuracy": "check"}
    every = ssptool.simulate(OSCILLATOR, every=7, **settings).accuracy
    assert every.error == pytest.approx(ssptool.simulate(OSCILLATOR, **settings).accuracy.error, rel=0.3)
    only = ssptool.simulate(OSCILLATOR, record="System1.x1", **settings).accuracy
    assert only.signal == "System1.x1"


def test_nothing_is_checked_without_being_asked_in_python():
    assert ssptool.simulate(OSCILLATOR, stop_time=0.1).accuracy.method == "not checked"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"realtime": 1000.0}, "kept pace"),
        ({"stop_time": 0}, "no step"),
    ],
)
def test_runs_that_cannot_be_checked_say_why(settings, words):
    accuracy = ssptool.simulate(OSCILLATOR, **{"stop_time": 0.1, **settings}, accuracy="check").accuracy
    assert accuracy.error is None and words in accuracy.remark


def test_a_function_is_not_called_again():
    """It may have effects outside, or belong to something that does not go back in time."""
    times = []
    part = OSCILLATOR / "resources" / "System1.fmu"
    settings = {"step_size": 0.01, "stop_time": 0.05, "accuracy": "check"}
    result = ssptool.simulate(part, inputs={"System1.F": lambda t: times.append(t) or 2 * t}, **settings)
    assert result.accuracy.error is None and "function" in result.accuracy.remark
    assert times == sorted(times)


def test_the_finer_runs_leave_logs_and_results_as_they_are(tmp_path):
    settings = {"step_size": 0.01, "stop_time": 0.5, "master": "iterated"}
    for name, accuracy in (("plain", "off"), ("checked", "check")):
        folder = tmp_path / name
        folder.mkdir()
        ssptool.simulate(
            OSCILLATOR,
            output=folder / "r.csv",
            fmu_log=folder / "log.csv",
            log_coupling=folder / "c.csv",
            accuracy=accuracy,
            **settings,
        )
    for file in ("r.csv", "log.csv", "c.csv"):
        assert (tmp_path / "plain" / file).read_bytes() == (tmp_path / "checked" / file).read_bytes()
    manifest = json.loads((tmp_path / "checked" / "r.csv.json").read_text())
    assert manifest["accuracy"]["method"] == "halved" and manifest["accuracy"]["error"] > 0
    assert json.loads((tmp_path / "plain" / "r.csv.json").read_text())["accuracy"]["error"] is None


@pytest.mark.parametrize("isolated", [False, True])
def test_the_trace_is_kept_only_if_asked_for(isolated, tmp_path):
    result = ssptool.simulate(
        OSCILLATOR, stop_time=0.1, keep=False, output=tmp_path / "r.parquet", accuracy="check", isolated=isolated
    )
    assert result.kept is None and result.accuracy.error is not None
    assert ssptool.read_manifest(tmp_path / "r.parquet")["accuracy"]["error"] == result.accuracy.error


@pytest.mark.parametrize(
    ("stated", "arguments", "told"),
    [
        ("", (), "coupling error"),
        ('accuracy = "off"', (), None),
        ('accuracy = "off"', ("--accuracy", "check"), "order 2.0"),
        ("accuracy = 1e-4", (), "asked for: 0.0001"),
        ('accuracy = "off"', ("--no-settings",), "coupling error"),
    ],
)
def test_the_settings_file_states_the_check_of_runs(tmp_path, monkeypatch, stated, arguments, told):
    (tmp_path / "ssptool.toml").write_text(stated)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SSPTOOL_ACCURACY")
    shown = typed("run", OSCILLATOR, "--stop-time", "1", *arguments, "--verbose").out
    lines = [line for line in shown.splitlines() if line.startswith("accuracy")]
    assert lines == [] if told is None else told in lines[0]


def test_a_check_that_there_is_not_is_refused_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "ssptool.toml").write_text('strict = true\naccuracy = "always"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ssptool.exceptions.InvalidSettings, match=r"ssptool\.toml:2: accuracy is 'always'.*off, auto, check"
    ):
        ssptool.validate(OSCILLATOR)
