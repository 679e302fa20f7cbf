"""The page of the studio with a large system, in headless Chromium: how long it takes to open and to answer.

The system has 500 components of one FMU and 5 000 connections; once without places, so that it is drawn in groups, once
with places, so that one sheet shows all. Measured are the time from the request to the diagram; from a move of the
pointer that drags an element to the next frame; from an edit to the new diagram, and from there to the findings. The
last is measured for a system with 1 000 connections, too.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession

CHROMIUM = os.environ.get("SSPTOOL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
PORTS = 10
FMU = "application/x-fmu-sharedlibrary"
SSP = "http://ssp-standard.org/SSP1/SystemStructure"


def write_fmu(file: Path, ports: int = PORTS) -> None:
    """An FMU with inputs and outputs, ten of each or as many as wanted, which is looked at and never run."""
    inputs = "".join(
        f'<ScalarVariable name="u{k}" valueReference="{k}" causality="input"><Real unit="m" start="0"/>'
        "</ScalarVariable>"
        for k in range(ports)
    )
    outputs = "".join(
        f'<ScalarVariable name="y{k}" valueReference="{ports + k}" causality="output"><Real unit="m"/></ScalarVariable>'
        for k in range(ports)
    )
    gain = (
        '<ScalarVariable name="gain" valueReference="99" causality="parameter" variability="fixed"><Real start="1"/>'
        "</ScalarVariable>"
    )
    unknowns = "".join(f'<Unknown index="{ports + 1 + k}" dependencies=""/>' for k in range(ports))
    text = (
        '<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription fmiVersion="2.0" modelName="Ten" guid="{ten}">'
        '<CoSimulation modelIdentifier="Ten" canGetAndSetFMUstate="true"/>'
        '<UnitDefinitions><Unit name="m"><BaseUnit m="1"/></Unit></UnitDefinitions>'
        f"<ModelVariables>{inputs}{outputs}{gain}</ModelVariables>"
        f"<ModelStructure><Outputs>{unknowns}</Outputs></ModelStructure></fmiModelDescription>"
    )
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("modelDescription.xml", text)
        packed.writestr("binaries/linux64/Ten.so", b"")


def write_system(folder: Path, components: int, *, placed: bool) -> Path:
    """Each input of a component is connected to the output of one of its ten neighbours before."""
    (folder / "resources").mkdir(parents=True)
    write_fmu(folder / "resources" / "Ten.fmu")
    elements, connections = [], []
    for number in range(components):
        connectors = "\n".join(
            f'          <ssd:Connector name="{name}{k}" kind="{kind}"><ssc:Real unit="m"/></ssd:Connector>'
            for name, kind in (("u", "input"), ("y", "output"))
            for k in range(PORTS)
        )
        x, y = 90 * (number // 20), 110 * (number % 20)
        place = f'<ssd:ElementGeometry x1="{x}" y1="{y}" x2="{x + 40}" y2="{y + 88}"/>' if placed else ""
        elements.append(
            f'      <ssd:Component name="C{number}" type="{FMU}" source="resources/Ten.fmu">\n'
            f"        <ssd:Connectors>\n{connectors}\n        </ssd:Connectors>{place}\n      </ssd:Component>"
        )
        for k in range(PORTS):
            source = (number - 1 - k) % components
            connections.append(
                f'      <ssd:Connection startElement="C{source}" startConnector="y{k}" endElement="C{number}" '
                f'endConnector="u{k}"/>'
            )
    line = "\n"
    (folder / "SystemStructure.ssd").write_text(
        f"""<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="{SSP}Description" xmlns:ssc="{SSP}Common" version="1.0" name="large">
  <ssd:System name="large">
    <ssd:Elements>
{line.join(elements)}
    </ssd:Elements>
    <ssd:Connections>
{line.join(connections)}
    </ssd:Connections>
  </ssd:System>
  <ssd:Units><ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit></ssd:Units>
</ssd:SystemStructureDescription>
""",
        encoding="utf-8",
    )
    return folder


@contextmanager
def page_of(system: Path) -> Iterator[tuple[Any, str]]:
    """A page, and the address of a studio that has begun to serve."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "ssptool", "studio", str(system), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        with sync_playwright() as engines:
            browser = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            yield browser.new_page(viewport={"width": 1280, "height": 720}), found[0]
            browser.close()
    finally:
        server.terminate()
        server.wait()


