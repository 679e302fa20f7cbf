"""The page of a diagram in a browser: it opens nested systems, finds, traces, and keeps its view in its address."""

from pathlib import Path

import pytest

from tests.cli.browser import browser, violations
from tests.drawing.sheets.test_sheets import connector, element, system

SYSTEMS = Path(__file__).parents[2] / "systems"


@pytest.fixture
def diagram(ssptool, tmp_path, page):
    """Draws one of the example systems and opens the page."""

    def opened(name: str):
        assert ssptool("draw", SYSTEMS / name, "--output", tmp_path / "d.html")[0] == 0
        page.goto((tmp_path / "d.html").as_uri())
        return page

    return opened


def traced(page) -> set[str]:
    """Names of the elements that are not pale."""
    found = page.locator("section.shown .picture:visible .block.near")
    return {one.get_attribute("data-of") for one in found.all()}


def shows(page, system: str) -> bool:
    """Whether the page comes to show this system: it follows its address by an event."""
    return page.wait_for_selector(f"section.shown[id='{system}']") is not None


def numbers(text: str) -> list[float]:
    return [float(number) for number in text.split()]


@browser
def test_a_diagram_opens_nested_systems_and_zooms(diagram):
    page = diagram("mass_spring_damper")
    assert violations(page) == []
    page.get_by_role("link", name="Open first").click()
    assert shows(page, "system/first")
    drawing = page.locator("section.shown svg.sheet")
    before = drawing.get_attribute("viewBox")
    page.get_by_role("button", name="Zoom in").click()
    assert drawing.get_attribute("viewBox") != before
    page.get_by_role("button", name="Fit").click()
    assert numbers(drawing.get_attribute("viewBox")) == numbers(before)
    page.go_back()
    assert shows(page, "system")
    assert violations(page) == []
    assert page.errors == []


@browser
def test_a_diagram_shows_what_is_inside_in_place(diagram):
    page = diagram("mass_spring_damper")
    mass = page.locator("section.shown text", has_text="mass").first
    assert not mass.is_visible()
    page.get_by_label("Show the content of elements").check()
    assert page.locator("section.shown .inside text", has_text="mass").first.is_visible()
    before = page.locator("section.shown .inside svg").get_attribute("viewBox")
    page.get_by_role("button", name="Zoom in").click()
    assert page.locator("section.shown .inside svg").get_attribute("viewBox") != before
    page.get_by_role("link", name="Open first").and_(page.locator(":visible")).click(position={"x": 20, "y": 20})
    assert shows(page, "system/first")
    assert violations(page) == []
    assert page.errors == []


@browser
def test_an_address_that_is_written_late_leads_nowhere_else(diagram):
    page = diagram("mass_spring_damper")
    page.evaluate("""() => {
      let write;
      window.setTimeout = task => { write = task; };
      document.getElementById('in').click();
      location.hash = '#system/first';
      write();  // before the page is told of its new address
    }""")
    assert shows(page, "system/first")
    assert page.errors == []


@browser
def test_elements_are_found_by_name_unit_or_description_in_all_systems(diagram):
    page = diagram("mass_spring_damper")
    page.keyboard.press("/")
    page.keyboard.type("spring_damper position [m]")
    assert page.locator("#found").inner_text() == "2 found"
    for name in ("first", "second", "first"):
        page.keyboard.press("Enter")
        assert shows(page, f"system/{name}")
        assert traced(page) == {f"{name}/mass", f"{name}/spring_damper"}
    assert "s_a: input Real [m]; Position of the mass" in page.locator("#facts").inner_text()
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert traced(page) == set()
    assert page.locator("#facts").inner_text().startswith("Point at an element")
    assert page.errors == []


@browser
def test_an_element_of_the_name_is_found_before_those_that_are_connected_to_it(diagram):
    page = diagram("flyball_governor")
    page.keyboard.press("/")
    page.keyboard.type("coupler")
    page.keyboard.press("Enter")
    assert page.locator("#found").inner_text().endswith(": Coupler")
    page.keyboard.press("Shift+Enter")
    assert page.locator("#found").inner_text().startswith("3 of 3: ")


@browser
def test_a_click_traces_an_element_with_its_neighbours_or_one_line(diagram):
    page = diagram("flyball_governor")
    page.locator("section.shown .picture:visible .block[data-of=Slider]").click(force=True)
    assert traced(page) == {"Slider", "Coupler"}
    assert "Slider.s – Coupler.s" in page.locator("#facts").inner_text().splitlines()
    line = page.locator("section.shown .picture:visible path.wire[data-from=Arms][data-to=Spindle]").first
    way = line.evaluate("""e => {
      const p = e.getPointAtLength(e.getTotalLength() / 3).matrixTransform(e.getScreenCTM());
      return [p.x, p.y];
    }""")
    page.mouse.click(way[0] + 1, way[1] + 1)
    assert traced(page) == {"Arms", "Spindle"}
    page.keyboard.press("Escape")
    assert traced(page) == set()
    assert page.errors == []


