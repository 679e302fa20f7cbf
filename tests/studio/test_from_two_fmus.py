"""From two FMUs to results by mouse alone: build the dual-mass oscillator, break it, fix it, run it, read the force."""

import base64
import re

import pytest

import ssptool
from tests.cli.browser import browser, violations
from tests.studio.conftest import SYSTEMS, box_of, connector_at, drag

FMUS = SYSTEMS / "dual_mass_oscillator" / "resources"
DROP = """(diagram, files) => {
  const dropped = new DataTransfer();
  for (const [name, content] of files) {
    dropped.items.add(new File([Uint8Array.from(atob(content), letter => letter.charCodeAt(0))], name));
  }
  diagram.dispatchEvent(new DragEvent('drop', {dataTransfer: dropped, bubbles: true, cancelable: true}));
}"""


def places(path) -> dict[str, tuple[float, float]]:
    """The lower left corners of the elements, which were dropped side by side."""
    with ssptool.edit(path, save=False) as editor:
        found = {one.name: (one.geometry.x1, one.geometry.y1) for one in editor.system.elements}
    assert found["System1"][1] == found["System2"][1]
    assert found["System1"][0] + 40 < found["System2"][0]
    return found


@browser
def test_the_oscillator_is_built_broken_fixed_and_run(studio, chromium, tmp_path):
    page, folder = chromium(studio("Oscillator.ssp", cwd=tmp_path)), tmp_path
    names = ["System1.fmu", "System2.fmu"]
    files = [[name, base64.b64encode((FMUS / name).read_bytes()).decode()] for name in names]
    page.locator("ssp-diagram").evaluate(DROP, files)
    page.locator(".block[data-of=System2]").wait_for()

    wires = [("System1", "x1"), ("System1", "v1"), ("System1", "a1"), ("System2", "F")]
    for element, name in wires:
        other = "System2" if element == "System1" else "System1"
        ends = connector_at(page, element, name), connector_at(page, other, name)
        drag(page, *ends, lit=f".block[data-of={other}] .lit")
        page.locator(f'.wire[data-connections*="{element}.{name} – {other}.{name}"]').wait_for(state="attached")
    page.get_by_text("Oscillator.ssp · not saved").wait_for()

    page.get_by_role("button", name="Save").click()
    page.get_by_text("Oscillator.ssp · saved").wait_for()
    (folder / "command").mkdir()
    with ssptool.new(folder / "command" / "Oscillator.ssp", *(FMUS / name for name in names)) as editor:
        for name, (x, y) in places(folder / "Oscillator.ssp").items():
            editor.place(name, x, y)
        for element, name in wires:
            other = "System2" if element == "System1" else "System1"
            editor.connect((element, name), (other, name))
    assert (folder / "Oscillator.ssp").read_bytes() == (folder / "command" / "Oscillator.ssp").read_bytes()

    # Broken: a misspelt connector. The fix that is offered mends it.
    line = box_of(page, '.wire[data-connections*="System1.v1 – System2.v1"]')
    page.mouse.click(line["x"] + line["width"] / 2, line["y"])
    page.get_by_role("button", name="Edit XML").click()
    area = page.get_by_role("textbox", name="XML of System1.v1 – System2.v1")
    area.fill(area.input_value().replace('startConnector="v1"', 'startConnector="v11"'))
    page.get_by_role("button", name="Apply").click()
    fix = page.locator("#panel-findings .finding.error").get_by_role("button", name=re.compile("v1"))
    fix.first.wait_for()
    assert page.locator("#tab-findings.error").count() == 1
    assert violations(page) == []
    page.locator("#panel-findings .finding.error button.fix").first.click()
    page.locator("#panel-findings .finding.error").first.wait_for(state="detached")

    page.get_by_role("tab", name="Run").click()
    page.locator("#run").click()
    page.locator(".runs li", has_text="completed").wait_for()
    force = page.locator("ssp-diagram .unit.value", has_text=re.compile(r"\bN$"))
    force.wait_for(state="attached")
    page.get_by_label("Time of the values on the lines").evaluate(
        "slider => { slider.value = 0; slider.dispatchEvent(new Event('input')); }"
    )
    page.locator("ssp-diagram .unit.value", has_text=re.compile(r"^5 N$")).wait_for(state="attached")
    page.locator("#plot .main-svg").first.wait_for()
    drawn = page.locator("#plot").evaluate(
        "plot => plot.data.map(curve => [curve.name, curve.y && plot.calcdata[0][0].y])"
    )
    assert drawn[0][0] == "System1.F = System2.F"
    assert drawn[0][1] == pytest.approx(5.0), "F = 10 N/m · 0.5 m at the start"
    assert violations(page) == []
