"""Studies beside the system are started, watched and cancelled; their results are those of the command line."""

import pytest

import ssptool
from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import copy_of
from tests.waiting import until

STUDY = """system = "dual_mass_oscillator"
[settings]
stop_time = 0.2
step_size = 0.01
[factors]
"System2.k2" = [5, 10, 20]
[results]
force = 'initial("System2.F")'
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    copy_of("dual_mass_oscillator", folder)
    (folder / "springs.toml").write_text(STUDY)
    (folder / "other.toml").write_text(STUDY.replace("dual_mass", "other"))
    return folder


@browser
def test_a_study_is_started_and_its_results_appear(studio, chromium, folder):
    page = chromium(studio(folder / "dual_mass_oscillator"))
    page.get_by_role("tab", name="Studies").click()
    page.get_by_text("no runs yet").wait_for()
    assert page.get_by_label("Study", exact=True).locator("option").all_inner_texts() == ["springs.toml"]
    page.get_by_role("button", name="Start").click()
    page.get_by_text("3 of 3 runs").wait_for()
    page.get_by_role("button", name="Start").wait_for()
    page.locator("#panel-studies tbody tr").nth(2).wait_for()
    rows = page.locator("#panel-studies tbody tr").all()
    cells = [[float(cell) for cell in row.locator("td").all_inner_texts()[1:3]] for row in rows]
    assert sorted(cells) == [[5, 2.5], [10, 5], [20, 10]], "F = k2 · 0.5 m"
    page.locator("#study-plot .main-svg").first.wait_for()
    assert violations(page) == []
    assert ssptool.studies.study_results(folder / "springs.study").status.ok


@browser
def test_ticked_parameters_become_a_study_that_is_started(studio, chromium, tmp_path):
    page = chromium(studio(copy_of("dual_mass_oscillator", tmp_path)))
    page.get_by_role("tab", name="Parameters").click()
    make = page.get_by_role("button", name="New study…")
    assert make.is_disabled()
    page.get_by_label("Vary System2.k2 in a study").check()
    make.click()
    assert page.get_by_label("System2.k2 [N/m]").input_value() == "8 to 12 in 3", "± 20 % of 10 N/m"
    assert violations(page) == []
    page.get_by_label("System2.k2 [N/m]").fill("5 to 20 in 4")
    page.get_by_label("Result", exact=True).fill('initial("System2.F")')
    page.get_by_label("Stop time").fill("0.2")
    page.get_by_role("button", name="Create").click()
    page.get_by_text("no runs yet").wait_for()
    page.get_by_role("button", name="Start").click()
    page.get_by_text("4 of 4 runs").wait_for()
    found = ssptool.studies.study_results(tmp_path / "study.study").rows()
    assert sorted((one["System2.k2"], one["result"]) for one in found) == [(5, 2.5), (10, 5), (15, 7.5), (20, 10)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"factors": {"System2.k9": "5, 10"}}, "no variable 'System2.k9'"),
        ({"factors": {"System2.k2": "20 to 5"}}, "is not a range"),
        ({"factors": {"System2.k2": " , "}}, "has no values"),
        ({"factors": {"System2.k2": "soft"}}, "'soft' is not a number"),
        ({"result": "max(System2.F"}, "result"),
        ({"design": "none"}, "Every combination"),
        ({"stop_time": "soon"}, "stop_time"),
        ({"file": "../study.toml"}, "not the name of a study file"),
        ({"file": "there.toml"}, "choose another name"),
    ],
)
def test_a_study_that_cannot_be_run_is_not_written(tmp_path, change, message):
    (tmp_path / "there.toml").write_text(STUDY)
    calls = PageCalls(EditSession(copy_of("dual_mass_oscillator", tmp_path)), lambda _: None)
    right = {"file": "new.toml", "factors": {"System2.k2": "5, 10"}, "result": 'max("System2.F")'}
    right |= {"design": "Every combination", "stop_time": ""}
    with pytest.raises(Exception, match=message):
        calls.call("new_study", right | change)
    assert sorted(file.name for file in tmp_path.glob("*.toml")) == ["there.toml"]
    calls.call("new_study", right)
    assert {one["file"] for one in calls.call("studies", {})} == {"new.toml", "there.toml"}
    calls.close()


def end_of_study(calls):
    study = calls.call("studies", {})[0]
    return None if study["going"] else study


def test_a_study_is_cancelled_and_keeps_its_runs(tmp_path):
    path = copy_of("dual_mass_oscillator", tmp_path)
    (tmp_path / "long.toml").write_text(STUDY.replace("0.01", "1e-5").replace("[5, 10, 20]", str([*range(1, 500)])))
    events = []
    calls = PageCalls(EditSession(path), events.append)
    calls.call("start_study", {"file": "long.toml"})
    until(lambda: calls.call("studies", {})[0].get("completed"))
    calls.call("cancel_study", {})
    ended = until(lambda: end_of_study(calls))
    assert 0 < ended["completed"] < 499
    assert "interrupted after" in ended["message"]
    until(lambda: events[-1]["event"] == "study" and not events[-1]["going"])
    calls.call("edit", {"edits": [{"verb": "rename", "old": "System1", "new": "Left"}]})
    with pytest.raises(WrongUsage, match="save your edits first"):
        calls.call("start_study", {"file": "long.toml"})
    with pytest.raises(WrongUsage, match=r"other\.toml is not a study"):
        calls.call("study_table", {"file": "other.toml"})
    calls.close()


def test_what_is_wrong_with_a_study_is_told(tmp_path):
    path = copy_of("dual_mass_oscillator", tmp_path)
    (tmp_path / "wrong.toml").write_text(STUDY.replace("System2.k2", "System2.k9"))
    calls = PageCalls(EditSession(path), lambda _: None)
    calls.call("start_study", {"file": "wrong.toml"})
    assert "System2.k9" in until(lambda: end_of_study(calls))["message"]
    calls.close()
