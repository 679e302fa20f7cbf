"""The page shows a system: diagram, nested systems, findings, loops, units, values with their origin, and XML."""

import pytest

from tests.cli.browser import browser, violations
from tests.studio.conftest import SYSTEMS


@pytest.fixture(scope="module")
def addresses(shared_studio):
    names = "mass_spring_damper", "dual_mass_oscillator"
    return {name: shared_studio(SYSTEMS / name, "--read-only") for name in names}


@pytest.fixture
def nested(addresses, chromium):
    """The page of a system with nested systems."""
    return chromium(addresses["mass_spring_damper"])


@pytest.fixture
def coupled(addresses, chromium):
    """The page of a system with an algebraic loop."""
    return chromium(addresses["dual_mass_oscillator"])


def side(page) -> str:
    return page.locator("ssp-details").inner_text()


@browser
def test_elements_are_explained_with_value_origin_and_xml(coupled):
    coupled.locator(".block[data-of=System1] .frame").click()
    coupled.get_by_role("heading", name="System1").wait_for()
    assert "SystemStructure.ssd:12" in side(coupled)
    coupled.locator("summary", has_text="System1.m1 = 1 kg").click()
    assert "set by" in side(coupled)
    assert '<ssd:Component name="System1"' in side(coupled)
    coupled.keyboard.press("Escape")
    assert "Select an element" in side(coupled)


@browser
def test_lines_have_units_and_those_of_a_loop_stand_out(coupled):
    coupled.locator("ssp-diagram .unit").first.wait_for(state="attached")
    units = coupled.locator("ssp-diagram .unit").all_text_contents()
    assert sorted(units) == ["N", "m", "m/s", "m/s2"]
    coupled.locator(".wire.loop").first.wait_for(state="attached")
    loop = {one.get_attribute("data-connections") for one in coupled.locator(".wire.loop").all()}
    assert loop == {'["System2.F – System1.F"]', '["System1.a1 – System2.a1"]'}
    coupled.get_by_role("checkbox", name="Units").uncheck()
    assert coupled.locator("ssp-diagram .unit").count() == 0
    coupled.get_by_role("checkbox", name="Units").check()


@browser
def test_a_narrow_window_has_diagram_and_panels_below_each_other(coupled):
    coupled.set_viewport_size({"width": 390, "height": 800})
    diagram, panels = (coupled.locator(name).bounding_box() for name in ("ssp-diagram", "#drawer"))
    assert diagram["width"] == panels["width"] == 390
    assert panels["y"] >= diagram["y"] + diagram["height"] > diagram["y"]
    assert coupled.evaluate("document.documentElement.scrollWidth") == 390


@browser
def test_nested_systems_open_in_diagram_and_tree(nested):
    nested.locator(".block[data-of=first]").dblclick(force=True)
    nested.locator(".block[data-of='first/mass']").wait_for()
    assert nested.locator("#trail").inner_text() == "MassSpringDampers › first"
    nested.get_by_role("complementary", name="Systems").get_by_role("button", name="second", exact=True).click()
    nested.locator(".block[data-of='second/mass']").wait_for()
    nested.get_by_role("navigation").get_by_role("button", name="MassSpringDampers").click()
    nested.locator(".block[data-of=wall]").wait_for()


@browser
def test_search_finds_connectors_and_units_in_all_systems(nested):
    nested.keyboard.press("/")
    nested.keyboard.type("spring_damper position [m]")
    found = nested.get_by_role("list", name="Found").get_by_role("button")
    found.nth(1).wait_for()
    assert found.all_inner_texts() == ["first.spring_damper", "second.spring_damper"]
    nested.keyboard.press("Enter")
    nested.locator(".block.selected[data-of='first/spring_damper']").wait_for()


@browser
def test_findings_are_listed_and_counted_at_their_elements(nested):
    card = nested.locator(".finding", has_text="the input 'F' of 'first' is not connected")
    assert "SSD-CONN-101" in card.inner_text()
    badge = nested.locator(".block[data-of=first] .badge title")
    assert "SSD-CONN-101: the input 'F' of 'first' is not connected" in badge.text_content()
    card.get_by_role("button").click()
    nested.get_by_role("heading", name="first").wait_for()
    assert "SSD-CONN-101" in side(nested)


@browser
def test_the_keyboard_reaches_elements_and_opens_systems(nested):
    nested.locator(".block[data-of=second]").focus()
    nested.keyboard.press("Enter")
    nested.locator(".block[data-of='second/mass']").wait_for()
    nested.get_by_role("navigation").get_by_role("button", name="MassSpringDampers").press("Enter")
    nested.locator(".block[data-of=wall]").wait_for()


@browser
def test_iterations_and_residuals_of_a_run_are_seen(coupled):
    coupled.get_by_role("tab", name="Run").click()
    coupled.get_by_text("More settings").click()
    coupled.get_by_label("Keep iterations", exact=True).check()
    coupled.get_by_label("Master").select_option("iterated")
    coupled.get_by_label("Stop time").fill("0.02")
    coupled.locator("#run").click()
    coupled.locator(".runs li", has_text="completed").wait_for()
    coupled.get_by_text("Iterations and residuals").click()
    coupled.locator("#iterations-plot .main-svg").first.wait_for()
    coupled.locator("details.iterations tbody td", has_text="macro steps of System1, System2").first.wait_for()
    assert violations(coupled) == []


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(nested, coupled, scheme):
    for page in (nested, coupled):
        page.emulate_media(color_scheme=scheme)
        page.locator(".block .frame").first.click(force=True)
        page.locator("ssp-details h2").wait_for()
        assert violations(page) == []
