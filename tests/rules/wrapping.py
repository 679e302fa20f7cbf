"""Packages put into packages: as a component that is an SSD in a folder, or as one that is a package of its own."""

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

AROUND = """<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="2.0" name="Around {depth}"
    xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
    xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
    xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
    xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping">
  <ssd:System name="Around">
{bindings}
    <ssd:Elements>
      <ssd:System name="Between">
        <ssd:Elements>
          <ssd:Component name="Sub" type="application/x-ssp-{type}" source="resources/{source}">
{connectors}
          </ssd:Component>
        </ssd:Elements>
      </ssd:System>
    </ssd:Elements>
  </ssd:System>
</ssd:SystemStructureDescription>
"""
KINDS = {"ssd": ("definition", "Sub/SystemStructure.ssd", "Sub/"), "ssp": ("package", "Sub.ssp", "Sub.ssp!")}


def zipped(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as package:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            package.write(path, path.relative_to(folder).as_posix())


def wrapped(folder: Path, kinds: Sequence[str], *, bindings: str = "", connectors: str = "") -> tuple[Path, str]:
    """Put packages around a package, the innermost first, and `bindings` into the outermost.

    Returns the outermost, and what the names of files of the innermost have in front of them there.
    """
    prefix = ""
    for depth, kind in enumerate(kinds):
        around = folder.with_name(f"around-{depth}")
        (around / "resources").mkdir(parents=True)
        type, source, inside = KINDS[kind]
        if kind == "ssd":
            shutil.copytree(folder, around / "resources" / "Sub")
        else:
            zipped(folder, around / "resources" / "Sub.ssp")
        last = depth == len(kinds) - 1
        content = {"bindings": bindings if last else "", "connectors": connectors if last else ""}
        text = AROUND.format(depth=depth, type=type, source=source, **content)
        (around / "SystemStructure.ssd").write_text(text)
        folder, prefix = around, f"resources/{inside}{prefix}"
    return folder, prefix
