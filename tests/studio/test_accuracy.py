"""The accuracy of runs of the studio: as on the command line, beside whatever else goes on."""

import pytest

import ssptool
from ssptool.engine.run import accuracy_check
from ssptool.studio import checks
from tests.accuracy.parts import Part, write_part
from tests.cli.browser import browser, violations
from tests.engine.systems import write_system
from tests.studio.conftest import copy_of
from tests.studio.test_runs import ended, opened, run_of
from tests.waiting import until

COARSE = {"stop_time": "2", "step_size": "20ms", "master": "jacobi", "approximation": "hold"}
HANGING = Part(
    inputs={"u": 0.5}, states={"x": (2.0, "-3 * x + u")}, outputs={"y": "x"}, each_step="if (h < 0.06) for (;;) {}"
)
"""A component that never ends a step of less than 60 ms."""


@pytest.fixture
def by_default(monkeypatch):
    """As without the variable that switches checks off in tests."""
    monkeypatch.delenv("SSPTOOL_ACCURACY")


@pytest.fixture
def oscillator(tmp_path):
    calls = opened(copy_of("dual_mass_oscillator", tmp_path))
    yield calls
    calls.close()


@pytest.fixture
def hanging(tmp_path, by_default):
    """A run that has ended, and whose check does not."""
    write_part(tmp_path / "Lag.fmu", HANGING)
    write_part(tmp_path / "Clock.fmu", Part(outputs={"y": "1.5 * time"}))
    components = {"Lag": "Lag", "Clock": "Clock"}
    calls = opened(write_system(tmp_path / "system", tmp_path, components, [("Clock.y", "Lag.u")]))
    calls.call("run", {"settings": {"step_size": "0.1", "master": "jacobi"}})
    until(lambda: "steps of" in accuracy_of(calls)["words"])
    yield calls
    calls.close()


def accuracy_of(calls, number=1):
    return run_of(calls, number)["accuracy"]


def checked(calls, number=1):
    """The accuracy of a run, when its check has ended."""
    ended(calls, number)
    return until(lambda: (found := accuracy_of(calls, number)) and not found["checking"] and found)


def test_a_short_run_is_checked_as_on_the_command_line(oscillator, by_default):
    oscillator.call("run", {"settings": COARSE})
    found = checked(oscillator)
    assert run_of(oscillator, 1)["status"] == "completed"
    expected = ssptool.simulate(
        oscillator._session.path, stop_time=2, step_size=0.02, master="jacobi", approximation="hold", accuracy="check"
    ).accuracy
    assert found["words"].startswith(str(expected).partition("; `")[0])
    assert "--" not in found["words"] and not found["can_check"]
    (curve, band) = oscillator.call("plot", {"runs": [1], "signals": ["System1.x1"]})["data"]
    assert "toself" in (curve.get("fill"), band.get("fill"))


def test_a_longer_run_is_checked_when_it_is_asked_for(oscillator, by_default, monkeypatch):
    for module in (accuracy_check, checks):
        monkeypatch.setattr(module, "AUTO_SECONDS", 0.0)
    oscillator.call("run", {"settings": COARSE})
    found = checked(oscillator)
    assert "takes about" in found["words"] and found["can_check"]
    oscillator.call("check", {"run": 1})
    found = checked(oscillator)
    assert "of the range of" in found["words"] and not found["can_check"]
    with pytest.raises(Exception, match="run 1"):
        oscillator.call("check", {"run": 1})


def test_the_documents_of_the_run_are_checked_and_not_those_of_now(oscillator):
    oscillator.call("run", {"settings": COARSE})
    assert checked(oscillator) == {"words": "not checked", "checking": False, "can_check": True}
    oscillator.call("edit", {"edits": [{"verb": "set", "name": "System1.m1", "value": "30"}]})
    oscillator.call("check", {"run": 1})
    edited = checked(oscillator)["words"]
    oscillator.call("undo", {})
    oscillator.call("run", {"settings": COARSE})
    checked(oscillator, 2)
    oscillator.call("check", {"run": 2})
    assert checked(oscillator, 2)["words"] == edited


def test_an_earlier_run_cannot_be_checked_any_more(oscillator):
    for number in (1, 2):
        oscillator.call("run", {"settings": COARSE})
        checked(oscillator, number)
    assert [accuracy_of(oscillator, number)["can_check"] for number in (1, 2)] == [False, True]


def test_a_check_goes_on_beside_another_run_and_can_be_cancelled(hanging):
    first = run_of(hanging, 1)
    assert first["status"] == "completed" and first["accuracy"]["checking"]
    hanging.call("run", {"settings": {"step_size": "0.2", "stop_time": "0.4", "master": "jacobi"}})
    assert ended(hanging, 2)["status"] == "completed"
    assert accuracy_of(hanging)["checking"]
    hanging.call("cancel", {"run": 1})
    found = checked(hanging)
    assert "cancelled" in found["words"] and found["can_check"]
    assert run_of(hanging, 1)["status"] == "completed" and run_of(hanging, 1)["rows"] == 11


def test_closing_ends_a_check(hanging):
    hanging.close()
    assert not accuracy_of(hanging)["checking"]


def test_a_cancelled_run_is_not_checked(oscillator, by_default):
    oscillator.call("run", {"settings": {"stop_time": "1000", "step_size": "10us"}})
    oscillator.call("cancel", {})
    assert ended(oscillator)["status"] == "cancelled"
    assert accuracy_of(oscillator) == {"words": "", "checking": False, "can_check": False}


def test_an_accuracy_of_the_settings_file_decides_the_step(tmp_path, by_default, monkeypatch):
    path = copy_of("dual_mass_oscillator", tmp_path)
    (tmp_path / "ssptool.toml").write_text("accuracy = 1e-3\n")
    monkeypatch.chdir(tmp_path)
    calls = opened(path)
    calls.call("run", {"settings": {**COARSE, "approximation": "", "master": ""}})
    assert "asked for: 0.001" in checked(calls)["words"]
    calls.close()


@browser
def test_the_page_has_the_line_and_a_button(studio, chromium, tmp_path):
    """Checks are off in tests, so that the page offers one."""
    page = chromium(studio(copy_of("dual_mass_oscillator", tmp_path)))
    page.get_by_role("tab", name="Run").click()
    page.get_by_label("Stop time").fill("2")
    page.get_by_label("Step size", exact=True).fill("20ms")
    page.locator("#run").click()
    line = page.locator(".accuracy")
    line.get_by_role("button", name="Check", exact=True).click()
    page.wait_for_function("() => document.querySelector('.accuracy')?.textContent.includes('of the range of')")
    assert not line.get_by_role("button").count()
    assert violations(page) == []
