"""Bands of signals of one run, of which some are exact and some are not, against closed forms."""

import json

import numpy as np
import pytest

import ssptool
from ssptool.engine.trace import Column
from ssptool.errors import UnusableFile
from tests.accuracy.parts import Part, write_part
from tests.engine.systems import write_system

STOP, STEP = 2.0, 0.01
HELD = {"step_size": STEP, "master": "jacobi", "approximation": "hold", "accuracy": "check"}
CLOCK = Part(states={"now": (0.25, "1")}, outputs={"y": "now"})
CHAIN = Part(
    inputs={"u": 0.25},
    states={"speed": (0.3, "1.7 * u"), "place": (-4.0, "speed")},
    outputs={"w": "speed", "x": "place"},
)
WIRES = [("Clock.y", "Chain.u")]
ON = Part(inputs={"u": 0.25}, kept={"is_on": False}, outputs={"on": "is_on"}, each_step="is_on = u > 1.3;")


def exact(t):
    """speed' = 1.7 (t + 0.25), place' = speed."""
    speed = 0.3 + 1.7 * (t**2 / 2 + 0.25 * t)
    place = -4 + 0.3 * t + 1.7 * (t**3 / 6 + 0.25 * t**2 / 2)
    return {"Clock.y": t + 0.25, "Chain.w": speed, "Chain.x": place}


def system(folder, parts, wires=WIRES):
    for name, part in parts.items():
        write_part(folder / f"{name}.fmu", part)
    return write_system(folder / "system", folder, {name: name for name in parts}, wires, STOP, implementation="any")


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return system(tmp_path_factory.mktemp("chain"), {"Clock": CLOCK, "Chain": CHAIN})


@pytest.fixture(scope="module")
def written(chain, tmp_path_factory):
    return ssptool.simulate(chain, output=tmp_path_factory.mktemp("runs") / "r.csv", **HELD)


def true_errors(result):
    return {name: np.max(np.abs(result[name] - values)) for name, values in exact(result.t).items()}


def test_each_signal_has_its_own_error(written):
    errors = written.accuracy.errors
    assert "Clock.y" not in errors and "Chain.u" not in errors
    assert max(errors, key=errors.get) == written.accuracy.signal
    assert errors[written.accuracy.signal] == written.accuracy.error
    for name in ("Chain.w", "Chain.x"):
        true = true_errors(written)[name] / np.ptp(exact(written.t)[name])
        assert true / 3 <= errors[name] <= 3 * true
    assert ssptool.read_manifest(written.output)["accuracy"]["errors"] == errors


def test_bands_are_as_wide_as_the_error_of_their_signal(written):
    true, drawn = true_errors(written), ssptool.plot(written.output)
    bands = {curve.label: curve.error for curve in drawn.curves}
    assert bands["Clock.y"] == 0.0
    for name in ("Chain.w", "Chain.x"):
        assert true[name] / 3 <= bands[name] <= 3 * true[name]
    assert any("each signal" in note for note in drawn.notes)
    assert not ssptool.plot(written.output, signals="Clock.y").notes


def test_comparisons_allow_each_signal_its_own_error(written):
    truth = ssptool.types.Trace.of(written.t, [(Column(name), one) for name, one in exact(written.t).items()])
    comparison = ssptool.compare(written.output, truth)
    stated, true = {one.signal: one.stated for one in comparison.signals}, true_errors(written)
    assert stated["Clock.y"] < 1e-11 and not comparison.beyond
    assert all(true[name] / 3 <= stated[name] <= 3 * true[name] for name in ("Chain.w", "Chain.x"))
    only = ssptool.compare(written.output, truth, signals="Chain.x")
    assert only.errors == (written.accuracy.errors["Chain.x"], None)
    longer = [(Column(f"model.root.{name}"), one) for name, one in exact(written.t).items()]
    prefixed = ssptool.compare(written.output, ssptool.types.Trace.of(written.t, longer), drop_prefix="model.root.")
    assert {one.signal: one.stated for one in prefixed.signals} == stated


def test_reports_say_how_wide_bands_are_at_most(chain, written):
    assert "estimated error of each signal, at most" in ssptool.report(chain, written.output).html
    assert "estimated error of each" not in ssptool.report(chain, written.output, signals="Clock.y").html


def without_errors(file, error=None):
    """Results as earlier versions wrote them."""
    manifest = json.loads(file.with_name(f"{file.name}.json").read_text())
    del manifest["accuracy"]["errors"]
    manifest["accuracy"]["error"] = error or manifest["accuracy"]["error"]
    file.with_name(f"{file.name}.json").write_text(json.dumps(manifest))


