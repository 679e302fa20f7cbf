"""Runs in the page: started from everywhere, named, saved, deleted, and shown again after a reload."""

import pytest

import ssptool
from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.run_settings import settings_of
from ssptool.studio.runs import difference
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import copy_of
from tests.studio.test_runs import QUICK, ended
from tests.waiting import until


@pytest.fixture
def system(tmp_path):
    return copy_of("dual_mass_oscillator", tmp_path)


@pytest.fixture
def calls(system):
    calls = PageCalls(EditSession(system), lambda _: None)
    yield calls
    calls.close()


def test_differences_are_new_changed_and_missing_things():
    assert difference({"step size": "1", "a": ""}, {"step size": "2", "a": "", "b": ""}) == "step size 2, b"
    assert difference({"a": ""}, {}) == "without a"
    assert difference({"a": ""}, {"a": ""}) == ""


def test_runs_are_named_by_what_differs_and_renamed_and_deleted(calls):
    calls.call("run", {"settings": QUICK})
    ended(calls)
    calls.call("edit", {"edits": [{"verb": "set", "name": "System1.m1", "value": "3"}]})
    calls.call("run", {"settings": {**QUICK, "step_size": "20ms"}})
    ended(calls, 2)
    labels = [one["label"] for one in calls.call("runs", {})["runs"]]
    assert labels == ["run 1", "run 2: step size 20ms, set System1.m1 3"]
    assert calls.call("rename_run", {"run": 1, "name": " light "})["label"] == "light"
    until(lambda: not any(one["accuracy"]["checking"] for one in calls.call("runs", {})["runs"]))
    calls.call("delete_run", {"run": 1})
    assert [one["number"] for one in calls.call("runs", {})["runs"]] == [2]
    with pytest.raises(WrongUsage, match="no run 1"):
        calls.call("values", {"run": 1, "time": 0})
    calls.call("run", {"settings": QUICK})
    assert ended(calls, 2)["number"] == 3, "a number is not used again"


def test_a_run_is_saved_as_results_and_as_a_report(calls, system):
    calls.call("run", {"settings": QUICK})
    ended(calls)
    calls.call("save_run", {"run": 1, "name": "first.parquet"})
    calls.call("save_run", {"run": 1, "name": "first.html"})
    result = ssptool.simulate(system, stop_time=0.5, step_size=0.01, master="jacobi")
    saved = ssptool.read_trace(system.parent / "first.parquet")
    assert saved["System1.x1"].tolist() == result["System1.x1"].tolist()
    assert "DualMassOscillator" in (system.parent / "first.html").read_text()
    for name in ("first.html", "../other.csv", "none"):
        with pytest.raises((WrongUsage, FileExistsError)):
            calls.call("save_run", {"run": 1, "name": name})


def test_settings_are_grouped_as_in_the_help_and_read_as_typed(calls):
    groups = {one["group"]: [each["name"] for each in one["settings"]] for one in calls.call("runs", {})["settings"]}
    assert groups["Usual"][:2] == ["stop_time", "step_size"]
    assert "max_iterations" in groups["Coupling"]
    assert "integrator" in groups["Model exchange"]
    calls.call("run", {"settings": {**QUICK, "master": "iterated", "max_iterations": "30", "tolerance": "1e-9"}})
    assert ended(calls)["status"] == "completed"
    with pytest.raises(WrongUsage, match="max_iterations"):
        calls.call("run", {"settings": {**QUICK, "max_iterations": "few"}})


def test_values_for_components_signals_and_measures_are_read_as_typed(calls):
    assert {"System1", "System2"} == set(calls.call("setting_names", {"setting": "substeps"}))
    assert "System2.F" in calls.call("setting_names", {"setting": "delay"})
    assert "relative" in calls.call("setting_names", {"setting": "convergence"})
    stated = {
        "substeps": {"System1": "4", "System2": "auto"},
        "delay": {"System2.F": "10ms"},
        "convergence": {"absolute": "1e-7", "residual-relative": "1e-3"},
        "power_bonds": {"System1.v1": "System2.F"},
        "processes": "2",
    }
    settings = settings_of(stated)
    assert settings.substeps == {"System1": 4, "System2": "auto"}
    assert settings.delay == {"System2.F": 0.01}
    assert settings.convergence == {"absolute": 1e-7, "residual-relative": 1e-3}
    assert settings.power_bonds == (("System1.v1", "System2.F"),)
    assert settings.processes == 2
    for wrong in ({"substeps": {"System1": "few"}}, {"substeps": {"System9": "2"}}, {"delay": {"System2.F": "soon"}}):
        with pytest.raises(WrongUsage, match=r"few|System9|soon"):
            calls.call("run", {"settings": {**QUICK, **wrong}})


