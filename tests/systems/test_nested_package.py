"""A package inside a package runs as it does alone."""

import zipfile
from pathlib import Path

import pytest

import ssptool

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
OUTER = """<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
  version="2.0" name="Outer"><ssd:System name="root"><ssd:Elements>
    <ssd:Component name="Plant" type="application/x-ssp-package" source="resources/plant.ssp{variant}"/>
  </ssd:Elements></ssd:System></ssd:SystemStructureDescription>"""


@pytest.mark.parametrize("variant", ["", "FMI3.ssd"])
def test_a_package_inside_a_package_gives_the_results_that_it_gives_alone(tmp_path, variant):
    with zipfile.ZipFile(tmp_path / "plant.ssp", "w") as inner:
        for path in sorted(SYSTEM.rglob("*")):
            if path.is_file() and path.name != "README.md":
                inner.write(path, path.relative_to(SYSTEM))
    with zipfile.ZipFile(tmp_path / "outer.ssp", "w") as outer:
        outer.write(tmp_path / "plant.ssp", "resources/plant.ssp")
        outer.writestr("SystemStructure.ssd", OUTER.format(variant=variant and f"#{variant}"))
    settings = ssptool.Settings(stop_time=0.1)
    alone = ssptool.simulate(SYSTEM, variant=variant or None, settings=settings)
    nested = ssptool.simulate(tmp_path / "outer.ssp", settings=settings)
    assert nested.ok
    assert list(nested.trace["Plant.System1.x1"]) == list(alone.trace["System1.x1"])
    assert list(nested.trace["Plant.System2.F"]) == list(alone.trace["System2.F"])