def test_of_earlier_results_the_worst_signal_counts_for_all(chain, tmp_path):
    result = ssptool.simulate(chain, output=tmp_path / "r.csv", **HELD)
    without_errors(result.output)
    drawn = ssptool.plot(result.output)
    for curve in drawn.curves:
        assert curve.error == pytest.approx(result.accuracy.error * np.ptp(curve.y))
    assert any("worst signal" in note for note in drawn.notes)
    without = ssptool.compare(result.output, result)
    both = {one.signal: one.stated for one in ssptool.compare(result, result).signals}
    assert all(one.stated > both[one.signal] for one in without.signals if one.signal != result.accuracy.signal)


def test_a_switch_that_shifts_widens_no_band(tmp_path):
    """It is true at 1.06 s, and noticed with the input of the step before."""
    parts, wires = {"Clock": CLOCK, "Chain": CHAIN, "Switch": ON}, [*WIRES, ("Clock.y", "Switch.u")]
    result = ssptool.simulate(system(tmp_path, parts, wires), **{**HELD, "step_size": 0.04})
    errors = result.accuracy.errors
    assert errors["Switch.on"] >= result.t[result["Switch.on"]][0] / STOP - 1.05 / STOP
    bands = {curve.label: curve.error for curve in ssptool.plot(result, signals=["Chain.*", "Switch.on"]).curves}
    assert bands["Switch.on"] == 0.0
    assert bands["Chain.x"] == pytest.approx(errors["Chain.x"] * np.ptp(result["Chain.x"]))


def test_model_exchange_shows_errors_inside_one_fmu_alone(tmp_path):
    """Explicit Euler inside the chain, beside a clock that is exact: y' = −3 y."""
    decay = Part(states={"level": (5.0, "-3 * level")}, outputs={"y": "level"}, euler=0.02, exchange=True)
    clock = CLOCK.able(exchange=True)
    written = system(tmp_path, {"Clock": clock, "Decay": decay}, [])
    result = ssptool.simulate(written, step_size=0.1, implementation="cs", accuracy="check")
    true = np.max(np.abs(result["Decay.y"] - 5 * np.exp(-3 * result.t))) / np.ptp(result["Decay.y"])
    assert true / 3 <= result.accuracy.errors["Decay.y"] <= 3 * true
    assert result.accuracy.errors.get("Clock.y", 0.0) < 1e-8


def test_a_late_jump_counts_for_the_signals_that_it_moves(tmp_path):
    """A blow at 1.90190 s, noticed with the step before."""
    strike = Part(outputs={"force": "time > 1.9019 ? 100 : 0"})
    one = Part(
        inputs={"force": 0.0},
        states={"place": (0.5, "speed"), "speed": (0.0, "force - 40000 * (place - 0.5)")},
        outputs={"x": "place"},
    )
    parts = {"Strike": strike, "One": one, "Clock": CLOCK, "Chain": CHAIN}
    written = system(tmp_path, parts, [("Strike.force", "One.force"), *WIRES])
    result = ssptool.simulate(written, **{**HELD, "step_size": 0.002, "record": ["One.x", "Clock.y", "Chain.*"]})
    since = np.maximum(result.t - 1.9019, 0)
    truth = {**exact(result.t), "One.x": 0.5 + 100 / 40000 * (1 - np.cos(200 * since))}
    for name in ("One.x", "Chain.w", "Chain.x"):
        true = np.max(np.abs(result[name] - truth[name])) / np.ptp(truth[name])
        assert true / 3 <= result.accuracy.errors[name] <= 3 * true
    assert result.accuracy.errors.get("Clock.y", 0.0) < 1e-10


def stating(result, folder, error):
    """A copy of results whose manifest states this error of one signal."""
    manifest = json.loads(result.output.with_name("r.csv.json").read_text())
    manifest["accuracy"]["errors"]["Chain.x"] = error
    (folder / "r.csv").write_bytes(result.output.read_bytes())
    (folder / "r.csv.json").write_text(json.dumps(manifest))
    return folder / "r.csv"


def test_an_error_that_is_not_finite_is_read_again_and_has_no_band(written, tmp_path):
    copy = stating(written, tmp_path, "INF")
    assert ssptool.read_manifest(copy)["accuracy"]["errors"]["Chain.x"] == np.inf
    bands = {curve.label: curve.error for curve in ssptool.plot(copy, tmp_path / "r.html").curves}
    assert bands["Chain.x"] == 0.0 and bands["Chain.w"] > 0.0


def test_a_damaged_error_is_named(written, tmp_path):
    with pytest.raises(UnusableFile, match=r"r\.csv.*accuracy\.errors\.Chain\.x"):
        ssptool.plot(stating(written, tmp_path, "large"))
