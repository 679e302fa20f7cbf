"""Crowded sheets are drawn from afar without what nobody could read, and whole when somebody looks closer."""

import pytest

from benchmarks.studio_page import write_system
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.cli.browser import browser


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """120 components with places, and 1 200 connections."""
    return write_system(tmp_path_factory.mktemp("large") / "large", 120, placed=True)


def test_a_picture_from_afar_has_all_elements_and_lines(system):
    calls = PageCalls(EditSession(system), lambda _: None)
    far, whole = (calls.call("sheet", {"path": [], "afar": afar}) for afar in (True, False))
    assert far["blocks"] == whole["blocks"]
    for count in ('class="block"', 'class="wire"', 'class="name"'):
        assert far["svg"].count(count) == whole["svg"].count(count) > 0
    assert far["svg"].count('class="connector"') == 0 < whole["svg"].count('class="connector"') == 2400
    assert not far["whole"] and whole["whole"]
    assert len(far["svg"]) < 0.5 * len(whole["svg"])
    calls.close()


@browser
def test_connectors_appear_when_somebody_looks_closer(studio, chromium, system):
    page = chromium(studio(system))
    page.locator(".block").first.wait_for(state="attached")
    assert page.locator(".connector").count() == 0
    view = "document.querySelector('ssp-diagram').picture.getAttribute('viewBox')"
    page.get_by_role("button", name="Zoom in").focus()
    for _ in range(12):
        page.keyboard.press("+")
    page.locator(".connector").first.wait_for(state="attached")
    near = page.evaluate(view)
    page.get_by_role("button", name="Fit").click()
    page.wait_for_function(f"({view}) !== {near!r}")


@browser
def test_the_wheel_scales_a_crowded_picture_and_draws_it_when_it_rests(studio, chromium, system):
    page = chromium(studio(system))
    diagram = page.locator("ssp-diagram")
    page.locator(".block").first.wait_for(state="attached")
    home = diagram.evaluate("diagram => diagram.view")
    box = diagram.bounding_box()
    assert box is not None
    at = [box["x"] + 0.3 * box["width"], box["y"] + 0.6 * box["height"]]
    under = """(diagram, [clientX, clientY]) => { const {x, y} = diagram.point({clientX, clientY}); return [x, y]; }"""
    before = diagram.evaluate(under, at)
    page.mouse.move(*at)
    for _ in range(5):
        page.mouse.wheel(0, -100)
    wanted = "width => Math.abs(document.querySelector('ssp-diagram').view[2] / width - 1) < 1e-9"
    page.wait_for_function(wanted, arg=home[2] / 1.1**5)
    view = diagram.evaluate("diagram => diagram.view")
    assert view[3] / view[2] == pytest.approx(home[3] / home[2])
    assert diagram.evaluate(under, at) == pytest.approx(before, rel=1e-3)
    corner = box["x"] + 3, box["y"] + 3
    page.mouse.move(*corner)
    page.mouse.down()
    page.mouse.move(corner[0] + 40, corner[1] + 20, steps=3)
    page.mouse.up()
    size = min(box["width"] / view[2], box["height"] / view[3])
    assert diagram.evaluate("diagram => diagram.view") == pytest.approx(
        [view[0] - 40 / size, view[1] - 20 / size, *view[2:]], rel=1e-6
    )
    assert diagram.locator(".glass").evaluate("glass => glass.style.transform") == ""