@browser
def test_a_component_gets_steps_of_its_own_which_the_plan_tells_and_a_reload_keeps(studio, chromium, system):
    page = chromium(studio(system))
    page.get_by_role("tab", name="Run").click()
    page.get_by_text("More settings").click()
    page.get_by_role("button", name="Add a value of substeps").click()
    page.get_by_label("substeps: NAME").fill("System1")
    assert page.locator("#run-substeps-names option[value=System1]").count() == 1
    page.get_by_label("substeps: N", exact=True).fill("4")
    page.get_by_label("Stop time").fill("0.5")
    page.get_by_text("More settings (substeps)").wait_for()
    page.get_by_role("button", name="Plan").click()
    page.locator("#panel-runs tr", has_text="substeps").get_by_text("4").wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".runs li", has_text="completed · stop time 0.5, substeps System1 4").wait_for()
    page.reload()
    page.get_by_text("More settings (substeps)").click()
    assert page.get_by_label("substeps: N", exact=True).input_value() == "4"
    page.get_by_role("button", name="Remove this value of substeps").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_text("run 2: without substeps").wait_for()


@browser
def test_a_run_begins_in_the_header_and_its_values_are_alive(studio, chromium, system):
    page = chromium(studio(system))
    assert page.locator("#panel-runs").is_hidden()
    page.get_by_role("tab", name="Run").click()
    page.get_by_label("Stop time").fill("2000")
    page.get_by_role("tab", name="Findings").click()
    page.locator("#running").get_by_role("button", name="Run").click()
    page.locator("#panel-runs").wait_for()
    page.locator(".unit.value").first.wait_for(state="attached")
    stop = page.locator("#running").get_by_role("button", name="Cancel")
    assert stop.is_visible(), "the run goes on"
    before = page.locator("output").inner_text()
    page.wait_for_function("before => document.querySelector('output').textContent !== before", arg=before)
    stop.click()
    page.get_by_text("cancelled").first.wait_for()


@browser
def test_a_run_is_renamed_and_deleted_by_its_menu_and_a_reload_shows_all_as_it_was(studio, chromium, system):
    page = chromium(studio(system))
    page.get_by_role("tab", name="Run").click()
    page.get_by_label("Stop time").fill("0.5")
    for step in ("10ms", "20ms"):
        page.get_by_label("Step size", exact=True).fill(step)
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator(".runs li", has_text=f"completed · stop time 0.5, step size {step}").wait_for()
    page.get_by_text("run 2: step size 20ms").wait_for()
    page.get_by_role("button", name="More for run 2").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_label("Name", exact=True).fill("coarse")
    page.keyboard.press("Enter")
    page.locator(".runs", has_text="coarse").wait_for()
    page.locator(".block[data-of=System2] .frame").click()
    page.locator("#zoom-in").click()
    view = page.locator("ssp-diagram").evaluate("diagram => diagram.view.join()")
    page.locator("#minimap").wait_for()
    page.get_by_label("Colours of the page").select_option("dark")
    dark = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(dark) == "rgb(20, 25, 31)"
    page.reload()
    page.locator(".block.selected[data-of=System2]").wait_for()
    page.locator(".runs", has_text="coarse").wait_for()
    page.locator("#plot .trace").first.wait_for(state="attached")
    assert page.locator("ssp-diagram").evaluate("diagram => diagram.view.join()") == view
    assert page.get_by_label("Step size", exact=True).input_value() == "20ms"
    assert page.evaluate(dark) == "rgb(20, 25, 31)"
    assert violations(page) == []
    page.get_by_label("Colours of the page").select_option("contrast")
    assert violations(page) == []
    page.get_by_role("button", name="More for coarse").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.locator(".runs", has_text="coarse").wait_for(state="detached")


@browser
def test_the_minimap_brings_another_part_into_view(studio, chromium, system):
    page = chromium(studio(system))
    map = page.locator("#minimap")
    assert map.is_hidden(), "all is in sight"
    for _ in range(5):
        page.locator("#zoom-in").click()
    box = map.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    x, _, width, _ = page.locator("ssp-diagram").evaluate("diagram => diagram.view")
    left, _, whole, _ = page.locator("ssp-diagram").evaluate("diagram => diagram.home")
    assert x + width / 2 == pytest.approx(left + 0.9 * whole, rel=0.02)