@browser
def test_type_unit_and_value_path_are_told_of_what_is_pointed_at(diagram):
    page = diagram("mass_spring_damper")
    page.get_by_role("link", name="Open first").click()
    mass = page.locator("section.shown .picture:visible .block[data-of='first/mass']")
    facts = page.locator("#facts")
    mass.locator(".connector").first.hover(force=True)
    assert "first.mass.F = first.F (Force from outside)" in facts.inner_text().splitlines()
    assert "input of resources/SlidingMass.fmu, Float64 [N], resources/MassSpringDamper.ssd:19" in facts.inner_text()
    mass.locator(".frame").click(force=True)
    facts.get_by_text("first.mass.m = 2 kg (mass)").click()
    assert "set by" in facts.inner_text()
    assert "bound to first at SystemStructure.ssd:27" in facts.inner_text()
    other = page.locator("section.shown .picture:visible .block[data-of='first/spring_damper'] .frame")
    other.hover(force=True)
    assert facts.inner_text().startswith("mass"), "what is traced stays"
    page.keyboard.press("Escape")
    page.mouse.move(5, 5)
    other.hover(force=True)
    assert facts.inner_text().startswith("spring_damper")
    assert violations(page) == []
    assert page.errors == []


@browser
def test_groups_of_a_large_system_open(ssptool, tmp_path, page):
    parts = "".join(element(f"C{n}", connector("u", "input") + connector("y", "output")) for n in range(70))
    lines = "".join(
        f'<ssd:Connection startElement="C{n}" startConnector="y" endElement="C{n + 1}" endConnector="u"/>\n'
        for n in range(69)
    )
    assert ssptool("draw", system(tmp_path / "s", parts, lines), "--output", tmp_path / "d.html")[0] == 0
    page.goto((tmp_path / "d.html").as_uri())
    page.get_by_role("link", name="Open Group 1").first.click()
    page.locator("section.shown[id='system/Group 1']").wait_for()
    page.locator("section.shown .block[data-of=C1] .frame").click(force=True)
    assert traced(page) == {"C0", "C1", "C2"}
    page.get_by_role("link", name="S", exact=True).click()
    page.locator("section.shown[id='system']").wait_for()
    assert violations(page) == []
    assert page.errors == []


ADDRESS_FOLLOWS = """() => {
  const state = new URLSearchParams(location.hash.split('?')[1]);
  const view = document.querySelector('section.shown .picture > svg').getAttribute('viewBox').split(' ');
  return state.has('at') && state.get('view') === view.map(v => +(+v).toFixed(3)).join(' ');
}"""


@browser
def test_the_address_keeps_view_and_trace(diagram):
    page = diagram("mass_spring_damper")
    page.get_by_role("link", name="Open second").click()
    page.locator("section.shown .picture:visible .block[data-of='second/mass']").click(force=True)
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_function(ADDRESS_FOLLOWS)
    drawing = page.locator("section.shown .picture:visible svg.sheet")
    view, address = numbers(drawing.get_attribute("viewBox")), page.url
    page.goto("about:blank")
    page.goto(address)
    assert shows(page, "system/second")
    assert numbers(drawing.get_attribute("viewBox")) == pytest.approx(view, abs=1e-3)
    assert traced(page) == {"second/mass", "second/spring_damper"}
    page.keyboard.press("0")
    assert numbers(drawing.get_attribute("viewBox")) != pytest.approx(view, abs=1e-3)
    assert page.errors == []


@browser
@pytest.mark.parametrize(
    "hash", ["#system?view=1+2+-3+4&at=none", "#%", "#system/none?view=NaN", "#?", "#system?inside=1"]
)
def test_addresses_that_nobody_wrote_show_the_system(diagram, hash):
    page = diagram("mass_spring_damper")
    home = page.locator("section.shown .picture:visible svg.sheet").get_attribute("viewBox")
    address = page.url.partition("#")[0] + hash
    page.goto("about:blank")
    page.goto(address)
    assert shows(page, "system")
    if "inside" not in hash:
        shown = page.locator("section.shown .picture:visible svg.sheet").get_attribute("viewBox")
        assert numbers(shown) == numbers(home)
    assert page.errors == []
