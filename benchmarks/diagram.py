"""What the diagram of a large system costs: 500 components and 5 000 connections, mostly within 20 families.

The layout is CPU time in a process that did nothing else, without the import of libraries and with reading apart; the
page is opened three times by headless Chromium, until it has drawn (elapsed time, where Chromium and Playwright are
installed).
"""

import argparse
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ssptool.documents.archive import Archive
from ssptool.drawing.diagram.arrange import all_arranged
from ssptool.drawing.diagram.drawing import sheets_page
from ssptool.drawing.diagram.groups import with_groups
from ssptool.drawing.diagram.read import stated_sheets
from ssptool.option_words import DrawnConnections

COMPONENTS, WIRES, FAMILIES, OUTPUTS = 500, 5_000, 20, 4
WITHIN = 0.85
"""Part of the connections that stay in a family; of the others, both ends are any."""
LAYOUT, OPEN = 1.0, 2.0
"""Budgets [s]."""
SSP = "http://ssp-standard.org/SSP1/SystemStructure"
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

T = TypeVar("T")


def connections(components: int, wires: int) -> Iterator[tuple[int, int]]:
    """(source, destination)"""
    chance = random.Random(1)
    family = [chance.randrange(FAMILIES) for _ in range(components)]
    members = [[one for one in range(components) if family[one] == number] for number in range(FAMILIES)]
    for _ in range(wires):
        destination = chance.randrange(components)
        near = members[family[destination]] if chance.random() < WITHIN else range(components)
        source = chance.choice(near)
        yield source if source != destination else (destination + 1) % components, destination


def structure(components: int, wires: int) -> str:
    inputs = [0] * components
    lines = []
    for source, destination in connections(components, wires):
        lines.append(
            f'<ssd:Connection startElement="C{source}" startConnector="y{inputs[destination] % OUTPUTS}" '
            f'endElement="C{destination}" endConnector="u{inputs[destination]}"/>\n'
        )
        inputs[destination] += 1
    elements = "".join(
        f'<ssd:Component name="C{number}" source="resources/M.fmu"><ssd:Connectors>\n'
        + "".join(map(connector, [f"u{place}" for place in range(count)], ["input"] * count))
        + "".join(connector(f"y{place}", "output") for place in range(OUTPUTS))
        + "</ssd:Connectors></ssd:Component>\n"
        for number, count in enumerate(inputs)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<ssd:SystemStructureDescription xmlns:ssd="{SSP}Description" xmlns:ssc="{SSP}Common" version="2.0" '
        f'name="large"><ssd:System name="large"><ssd:Elements>\n{elements}</ssd:Elements>\n'
        f"<ssd:Connections>\n{''.join(lines)}</ssd:Connections></ssd:System></ssd:SystemStructureDescription>\n"
    )


def connector(name: str, kind: str) -> str:
    return f'<ssd:Connector name="{name}" kind="{kind}"><ssc:Real unit="m"/></ssd:Connector>\n'


def timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def opened(page: Path) -> float | None:
    """The shortest of three times; None without Chromium."""
    chromium = os.environ.get("SSPTOOL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright  # optional

    with sync_playwright() as engines:
        browser = engines.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab, times = browser.new_page(viewport={"width": 1600, "height": 1000}), []
        for _ in range(3):
            began = time.perf_counter()
            tab.goto(page.as_uri())
            tab.evaluate(DRAWN)
            times.append(time.perf_counter() - began)
        browser.close()
    return min(times)


def row(stage: str, seconds: float, budget: float | None, result: str) -> None:
    allowed = "" if budget is None else f"(≤ {budget:g})   {'ok' if seconds <= budget else 'OVER BUDGET'}"
    print(f"{stage:<8} {seconds:6.2f} s {allowed:<22} {result}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=COMPONENTS)
    parser.add_argument("--wires", type=int, default=WIRES)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "SystemStructure.ssd").write_text(structure(arguments.components, arguments.wires), encoding="utf-8")
        with Archive.open(folder) as archive:
            read, took = timed(lambda: stated_sheets(archive, archive.structure()))
        row("read", took, None, f"{arguments.components} components, {arguments.wires} connections")
        (stated, drawn), took = timed(
            lambda: (grouped := with_groups(read), all_arranged(grouped, DrawnConnections.BUNDLED))
        )
        row("layout", took, LAYOUT, f"{len(stated)} sheets, {sum(len(sheet.lines) for sheet in drawn)} lines")
        text, took = timed(lambda: sheets_page(drawn, [], {}, "large"))
        row("write", took, None, f"{len(text) / 1e6:.1f} MB")
        page = folder / "large.html"
        page.write_text(text, encoding="utf-8")
        seconds = opened(page)
        if seconds is not None:
            row("open", seconds, OPEN, "in Chromium")


if __name__ == "__main__":
    main()
