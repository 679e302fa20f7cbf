"""The system travels in the FMU, and the commands that look into a system look into that one."""

import filecmp
import shutil
from pathlib import Path

import pytest

import ssptool
from tests.exporting.fmus import SYSTEMS, exported

SYSTEM = SYSTEMS / "one_dof_oscillator"


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    return exported(SYSTEM, tmp_path_factory.mktemp("again"), master="jacobi")


def test_the_system_is_unpacked_without_loss(fmu, tmp_path):
    folder = tmp_path / "unpacked"
    ssptool.unpack(fmu, folder)
    names = [each.relative_to(SYSTEM).as_posix() for each in SYSTEM.rglob("*") if each.is_file()]
    names.remove("README.md")
    assert not (folder / "README.md").exists()
    same, different, missing = filecmp.cmpfiles(SYSTEM, folder, names, shallow=False)
    assert set(same) == set(names) and not different and not missing


def test_it_holds_what_a_package_holds(tmp_path):
    """A file that is hidden and used stays: `pack` refuses such a folder."""
    folder = Path(shutil.copytree(SYSTEM, tmp_path / "folder"))
    for name in ("README.txt", "r.csv", ".git/config", "resources/.cache"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("time,y\n0,1\n")
    packed = ssptool.pack(folder)
    assert {one.name for one in packed.left_out} == {"README.md", "README.txt", "r.csv", ".git", "resources/.cache"}
    fmu = exported(folder, tmp_path, master="jacobi")
    assert ssptool.unpack(fmu, tmp_path / "again").names == packed.names
    assert not [one for one in ssptool.validate(fmu).diagnostics if one.code == "PKG-016"]

    (folder / "resources/Mass.fmu").rename(folder / "resources/.Mass.fmu")
    for file in folder.glob("*.ssd"):
        file.write_text(file.read_text().replace("resources/Mass.fmu", "resources/.Mass.fmu"))
    with pytest.raises(ssptool.exceptions.BrokenEdit):
        ssptool.pack(folder)
    fmu = exported(folder, tmp_path, master="jacobi")
    assert "resources/.Mass.fmu" in ssptool.unpack(fmu, tmp_path / "used").names


def test_it_is_told_explained_and_checked_as_the_system(fmu):
    inside, own = ssptool.info(fmu), ssptool.info(SYSTEM)
    assert [one.name for one in inside.components] == [one.name for one in own.components] == ["Mass", "SpringDamper"]
    assert ssptool.explain(fmu, "Mass.m")[0].value == ssptool.explain(SYSTEM, "Mass.m")[0].value
    assert _findings(fmu) == _findings(SYSTEM)


def _findings(path):
    """Without those about the package: a folder may have more in it than a package should have."""
    found = ssptool.validate(path).diagnostics
    return [(one.code, one.message) for one in found if not one.code.startswith("PKG")]


def test_it_is_drawn_as_the_system(fmu, tmp_path):
    ssptool.draw(fmu, tmp_path / "again.svg")
    ssptool.draw(SYSTEM, tmp_path / "system.svg")
    assert (tmp_path / "again.svg").read_text() == (tmp_path / "system.svg").read_text()


def test_it_is_run_and_edited_as_one_fmu(fmu):
    assert list(ssptool.flatten(fmu).components) == [fmu.stem]
    with pytest.raises(Exception, match="is not an SSP file and cannot be changed"), ssptool.edit(fmu) as system:
        system.remove(fmu.stem)
