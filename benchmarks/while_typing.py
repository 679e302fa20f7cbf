"""Findings while somebody types: a system of 1 000 components is checked again after a change of one attribute.

The components are masses and spring-dampers in pairs, with 3 000 connectors, 1 500 connections and a parameter set;
once all share two FMU files, once each component has a file of its own. Measured is the check of the language server:
wall time from the last key, without the rest that the server waits, and as a ratio of the first check.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from ssptool.language_server.systems import check_system
from ssptool.rules.kept import Kept
from ssptool.rules.runner import CheckedArchive

ROOT = Path(__file__).parents[1]
FMUS = ROOT / "systems" / "one_dof_oscillator" / "resources"
COMPONENTS, KEYS = 1_000, 9
SSP = "http://ssp-standard.org/SSP1/SystemStructure"
UNITS = {"N": 'kg="1" m="1" s="-2"', "m": 'm="1"', "m/s": 'm="1" s="-1"', "kg": 'kg="1"'}
MASS = (("F", "input", "N"), ("z", "output", "m"), ("v", "output", "m/s"))
SPRING = (("F", "output", "N"), ("z", "input", "m"), ("v", "input", "m/s"))


def component(name: str, source: str, connectors: tuple[tuple[str, str, str], ...]) -> str:
    listed = "\n".join(
        f'          <ssd:Connector name="{name}" kind="{kind}"><ssc:Real unit="{unit}"/></ssd:Connector>'
        for name, kind, unit in connectors
    )
    return (
        f'      <ssd:Component name="{name}" type="application/x-fmu-sharedlibrary" source="resources/{source}.fmu">\n'
        f"        <ssd:Connectors>\n{listed}\n        </ssd:Connectors>\n      </ssd:Component>"
    )


def connection(start: str, end: str, connector: str) -> str:
    ends = f'startElement="{start}" startConnector="{connector}" endElement="{end}" endConnector="{connector}"'
    return f"      <ssd:Connection {ends}/>"


def units(of: str) -> str:
    listed = "".join(f'<ssc:Unit name="{name}"><ssc:BaseUnit {base}/></ssc:Unit>' for name, base in UNITS.items())
    return f"<{of}:Units>{listed}</{of}:Units>"


def write_system(folder: Path, components: int, *, shared: bool) -> Path:
    """An unpacked system; its components share two FMUs, or each has its own."""
    resources = folder / "resources"
    resources.mkdir(parents=True)
    elements, connections, parameters = [], [], []
    for number in range(components // 2):
        mass, spring = f"Mass{number}", f"Spring{number}"
        for name, fmu, connectors in ((mass, "Mass", MASS), (spring, "SpringDamper", SPRING)):
            source = fmu if shared else name
            if not (resources / f"{source}.fmu").exists():
                shutil.copy(FMUS / f"{fmu}.fmu", resources / f"{source}.fmu")
            elements.append(component(name, source, connectors))
        connections += [connection(mass, spring, "z"), connection(mass, spring, "v"), connection(spring, mass, "F")]
        parameters.append(f'<ssv:Parameter name="{mass}.m"><ssv:Real value="0.1" unit="kg"/></ssv:Parameter>')
    names = f'xmlns:ssc="{SSP}Common" version="1.0"'
    line = "\n"
    (folder / "SystemStructure.ssd").write_text(
        f"""<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription xmlns:ssd="{SSP}Description" {names} name="pairs">
  <ssd:System name="pairs">
    <ssd:ParameterBindings><ssd:ParameterBinding source="resources/masses.ssv"/></ssd:ParameterBindings>
    <ssd:Elements>
{line.join(elements)}
    </ssd:Elements>
    <ssd:Connections>
{line.join(connections)}
    </ssd:Connections>
  </ssd:System>
  {units("ssd")}
</ssd:SystemStructureDescription>
""",
        encoding="utf-8",
    )
    (resources / "masses.ssv").write_text(
        f"""<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet xmlns:ssv="{SSP}ParameterValues" {names} name="masses">
<ssv:Parameters>
{line.join(parameters)}
</ssv:Parameters>
{units("ssv")}
</ssv:ParameterSet>
""",
        encoding="utf-8",
    )
    return folder


def edits(text: str) -> Iterator[str]:
    """The text after each key of somebody who renames a connector that is connected, wrong for the moment."""
    right = 'startElement="Mass250" startConnector="z"'
    for key in range(KEYS):
        yield text.replace(right, right[:-1] + "abcdefghi"[:key] + '"')


class Times(NamedTuple):
    """Of one check [s]: to the findings in files and elements, and to all."""

    early: float
    whole: float


def measured(system: Path) -> tuple[Times, Times, set[str]]:
    """The first check, one after a key (medians), and the rules that the keys broke."""
    document = system / "SystemStructure.ssd"
    text = document.read_text(encoding="utf-8")
    kept, broken, taken = Kept(), set[str](), []
    for typed in (text, *edits(text)):
        early: list[float] = []
        began = time.perf_counter()

        def note(found: CheckedArchive, early: list[float] = early) -> bool:
            early.append(time.perf_counter())
            broken.update(one.code for one in found.report.errors)
            return True

        check_system(system, {document: typed}, kept, note)
        taken.append(Times(early[0] - began, time.perf_counter() - began))
    return taken[0], Times(*map(statistics.median, zip(*taken[1:], strict=True))), broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--components", type=int, default=COMPONENTS)
    arguments = parser.parse_args()
    for shared in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            system = write_system(Path(folder) / "pairs", arguments.components, shared=shared)
            first, later, broken = measured(system)
        files = "2 FMU files" if shared else "each its FMU file"
        print(
            f"{arguments.components} components, {files}: first check {1e3 * first.whole:.0f} ms; after a key "
            f"{1e3 * later.early:.0f} ms to findings in elements ({', '.join(sorted(broken))}), "
            f"{1e3 * later.whole:.0f} ms to all ({later.whole / first.whole:.2f} of the first)"
        )


if __name__ == "__main__":
    main()