FRAME = """async point => {
  const diagram = document.querySelector('ssp-diagram'), taken = [];
  const send = (kind, x, y) => document.elementFromPoint(x, y).dispatchEvent(
    new PointerEvent(kind, {clientX: x, clientY: y, button: 0, pointerId: 1, bubbles: true, cancelable: true}));
  diagram.setPointerCapture = () => {};
  send('pointerdown', point[0], point[1]);
  for (let k = 1; k < 12; k++) {
    const began = performance.now();
    const now = {clientX: point[0] + 2 * k + 3, clientY: point[1] + k, pointerId: 1};
    diagram.dispatchEvent(new PointerEvent('pointermove', now));
    await new Promise(requestAnimationFrame);
    await new Promise(resolve => setTimeout(resolve));
    taken.push(performance.now() - began);
  }
  return taken;
}"""


WHEEL = """async point => {
  const diagram = document.querySelector('ssp-diagram'), taken = [];
  for (let k = 0; k < 20; k++) {
    const began = performance.now();
    const turn = {deltaY: k < 10 ? -100 : 100, clientX: point[0], clientY: point[1], cancelable: true};
    diagram.dispatchEvent(new WheelEvent('wheel', turn));
    await new Promise(requestAnimationFrame);
    await new Promise(resolve => setTimeout(resolve));
    taken.push(performance.now() - began);
  }
  return taken;
}"""


def in_chromium(system: Path, *, placed: bool) -> None:
    with page_of(system) as (page, address):
        began = time.perf_counter()
        page.goto(address)
        page.locator("ssp-diagram .block").first.wait_for(state="attached")
        shown = time.perf_counter() - began
        page.get_by_role("tab", name=re.compile("Findings")).wait_for()
        print(
            f"  {page.locator('ssp-diagram .block').count()} boxes, {page.locator('ssp-diagram .wire').count()} lines: "
            f"open after {shown:.2f} s"
        )
        if not placed:
            page.locator("ssp-diagram .block").first.dblclick(force=True)
            page.locator("#trail button").first.wait_for()
        frame = page.locator("ssp-diagram .block .frame").first.bounding_box()
        at = [frame["x"] + frame["width"] / 2, frame["y"] + min(8, frame["height"] / 4)]
        taken = page.evaluate(FRAME, at)
        print(f"  a drag is answered within {max(taken):.0f} ms (median {statistics.median(taken):.0f} ms)")
        page.get_by_role("button", name="Fit").click()
        page.wait_for_timeout(1000)
        taken = page.evaluate(WHEEL, at)
        print(
            f"  a turn of the wheel is answered within {max(taken):.0f} ms (median {statistics.median(taken):.0f} ms)"
        )


def after_an_edit(system: Path) -> None:
    calls = PageCalls(EditSession(system), lambda _: None)
    calls.call("findings", {})
    edits, checks = [], []
    for number in range(5):
        began = time.perf_counter()
        calls.call("edit", {"edits": [{"verb": "rename", "old": f"C{number}", "new": f"D{number}"}]})
        edited = time.perf_counter()
        calls.call("sheet", {"path": []})
        drawn = time.perf_counter()
        calls.call("findings", {})
        edits.append(drawn - began)
        checks.append(time.perf_counter() - drawn)
        print(f"    edit {1e3 * (edited - began):.0f} ms, sheet {1e3 * (drawn - edited):.0f} ms", file=sys.stderr)
    print(
        f"  after an edit: diagram {1e3 * statistics.median(edits):.0f} ms, "
        f"findings {1e3 * statistics.median(checks):.0f} ms later"
    )
    calls.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=500)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for placed in (False, True):
            print(
                f"{arguments.components} components, {PORTS * arguments.components} connections, "
                f"{'with places' if placed else 'in groups'}"
            )
            system = write_system(Path(folder) / str(placed), arguments.components, placed=placed)
            in_chromium(system, placed=placed)
            after_an_edit(system)
        print("100 components, 1 000 connections")
        after_an_edit(write_system(Path(folder) / "small", 100, placed=True))


if __name__ == "__main__":
    main()
