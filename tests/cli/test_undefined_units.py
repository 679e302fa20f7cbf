"""Documents and FMUs that name units without defining them."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "mass_spring_damper"
DEFINITIONS = re.compile(rb" *<(?:ss[dv]:Units|UnitDefinitions)>.*?</(?:ss[dv]:Units|UnitDefinitions)>\n?", re.DOTALL)


def without_definitions(fmu: Path) -> None:
    with zipfile.ZipFile(fmu) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    content["modelDescription.xml"] = DEFINITIONS.sub(b"", content["modelDescription.xml"])
    with zipfile.ZipFile(fmu, "w") as packed:
        for name, data in content.items():
            packed.writestr(name, data)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The system as it is, and without any definition of a unit: masses in g, stiffness in N/mm, angles in deg."""
    defined, undefined = tmp_path / "defined", tmp_path / "undefined"
    shutil.copytree(SYSTEM, defined, ignore=shutil.ignore_patterns("Chain.ssd"))
    shutil.copytree(defined, undefined)
    for path in (*undefined.rglob("*.ssd"), *undefined.rglob("*.ssv")):
        path.write_bytes(DEFINITIONS.sub(b"", path.read_bytes()))
    return defined, undefined


def test_units_are_read_by_their_names_and_values_converted(folders, ssptool, tmp_path):
    defined, undefined = folders
    for fmu in (undefined / "resources").glob("*.fmu"):
        without_definitions(fmu)
    assert ssptool("run", defined, "--stop-time", 1, "--output", "defined.csv")[0] == 0
    status, out, _ = ssptool("run", undefined, "--stop-time", 1, "--output", "undefined.csv", "-v")
    assert status == 0
    assert "have no definition and are read by name: g = 0.001·kg" in out
    assert (tmp_path / "defined.csv").read_bytes() == (tmp_path / "undefined.csv").read_bytes()
    assert "N/mm = 1000·kg·s^-2" in ssptool("plan", undefined)[1]


def test_the_warning_says_what_is_read_and_the_fix_writes_it(folders, ssptool):
    defined, undefined = folders
    status, out, _ = ssptool("validate", undefined, "--select", "UNIT-002")
    assert (status, "error" in out) == (0, False)
    assert "the unit 'N/mm' is not defined in this document; it is read by its name as 1000·kg·s^-2" in out
    assert '<ssc:Unit name="N/mm">' in ssptool("validate", undefined, "--diff")[1]
    assert "UNIT-002" not in ssptool("validate", undefined, "--fix")[1]
    assert "mean the same" in ssptool("diff", undefined, defined)[1]
    assert "nothing to fix" in ssptool("validate", undefined, "--diff")[2]


def test_a_unit_that_no_name_tells_stays_an_error_until_an_fmu_defines_it(folders, ssptool):
    _, undefined = folders
    path = undefined / "SystemStructure.ssd"
    path.write_text(path.read_text().replace('unit="m/s"', 'unit="speed"'))
    status, out, _ = ssptool("validate", undefined, "--select", "UNIT-002", "--fix")
    assert status == 1
    assert "the unit 'speed' is not defined in this document\n" in out
    wall = undefined / "resources" / "Wall.fmu"
    with zipfile.ZipFile(wall) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    text = content["modelDescription.xml"]
    content["modelDescription.xml"] = text.replace(b'name="m/s"', b'name="speed"').replace(
        b'unit="m/s"', b'unit="speed"'
    )
    with zipfile.ZipFile(wall, "w") as packed:
        for name, data in content.items():
            packed.writestr(name, data)
    assert ssptool("validate", undefined, "--select", "UNIT-002", "--fix")[0] == 0
    assert '<ssc:BaseUnit m="1" s="-1"/>' in path.read_text()
