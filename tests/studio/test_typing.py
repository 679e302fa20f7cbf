"""XML is checked while somebody types it, unsaved and without a gesture; the diagram follows when it is applied."""

import pytest

from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import copy_of


def test_findings_of_a_text_that_is_typed_are_told_and_nothing_changes(tmp_path):
    calls = PageCalls(EditSession(copy_of("dual_mass_oscillator", tmp_path)), lambda _: None)
    now = {one["key"] for one in calls.call("findings", {})["findings"]}
    about = calls.call("connection", {"sheet": [], "text": "System1.v1 – System2.v1"})
    where = {"file": about["file"], "line": about["line"], "before": about["xml"]}
    assert {one["key"] for one in calls.call("typed", {**where, "after": about["xml"]})["findings"]} == now
    wrong = calls.call("typed", {**where, "after": about["xml"].replace('"v1"', '"v11"', 1)})["findings"]
    assert any("v11" in one["message"] for one in wrong if one["key"] not in now)
    broken = calls.call("typed", {**where, "after": about["xml"].removesuffix("/>")})["broken"]
    assert [one["severity"] for one in broken] == ["error"]
    assert calls.call("changes", {}) == {"diff": "", "gestures": []}
    assert {one["key"] for one in calls.call("findings", {})["findings"]} == now
    with pytest.raises(WrongUsage, match="has changed in the meantime"):
        calls.call("typed", {**where, "before": "<other/>", "after": "<other/>"})
    calls.close()


@browser
def test_findings_appear_while_somebody_types_and_the_diagram_follows(studio, chromium, tmp_path):
    page = chromium(studio(copy_of("dual_mass_oscillator", tmp_path)))
    page.locator(".block[data-of=System2] .frame").click()
    page.get_by_role("button", name="Edit XML").click()
    area = page.get_by_role("textbox", name="XML of System2")
    whole = area.input_value()
    area.fill(whole.replace('name="System2"', 'name="Right"', 1))
    page.locator(".typed .finding.error", has_text="System2").first.wait_for()
    assert violations(page) == []
    assert page.locator(".block[data-of=System2]").count() == 1, "the diagram shows what is applied"
    area.fill(whole + "\n")
    page.locator(".typed").get_by_text("No new findings").wait_for()
    assert page.get_by_role("button", name="Undo").is_disabled()
    area.fill(whole.replace('name="System2"', 'name="Right"', 1))
    page.get_by_role("button", name="Apply").click()
    page.locator(".block[data-of=Right]").wait_for()
