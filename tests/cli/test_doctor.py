"""`ssptool doctor` tells what is installed, what is missing with what gets it, and which FMUs cannot be loaded here."""

import json
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from ssptool import doctor
from ssptool.api import doctor as module
from ssptool.api.doctor import PURPOSES
from ssptool.fmu.model_description_xml import this_platform

ROOT = Path(__file__).parents[2]
OSCILLATOR = ROOT / "systems" / "dual_mass_oscillator"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def part(diagnosis, topic, name=""):
    (found,) = (one for one in diagnosis.parts if one.topic == topic and name in one.name)
    return found


@pytest.fixture
def requirements(monkeypatch):
    """Let the installation require these, as its metadata would say."""

    def require(*texts: str) -> None:
        monkeypatch.setattr(module, "_requirements", lambda: [Requirement(text) for text in texts])

    return require


def test_every_extra_has_a_purpose():
    assert list(PURPOSES) == list(PROJECT["optional-dependencies"])


def test_versions_of_what_is_installed(requirements):
    requirements(*PROJECT["dependencies"], 'matplotlib; extra == "plot"')
    diagnosis = doctor()
    assert f"lxml {distribution('lxml').version}" in part(diagnosis, "Installation", "packages").found
    assert part(diagnosis, "Extras", "plot").found == f"matplotlib {distribution('matplotlib').version}"
    assert part(diagnosis, "Installation", "kernel").found == "in C++"
    assert diagnosis.troubles == ()


def test_what_is_missing_and_the_command_that_installs_it(requirements):
    """Too old a version counts as missing, and so does a package of an extra of a package."""
    wanted = ["nowhere>=2", "lxml>=1000", "pytest[nothing]>=1"]
    requirements(*wanted, 'nowhere; extra == "lsp"', 'dask[distributed]<1; extra == "study"')
    diagnosis = doctor()
    packages = part(diagnosis, "Installation", "packages")
    assert packages.remedy == "pip install 'nowhere>=2' 'lxml>=1000'"
    assert diagnosis.troubles == (packages,)
    study = part(diagnosis, "Extras", "study")
    assert (study.found, study.remedy) == ("missing: dask[distributed]<1; for studies", "pip install 'ssptool[study]'")
    assert not study.needed


def test_packages_of_an_extra_of_a_package_count(requirements, monkeypatch):
    class Installed:
        version = "3"
        requires = ('nowhere>=2; extra == "more"', 'elsewhere; extra == "other"')

    known = module._distribution
    monkeypatch.setattr(module, "_distribution", lambda name: Installed() if name == "some" else known(name))
    requirements("some[more]>=1")
    assert part(doctor(), "Installation", "packages").found == "missing: nowhere>=2"


@pytest.mark.parametrize(("compiler", "found"), [("nosuch-cc", "cannot be started"), ("", "no C compiler")])
def test_a_missing_compiler(monkeypatch, compiler, found):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", compiler)
    compilers = part(doctor(), "Tools", "compiler")
    assert found in compilers.found and "--compile" in compilers.found and compilers.remedy


@pytest.fixture
def foreign(tmp_path):
    """A package with an FMU for this platform, and one for another only."""
    resources = OSCILLATOR / "resources"
    other = tmp_path / "Other.fmu"
    with ZipFile(resources / "System1.fmu") as one, ZipFile(other, "w") as two:
        for name in one.namelist():
            two.writestr(name.replace(f"binaries/{this_platform(2)}/", "binaries/vax/"), one.read(name))
    package = tmp_path / "systems" / "plant.ssp"
    package.parent.mkdir()
    with ZipFile(package, "w") as archive:
        archive.write(OSCILLATOR / "SystemStructure.ssd", "SystemStructure.ssd")
        archive.write(resources / "System2.fmu", "resources/System2.fmu")
        archive.write(other, "resources/System1.fmu")
    return package


def test_fmus_without_a_library_for_this_platform(foreign):
    diagnosis = doctor(OSCILLATOR, foreign.parent)
    lacking, there = (one for one in diagnosis.parts if one.topic == "FMUs")
    assert there.found == f"{len(list(OSCILLATOR.rglob('*.fmu'))) + 1} FMUs can be loaded here"
    assert lacking.name == f"{foreign}/resources/System1.fmu"
    assert lacking.found == f"no library for {this_platform(2)}, only for vax"
    assert diagnosis.troubles == (lacking,)


def test_the_command_exits_with_1_where_something_needed_is_missing(ssptool, foreign):
    status, out, _ = ssptool("doctor", foreign)
    assert status == 1
    assert out.endswith("required and missing: 1 part\n")
    status, out, _ = ssptool("doctor", OSCILLATOR, "--format", "json")
    content = json.loads(out)
    assert (status, content["troubles"]) == (0, 0)
    assert {one["topic"] for one in content["parts"]} == {"Installation", "Extras", "Tools", "FMUs"}


def test_a_file_that_is_no_fmu_and_one_that_is_not_there(ssptool, tmp_path):
    (tmp_path / "broken.fmu").write_bytes(b"no zip")
    assert part(doctor(tmp_path), "FMUs").needed
    with pytest.raises(FileNotFoundError):
        doctor(tmp_path / "nothing.fmu")
    status, _, err = ssptool("doctor", tmp_path / "nothing.fmu")
    assert status == 2 and "nothing.fmu" in err
