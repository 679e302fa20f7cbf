"""While nothing in a system is selected, the page shows what its document states about it; all of it can be edited."""

import pytest

from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import copy_of


@pytest.fixture
def calls(tmp_path):
    made = PageCalls(EditSession(copy_of("mass_spring_damper", tmp_path)), lambda _: None)
    yield made
    made.close()


def test_a_system_has_its_experiment_and_the_parts_of_its_document(calls):
    about = calls.call("system", {"sheet": []})
    assert about["experiment"] == ["0", "5"]
    parts = {one["heading"]: one for one in about["parts"]}
    assert {"Default experiment", "Units"} <= set(parts)
    units = parts["Units"]
    text = (calls._session.path / "SystemStructure.ssd").read_text().splitlines()
    assert text[units["line"] - 1].strip().startswith("<ssd:Units")
    assert units["xml"].startswith("<ssd:Units") and units["xml"].endswith("</ssd:Units>")


def test_the_text_of_a_part_can_be_replaced_and_undone(calls):
    part = next(one for one in calls.call("system", {"sheet": []})["parts"] if one["heading"] == "Default experiment")
    after = part["xml"].replace('stopTime="5"', 'stopTime="7.5"')
    calls.call("rewrite", {"file": part["file"], "line": part["line"], "before": part["xml"], "after": after})
    assert calls.call("system", {"sheet": []})["experiment"] == ["0", "7.5"]
    calls.call("undo", {})
    assert calls.call("system", {"sheet": []})["experiment"] == ["0", "5"]


def test_nested_systems_have_their_own_parts_and_no_experiment(calls):
    nested = next(one["path"] for one in calls.call("model", {})["systems"] if one["path"])
    about = calls.call("system", {"sheet": nested})
    assert about["title"] == ".".join(nested)
    assert about["experiment"] is None
    with pytest.raises(WrongUsage, match="no system"):
        calls.call("system", {"sheet": ["nowhere"]})


def test_a_part_that_starts_in_the_line_of_another_element_has_no_text_of_that(tmp_path):
    system = copy_of("dual_mass_oscillator", tmp_path)
    file = system / "SystemStructure.ssd"
    text = file.read_text()
    one_line = " ".join(line.strip() for line in text.splitlines())
    file.write_text(one_line)
    calls = PageCalls(EditSession(system), lambda _: None)
    try:
        about = calls.call("system", {"sheet": []})
        assert about["experiment"] == ["0", "10"]
        assert [one["xml"] for one in about["parts"]] == [""] * len(about["parts"])
    finally:
        calls.close()


@browser
def test_the_experiment_and_the_units_are_edited_in_the_page(studio, chromium, tmp_path):
    page = chromium(studio(copy_of("mass_spring_damper", tmp_path)))
    details = page.locator("ssp-details")
    page.get_by_role("heading", name="Units").wait_for()
    stop = page.get_by_role("textbox", name="Stop of the experiment [s]")
    assert stop.input_value() == "5"
    stop.fill("2 min")
    stop.press("Enter")
    details.locator("pre", has_text='stopTime="120"').wait_for()
    page.get_by_role("button", name="Edit units").click()
    area = page.get_by_role("textbox", name="XML of Units")
    area.fill(
        area.input_value().replace(
            "</ssd:Units>", '  <ssc:Unit name="min"><ssc:BaseUnit s="1" factor="60"/></ssc:Unit>\n</ssd:Units>'
        )
    )
    page.get_by_role("button", name="Apply").click()
    details.locator("pre", has_text='name="min"').wait_for()
    assert violations(page) == []
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    details.locator("pre", has_text='stopTime="5"').wait_for()
